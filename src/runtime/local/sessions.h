/* Usage of processes by session, from /proc, for members without their own cgroup. Each member leads a
 * session. Processes that leave it are not counted, nor is the time of ended processes, unless their parent
 * is still there. Any thread. */
#pragma once

#include <stdbool.h>

#include "runtime/runtime.h"

typedef struct Sessions Sessions;

Sessions *sessions_new(const char *proc); /* `proc` is "/proc"; tests use another directory */
void sessions_free(Sessions *sessions);   /* NULL is a no-op */

/* Usage of the session of `pid`. The processes are read at most once in SESSIONS_MS. `now`: monotonic ms. */
enum { SESSIONS_MS = 1000 };
bool sessions_usage(Sessions *sessions, int pid, gint64 now, TaskUsage *ret);
