/* BLAKE2b-256 (see hash.h). sodium_init() selects the vector code for this processor, which is three times as
 * fast as the portable code, so it runs before the first hash. */
#include "storage/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"

enum {
        HASH_BYTES = HASH_LEN / 2,
        READ_SIZE = 256 * 1024, /* larger reads are not faster, smaller ones cost system calls */
};

static void sodium_ready(void)
{
        static gsize done;

        if (g_once_init_enter(&done)) {
                if (sodium_init() < 0)
                        g_error("libsodium cannot start");
                g_once_init_leave(&done, 1);
        }
}

void hash_init(HashState *state)
{
        sodium_ready();
        crypto_generichash_blake2b_init(state, NULL, 0, HASH_BYTES);
}

void hash_update(HashState *state, const void *data, gsize len)
{
        crypto_generichash_blake2b_update(state, data, len);
}

void hash_final(HashState *state, char ret[HASH_LEN + 1])
{
        unsigned char digest[HASH_BYTES];

        crypto_generichash_blake2b_final(state, digest, sizeof digest);
        sodium_bin2hex(ret, HASH_LEN + 1, digest, sizeof digest);
}

void hash_bytes(const void *data, gsize len, char ret[HASH_LEN + 1])
{
        HashState state;

        hash_init(&state);
        if (len > 0)
                hash_update(&state, data, len);
        hash_final(&state, ret);
}

bool hash_is_valid(const char *text)
{
        return text && strlen(text) == HASH_LEN && strspn(text, "0123456789abcdef") == HASH_LEN;
}

bool hash_fd(int fd, char ret[HASH_LEN + 1], guint64 *ret_size)
{
        g_autofree char *buffer = g_malloc(READ_SIZE);
        HashState state;
        guint64 size = 0;

        hash_init(&state);
        for (;;) {
                ssize_t got = cancel_check() ? read(fd, buffer, READ_SIZE) : -1;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return false;
                if (got == 0)
                        break;
                hash_update(&state, buffer, (gsize)got);
                size += (guint64)got;
        }
        hash_final(&state, ret);
        if (ret_size)
                *ret_size = size;
        return true;
}

bool hash_file(const char *path, char ret[HASH_LEN + 1], guint64 *ret_size, GError **error)
{
        fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        if (fd < 0)
                return err_set_errno(error, errno, "cannot open '%s'", path);
        if (!hash_fd(fd, ret, ret_size))
                return err_set_errno(error, errno, "cannot read '%s'", path);
        return true;
}
