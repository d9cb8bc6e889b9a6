/* Usage of a running member, from the counters of the cgroups into which its agent put it. */
#pragma once

#include <stdbool.h>

#include "runtime/runtime.h"

/* `proc` is "/proc"; tests use another directory. Reads PID/cgroup and self/mountinfo there. False if the
 * process is gone, or has no group of its own. */
bool measure_process(const char *proc, int pid, TaskUsage *ret);
