/* The log file of a member, which writes it directly (O_APPEND). These functions open it, add the platform's
 * lines, and enforce its cap.
 *
 * RLIMIT_FSIZE cannot enforce the cap: it would also limit the member's models. The keeper checks the size
 * and cuts the bytes beyond the cap, after a line that says so. Each time it keeps the last LOG_TAIL bytes
 * after that line, so that a traceback is not lost. Bytes below the cap never move, so readers' offsets stay
 * valid. No GLib. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LOG_TAIL = 64 * 1024 };

/* Opens or creates the file, and creates its directories; writes `banner` and a newline unless it is empty.
 * Records when existing content was written (log_clock_look). -1 with errno. */
int log_file_open(const char *path, const char *banner);
/* Lets a member with another user reopen the log as /dev/stderr, unless other users could reach it by its
 * path. */
void log_file_share(int fd, const char *path);

/* Appends the line "paddle: TEXT". */
void log_file_say(int fd, const char *text);

/* If the file has grown far beyond `max`, cuts it to `max` bytes, the notice and the tail. *cut stores
 * whether it was ever cut; returns it. */
bool log_file_cap(int fd, int64_t max, bool *cut);

/* After the member's end: keeps the notice and the tail, and nothing between. */
void log_file_finish(int fd, int64_t max);

/* Records beside a log when it grew (base/log-times.h). The file is created on demand: for a member that
 * writes everything before the first check, the mtime is enough. Initialize it with zeros. */
typedef struct {
        int64_t size;             /* at the last check */
        int64_t pause_ms, gap_ms; /* until the next check; and the pause while the log grows */
} LogClock;

/* Checks the log; returns when to check next (ms): soon while it grows, once a second when it is quiet. */
int64_t log_clock_look(LogClock *clock, int fd);
/* The member is gone. */
void log_clock_finish(const LogClock *clock, int fd);
