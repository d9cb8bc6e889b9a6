/* The log file of a member (see logfile.h). */
#include "agent/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes `dir` and what is missing above it; the nearest directory that is there is asked first. */
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

int log_file_open(const char *path, const char *banner)
{
        const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
        int fd = open(path, flags, 0644);

        if (fd < 0 && errno == ENOENT && make_directory_of(path))
                fd = open(path, flags, 0644);
        if (fd >= 0 && *banner) {
                char line[PIPE_BUF];
                size_t len = strnlen(banner, sizeof line - 1);

                memcpy(line, banner, len);
                line[len] = '\n';
                (void)!write(fd, line, len + 1); /* a full disk must not keep the member from running */
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
                (void)fchmod(fd, 0622); /* else it has only its descriptors */
}

void log_file_say(int fd, const char *text)
{
        char line[PIPE_BUF];
        int len = snprintf(line, sizeof line, "paddle: %.2000s\n", text);

        (void)!write(fd, line, (size_t)len); /* the log is best effort */
}

/* The line that stands at the cap; its length is the same each time. */
static int notice(int64_t max, char *line, size_t size)
{
        return snprintf(line, size,
                        "\npaddle: this log has reached its limit of %lld bytes; what follows is dropped, "
                        "but for the end\n",
                        (long long)max);
}

/* The notice at the cap and behind it the last LOG_TAIL bytes, and what is appended meanwhile: it may be the
 * member's last word. A member that writes faster than this copies is not at its end: it loses what lies
 * between. The member's descriptor appends wherever it is told to write, so this needs one that does not.
 * False: nothing was cut. */
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
                *cut = keep_tail(fd, max, status.st_size) || *cut; /* else tried again at the next look */
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
