/* What processes use, by session, from /proc: where members have no cgroup of their own. Each member leads a
 * session; a process that leaves it is not counted, nor is the time of one that has ended, unless its parent
 * is there. Any thread. */
#pragma once

#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct Sessions Sessions;

Sessions *sessions_new(const char *proc); /* "/proc", or stands for it in tests */
void sessions_free(Sessions *sessions);   /* NULL is a no-op */

/* Of the session of `pid`. One look at all processes serves all questions for SESSIONS_MS. `now`: monotonic
 * ms. */
enum { SESSIONS_MS = 1000 };
bool sessions_usage(Sessions *sessions, int pid, gint64 now, TaskUsage *ret);
