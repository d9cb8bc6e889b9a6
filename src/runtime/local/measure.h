/* What a running member uses, from the counters of the cgroups that its agent put it into. */
#pragma once

#include <stdbool.h>

#include "runtime/runtime.h"

/* `proc` is "/proc", or stands for it in tests: PID/cgroup and self/mountinfo below it are read. False when
 * the process is gone, or not in a group of its own. */
bool measure_process(const char *proc, int pid, TaskUsage *ret);
