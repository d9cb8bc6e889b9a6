/* The log file of a member. The member writes it itself (O_APPEND); nobody stands between. What is here opens
 * it, adds the platform's own lines, and keeps it below its cap.
 *
 * The cap is not RLIMIT_FSIZE, which would stop the member's models too. Its keeper looks at the size: what
 * goes beyond the cap is cut off again, after a line that says so; the last LOG_TAIL bytes are kept behind
 * that line each time, so that a traceback is not lost. Bytes below the cap never move: a reader's offset
 * stays true. No GLib. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LOG_TAIL = 64 * 1024 };

/* Opens or makes the file, and its directories; writes `banner` and a newline unless it is empty. -1 with
 * errno. When what is there already was written, is noted (log_clock_look). */
int log_file_open(const char *path, const char *banner);
/* Lets a member that is somebody else open it anew as /dev/stderr, unless others could reach it by its name.
 */
void log_file_share(int fd, const char *path);

/* "paddle: TEXT" as a line. */
void log_file_say(int fd, const char *text);

/* Cuts the file to `max` bytes, the notice and the tail when it has grown much beyond; true once it has. *cut
 * remembers. */
bool log_file_cap(int fd, int64_t max, bool *cut);

/* The member is gone: keeps the notice and the tail, and nothing between. */
void log_file_finish(int fd, int64_t max);

/* Notes beside a log when it grew (base/log-times.h). The file is made when there is something to tell: the
 * mtime alone is enough for a member that says all within one look. Zeros are a good one. */
typedef struct {
        int64_t size;             /* at the last look */
        int64_t pause_ms, gap_ms; /* to the next look; and while the log grows */
} LogClock;

/* Looks, and returns when to look again (ms): soon while the log grows, once a second when it is quiet. */
int64_t log_clock_look(LogClock *clock, int fd);
/* The member is gone. */
void log_clock_finish(const LogClock *clock, int fd);
