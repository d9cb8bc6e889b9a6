/* The log files of members, which the members write themselves: where they are, and places in them. */
#pragma once

#include "api/v1/internal.h"
#include "base/log-times.h"

/* The member whose log is that of the environment's build. */
extern const char log_environment[];

/* The role and index of "trainer-0" in this job; false when it has no such member. *ret_role is the job's. */
bool log_member_find(const Job *job, const char *member, const char **ret_role, int *ret_index);
/* ERR_NOT_FOUND, with the members that there are; always false. */
bool log_member_unknown(const Job *job, const char *member, GError **error);

/* -1 when it is not there. Below the state directory no link is followed: what a member could have put in the
 * way leads nowhere. */
int member_log_open(const Api *api, const char *path);

/* The offset at which the last `lines` lines of the first `size` bytes begin. */
guint64 member_log_tail(int fd, guint64 size, gint64 lines);

/* ---- when it was written (base/log-times.h) ---- */

enum { LOG_TIMES_WINDOW = 64 /* a KiB for each file of a stream */ };

/* Zeros are a good one: nothing has been read. */
typedef struct {
        LogTime records[LOG_TIMES_WINDOW]; /* some of them, in order; the first n are there */
        guint n;
        guint64 from; /* bytes before it have earlier records */
} LogTimes;

/* By when (ms) byte `offset` of the log was written, and in *ret_end how far the bytes behind it were, too.
 * `log` is open, and its size beyond `offset`. Asked with growing offsets this reads each record once. */
gint64 log_times_at(LogTimes *times, const Api *api, const char *path, int log, guint64 offset,
                    guint64 *ret_end);

/* Where the first line begins that was written at `time` (ms) or later; the size of the log when none was. */
guint64 log_times_since(const Api *api, const char *path, int log, gint64 time);
