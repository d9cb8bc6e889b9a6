/* Log files of members (see log-file.h). */
#include "api/v1/log-file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum {
        TAIL_BACK = 64 * 1024,            /* bytes read at a time while looking for the start of the tail */
        TAIL_FARTHEST = 16 * 1024 * 1024, /* which is not looked for before that: few line ends, or a hole */
};

const char log_environment[] = "environment";

bool log_member_find(const Job *job, const char *member, const char **ret_role, int *ret_index)
{
        const char *dash = strrchr(member, '-');
        gint64 index;

        if (strcmp(member, log_environment) == 0) {
                *ret_role = log_environment;
                *ret_index = 0;
                return true;
        }
        if (!dash || !number_parse("member", dash + 1, 0, SPEC_REPLICAS_MAX, &index, NULL))
                return false;
        for (int i = 0; i < job->spec->n_roles; i++) {
                const Role *role = &job->spec->roles[i];

                if (strlen(role->name) != (size_t)(dash - member) ||
                    strncmp(role->name, member, (size_t)(dash - member)) != 0)
                        continue;
                if (index >= role->replicas)
                        return false;
                *ret_role = role->name;
                *ret_index = (int)index;
                return true;
        }
        return false;
}

bool log_member_unknown(const Job *job, const char *member, GError **error)
{
        g_autoptr(GString) names = g_string_new(NULL);

        for (int i = 0; i < job->spec->n_roles; i++)
                if (job->spec->roles[i].replicas == 1)
                        g_string_append_printf(names, "%s-0, ", job->spec->roles[i].name);
                else if (job->spec->roles[i].replicas > 1)
                        g_string_append_printf(names, "%s-0 to %s-%d, ", job->spec->roles[i].name,
                                               job->spec->roles[i].name, job->spec->roles[i].replicas - 1);
        return err_set(error, ERR_NOT_FOUND, "job '%s' has no member '%.80s'\nIts members are %senvironment.",
                       job->name, member, names->str);
}

int member_log_open(const Api *api, const char *path)
{
        return file_open_below(api->state_dir, path);
}

guint64 member_log_tail(int fd, guint64 size, gint64 lines)
{
        g_autofree char *buffer = g_malloc(TAIL_BACK);
        guint64 end = size, first = size > TAIL_FARTHEST ? size - TAIL_FARTHEST : 0;
        bool last_byte = true;

        if (lines == 0)
                return size;
        while (end > first) {
                guint64 start = end - first > TAIL_BACK ? end - TAIL_BACK : first;
                ssize_t got = pread(fd, buffer, end - start, (off_t)start);

                if (got <= 0)
                        return start;
                for (ssize_t i = got - 1; i >= 0; i--) {
                        if (buffer[i] == '\n' && !last_byte && --lines == 0)
                                return start + (guint64)i + 1;
                        last_byte = false;
                }
                end = start;
        }
        return first;
}

/* ---- when it was written ---- */

static int open_times(const Api *api, const char *path, gint64 *ret_count)
{
        g_autofree char *beside = g_strconcat(path, LOG_TIMES_SUFFIX, NULL);
        int fd = member_log_open(api, beside);
        struct stat status;

        *ret_count =
                fd >= 0 && fstat(fd, &status) == 0 ? (gint64)((gsize)status.st_size / sizeof(LogTime)) : 0;
        return fd;
}

static guint read_records(int fd, gint64 first, LogTime *ret, guint n)
{
        ssize_t got = pread(fd, ret, n * sizeof *ret, (off_t)((gsize)first * sizeof *ret));

        return got > 0 ? (guint)((gsize)got / sizeof *ret) : 0;
}

/* The first record behind which there are more than `offset` bytes, and which is not older than `time`. */
static gint64 first_beyond(int fd, gint64 count, gint64 offset, gint64 time)
{
        gint64 low = 0, high = count;

        while (low < high) {
                gint64 middle = low + (high - low) / 2;
                LogTime record = { 0 };

                if (read_records(fd, middle, &record, 1) && (record.size <= offset || record.time_ms < time))
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* NULL: not among those that were read. */
static const LogTime *find_record(const LogTimes *times, guint64 offset)
{
        for (guint i = 0; offset >= times->from && i < times->n; i++)
                if ((guint64)times->records[i].size > offset)
                        return &times->records[i];
        return NULL;
}

static void read_window(LogTimes *times, const Api *api, const char *path, guint64 offset)
{
        gint64 count;
        fd_auto int fd = open_times(api, path, &count);
        gint64 first = fd >= 0 ? first_beyond(fd, count, (gint64)offset, G_MININT64) : 0;
        LogTime before = { 0 };

        times->n = first < count ? read_records(fd, first, times->records, LOG_TIMES_WINDOW) : 0;
        if (times->n > 0 && first > 0)
                (void)read_records(fd, first - 1, &before, 1);
        times->from = (guint64)before.size;
}

gint64 log_times_at(LogTimes *times, const Api *api, const char *path, int log, guint64 offset,
                    guint64 *ret_end)
{
        const LogTime *record = find_record(times, offset);
        struct stat status;

        if (!record) {
                read_window(times, api, path, offset);
                record = find_record(times, offset);
        }
        if (record) {
                *ret_end = (guint64)record->size;
                return record->time_ms;
        }
        *ret_end = offset + 1;
        if (fstat(log, &status) < 0)
                return 0;
        *ret_end = MAX(*ret_end, (guint64)status.st_size);
        return file_mtime_ms(&status);
}

static guint64 line_start(int fd, guint64 offset)
{
        char before = '\n';

        if (offset > 0 && pread(fd, &before, 1, (off_t)offset - 1) == 1 && before != '\n')
                return member_log_tail(fd, offset, 1);
        return offset;
}

guint64 log_times_since(const Api *api, const char *path, int log, gint64 time)
{
        gint64 count;
        fd_auto int fd = open_times(api, path, &count);
        gint64 first = fd >= 0 ? first_beyond(fd, count, -1, time) : 0;
        LogTime before = { 0 };
        struct stat status;

        if (fstat(log, &status) < 0)
                return 0;
        if (first == count && file_mtime_ms(&status) < time)
                return (guint64)status.st_size;
        if (first > 0)
                (void)read_records(fd, first - 1, &before, 1);
        return line_start(log, MIN((guint64)before.size, (guint64)status.st_size));
}
