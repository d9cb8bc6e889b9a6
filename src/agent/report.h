/* What a member reports of itself while it runs: it appends lines NAME=VALUE to $PADDLE_PROGRESS_FILE, as
 * many and as often as it likes. Its keeper folds them into the last, the least and the greatest value of
 * each name, and writes these beside the log, at most once a second, only when they changed. So what a server
 * reads is small however much was reported.
 *
 * Bounds: REPORT_NAMES names of REPORT_NAME letters, digits and "._-/", beginning with a letter or '_'; lines
 * of REPORT_LINE bytes. Further names and other lines are ignored. At most the last REPORT_STEP bytes are
 * read at a time. No GLib: the keeper uses this. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
        REPORT_NAMES = 32,
        REPORT_NAME = 63,
        REPORT_LINE = 256,
        REPORT_STEP = 4 << 20,
        REPORT_TEXT = REPORT_NAMES * 3 * (REPORT_NAME + 40), /* bytes that report_format writes at most */
};

typedef struct {
        char name[REPORT_NAME + 1];
        double last, min, max;
        bool ranged; /* min and max hold: a finite value was among them */
} ReportValue;

typedef struct {
        ReportValue values[REPORT_NAMES]; /* in the order in which they were first reported */
        int n;
} Report;

/* Folds the whole lines of `text`; the bytes that they are. `all`: what is behind the last newline is a line,
 * too. */
size_t report_take(Report *report, const char *text, size_t len, bool all);

/* As lines that report_take would fold to the same: of each name the least, the greatest, the last. The
 * number of bytes; `ret` has REPORT_TEXT. */
size_t report_format(const Report *report, char *ret);

/* A file of reports, and where what they come to is written. */
typedef struct {
        int fd;           /* -1: none */
        int64_t offset;   /* read up to here */
        bool inside;      /* of a line whose beginning was passed over */
        const char *path; /* of the result; made when there is one */
        int result_fd;    /* -1: not made yet */
        Report report;
} ReportFile;

/* Creates the file, owned by `user` and `group` (-1: unchanged). The descriptor stays open, so a file that
 * the member puts in its place is never read. `path` and `result` are borrowed. An empty path: no file. */
void report_open(ReportFile *file, const char *path, const char *result, uid_t user, gid_t group);
/* Reads what is new. `last`: the member is gone. */
void report_look(ReportFile *file, bool last);
