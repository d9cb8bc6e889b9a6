/* Metrics that a member reports while it runs: it appends lines NAME=VALUE to $PADDLE_PROGRESS_FILE, any
 * number of them. Its keeper reduces them to the last, the least and the greatest value of each name, and
 * writes these to a file beside the log, only when they changed and at most once a second. So a server reads
 * little, however much is reported.
 *
 * Bounds: REPORT_NAMES names of REPORT_NAME letters, digits and "._-/", starting with a letter or '_'; lines
 * of REPORT_LINE bytes. More names and other lines are ignored. Only the last REPORT_STEP bytes are read at a
 * time. No GLib: the keeper uses this. */
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
        REPORT_TEXT = REPORT_NAMES * 3 * (REPORT_NAME + 40), /* the maximum that report_format writes */
};

typedef struct {
        char name[REPORT_NAME + 1];
        double last, min, max;
        bool ranged; /* min and max are valid: there was a finite value */
} ReportValue;

typedef struct {
        ReportValue values[REPORT_NAMES]; /* in order of their first report */
        int n;
} Report;

/* Adds the complete lines of `text`; returns their length. `all`: text after the last newline is a line as
 * well. */
size_t report_take(Report *report, const char *text, size_t len, bool all);

/* Writes lines that report_take would reduce to the same values: the least, the greatest and the last of each
 * name. Returns their length; `ret` has REPORT_TEXT bytes. */
size_t report_format(const Report *report, char *ret);

/* A file of reports, and the file for their result. */
typedef struct {
        int fd;           /* -1: none */
        int64_t offset;   /* read up to here */
        bool inside;      /* in a line whose beginning was skipped */
        const char *path; /* of the result, which is created with the first value */
        int result_fd;    /* -1: not created yet */
        Report report;
} ReportFile;

/* Creates the file, owned by `user` and `group` (-1: unchanged). It stays open, so a file that the member
 * puts in its place is never read. `path` and `result` are borrowed. An empty path: no file. */
void report_open(ReportFile *file, const char *path, const char *result, uid_t user, gid_t group);
/* Reads what was added. `last`: the member is gone. */
void report_look(ReportFile *file, bool last);
