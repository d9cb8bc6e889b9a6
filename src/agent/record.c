/* Records of a task's state file (see record.h). A header has a magic number, the length and the FNV-1a hash
 * of the body; both are written with one pwrite. */
#include "agent/record.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define STARTED_MAGIC 0x31534b50u /* "PKS1" */
#define END_MAGIC 0x31454b50u     /* "PKE1" */

typedef struct {
        uint32_t magic, length;
        uint64_t checksum;
} Header;

_Static_assert(sizeof(Header) + sizeof(RecordStarted) <= RECORD_END_AT,
               "the started record fits before the end");
_Static_assert(RECORD_END_AT + sizeof(Header) + sizeof(RecordEnd) <= RECORD_READY_AT, "the end record fits");

static uint64_t checksum(uint32_t magic, const void *data, size_t len)
{
        const unsigned char *at = data;
        uint64_t sum = 0xcbf29ce484222325u ^ magic;

        for (size_t i = 0; i < len; i++)
                sum = (sum ^ at[i]) * 0x100000001b3u;
        return sum;
}

static bool write_at(int fd, off_t offset, uint32_t magic, const void *data, size_t len)
{
        Header header = { magic, (uint32_t)len, checksum(magic, data, len) };
        struct iovec parts[2] = { { &header, sizeof header }, { (void *)data, len } };
        ssize_t put = pwritev(fd, parts, 2, offset);

        if (put >= 0 && (size_t)put != sizeof header + len)
                errno = ENOSPC; /* a short write to a regular file */
        return put == (ssize_t)(sizeof header + len);
}

static bool read_at(int fd, off_t offset, uint32_t magic, void *data, size_t len)
{
        Header header;
        struct iovec parts[2] = { { &header, sizeof header }, { data, len } };

        return preadv(fd, parts, 2, offset) == (ssize_t)(sizeof header + len) && header.magic == magic &&
               header.length == len && header.checksum == checksum(magic, data, len);
}

bool record_write_started(int fd, RecordStarted *started, const char *ready_file)
{
        size_t len = ready_file ? strlen(ready_file) : 0;

        if (len >= RECORD_READY_MAX) {
                errno = ENAMETOOLONG;
                return false;
        }
        if (len > 0 && pwrite(fd, ready_file, len, RECORD_READY_AT) != (ssize_t)len)
                return false;
        started->ready_len = (uint32_t)len;
        return write_at(fd, RECORD_STARTED_AT, STARTED_MAGIC, started, sizeof *started);
}

bool record_write_end(int fd, const RecordEnd *end)
{
        return write_at(fd, RECORD_END_AT, END_MAGIC, end, sizeof *end);
}

bool record_read_started(int fd, RecordStarted *ret)
{
        if (!read_at(fd, RECORD_STARTED_AT, STARTED_MAGIC, ret, sizeof *ret))
                return false;
        return ret->ready_len < RECORD_READY_MAX && ret->keeper > 0 &&
               memchr(ret->boot_id, 0, sizeof ret->boot_id);
}

bool record_read_end(int fd, RecordEnd *ret)
{
        if (!read_at(fd, RECORD_END_AT, END_MAGIC, ret, sizeof *ret))
                return false;
        return ret->kind >= END_EXITED && ret->kind <= END_LOST && memchr(ret->text, 0, sizeof ret->text);
}

bool record_clear(int fd)
{
        static const char zeros[RECORD_END_AT + sizeof(Header)];

        return pwrite(fd, zeros, sizeof zeros, 0) == (ssize_t)sizeof zeros;
}

bool record_read_ready_file(int fd, const RecordStarted *started, char ret[RECORD_READY_MAX])
{
        size_t len = started->ready_len;

        if (len == 0 || len >= RECORD_READY_MAX || pread(fd, ret, len, RECORD_READY_AT) != (ssize_t)len)
                return false;
        ret[len] = '\0';
        return true;
}
