/* The log file of a member (see logfile.h). */
#include "agent/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log-times.h"

/* Creates `dir` and its missing parents. Checks the nearest existing directory first. */
static bool make_directories(char *dir)
{
        char *slash;
        bool ok;

        if (mkdir(dir, 0755) == 0 || errno == EEXIST)
                return true;
        slash = strrchr(dir, '/');
        if (errno != ENOENT || !slash || slash == dir)
                return false;
        *slash = '\0';
        ok = make_directories(dir);
        *slash = '/';
        return ok && (mkdir(dir, 0755) == 0 || errno == EEXIST);
}

static bool make_directory_of(const char *path)
{
        char dir[PATH_MAX];
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;

        if (len >= sizeof dir) {
                errno = ENAMETOOLONG;
                return false;
        }
        memcpy(dir, path, len);
        dir[len] = '\0';
        return len == 0 || make_directories(dir);
}

/* ---- times of writing ---- */

enum { LOOK_QUIET_MS = 1000 };

/* Opens LOG.times of the log `fd`. The name comes from the descriptor: storing it would cost each keeper a
 * page. */
static int open_times(int fd, int flags)
{
        char link[40], path[PATH_MAX];
        ssize_t len;

        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        len = readlink(link, path, sizeof path - sizeof LOG_TIMES_SUFFIX);
        if (len <= 0 || len == (ssize_t)(sizeof path - sizeof LOG_TIMES_SUFFIX))
                return -1;
        memcpy(path + len, LOG_TIMES_SUFFIX, sizeof LOG_TIMES_SUFFIX);
        return open(path, flags | O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
}

/* Returns the new number of records; -1: the time could not be stored. A log that was cut is smaller than its
 * last record says: nothing is stored until it has grown beyond that. */
static int64_t note_time(int fd, const struct stat *log, int flags)
{
        LogTime now = { .time_ms = log->st_mtim.tv_sec * INT64_C(1000) + log->st_mtim.tv_nsec / 1000000,
                        .size = log->st_size };
        const int64_t record = sizeof now;
        int times = open_times(fd, flags);
        struct stat status;
        int64_t count = -1;
        LogTime last = { 0 };

        if (times >= 0 && fstat(times, &status) == 0) {
                count = status.st_size / record;
                if (count > 0)
                        (void)!pread(times, &last, sizeof last, (count - 1) * record);
                if (now.size > last.size)
                        count += write(times, &now, sizeof now) == record;
        }
        if (times >= 0)
                close(times);
        return count;
}

/* Anything written from now on has a later mtime, which the next check finds. */
static void note_earlier(int fd)
{
        struct stat status;

        if (fstat(fd, &status) == 0 && status.st_size > 0)
                (void)note_time(fd, &status, O_CREAT);
}

int64_t log_clock_look(LogClock *clock, int fd)
{
        struct stat status;
        int64_t count;

        if (clock->gap_ms == 0)
                clock->gap_ms = clock->pause_ms = LOG_TIMES_GAP_MS;
        if (fstat(fd, &status) < 0 || status.st_size == clock->size) {
                clock->pause_ms = clock->pause_ms * 2 < LOOK_QUIET_MS ? clock->pause_ms * 2 : LOOK_QUIET_MS;
                return clock->pause_ms > clock->gap_ms ? clock->pause_ms : clock->gap_ms;
        }
        clock->size = status.st_size;
        count = note_time(fd, &status, O_CREAT);
        if (count > 0)
                clock->gap_ms = log_times_gap_ms(count);
        clock->pause_ms = clock->gap_ms;
        return clock->pause_ms;
}

void log_clock_finish(const LogClock *clock, int fd)
{
        struct stat status;

        if (fstat(fd, &status) == 0 && status.st_size != clock->size)
                (void)note_time(fd, &status, 0); /* without other records the mtime says the same */
}

int log_file_open(const char *path, const char *banner)
{
        const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
        int fd = open(path, flags, 0644);

        if (fd < 0 && errno == ENOENT && make_directory_of(path))
                fd = open(path, flags, 0644);
        if (fd >= 0)
                note_earlier(fd);
        if (fd >= 0 && *banner) {
                char line[PIPE_BUF];
                size_t len = strnlen(banner, sizeof line - 1);

                memcpy(line, banner, len);
                line[len] = '\n';
                (void)!write(fd, line, len + 1); /* a full disk must not prevent the member from running */
        }
        return fd;
}

void log_file_share(int fd, const char *path)
{
        char dir[PATH_MAX];
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;
        struct stat status;

        if (len == 0 || len >= sizeof dir)
                return;
        memcpy(dir, path, len);
        dir[len] = '\0';
        if (stat(dir, &status) == 0 && (status.st_mode & (S_IXGRP | S_IXOTH)) == 0)
                (void)fchmod(fd, 0622); /* else the member has only its open descriptors */
}

void log_file_say(int fd, const char *text)
{
        char line[PIPE_BUF];
        int len = snprintf(line, sizeof line, "paddle: %.2000s\n", text);

        (void)!write(fd, line, (size_t)len); /* the log is best effort */
}

/* The line written at the cap; its length is always the same. */
static int notice(int64_t max, char *line, size_t size)
{
        return snprintf(line, size,
                        "\npaddle: this log has reached its limit of %lld bytes; what follows is dropped, "
                        "but for the end\n",
                        (long long)max);
}

/* Keeps the notice at the cap, after it the last LOG_TAIL bytes, and what is appended meanwhile, which may be
 * the member's last message. If the member writes faster than this copies, the bytes between are lost. The
 * member's descriptor always appends, so this needs another one. False: nothing was cut. */
static bool keep_tail(int fd, off_t max, off_t size)
{
        char path[40], chunk[8192];
        int len = notice(max, chunk, sizeof chunk), out;
        off_t from = size - LOG_TAIL, to = max + len, enough = to + (off_t)4 * LOG_TAIL;
        bool cut = false;
        ssize_t got;

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        out = open(path, O_WRONLY | O_CLOEXEC);
        if (out < 0 || pwrite(out, chunk, (size_t)len, max) != len)
                goto out;
        while (to < enough && (got = pread(fd, chunk, sizeof chunk, from)) > 0 &&
               pwrite(out, chunk, (size_t)got, to) == got) {
                from += got;
                to += got;
        }
        cut = ftruncate(out, to) == 0;
out:
        if (out >= 0)
                close(out);
        return cut;
}

bool log_file_cap(int fd, int64_t max, bool *cut)
{
        struct stat status;

        if (fstat(fd, &status) == 0 && status.st_size > max + (off_t)2 * LOG_TAIL)
                *cut = keep_tail(fd, max, status.st_size) || *cut; /* else retried at the next check */
        return *cut;
}

void log_file_finish(int fd, int64_t max)
{
        char line[256];
        int len = notice(max, line, sizeof line);
        struct stat status;

        if (fstat(fd, &status) == 0 && status.st_size > max + len + LOG_TAIL)
                (void)keep_tail(fd, max, status.st_size);
}
