/* The capacity of this machine: CPUs that this process may use (affinity, cgroup quota), memory (cgroup limit
 * or physical), NVIDIA devices. */
#pragma once

#include "model/resources.h"

/* `root` is "/" except in tests; `cpus` is the number in the affinity mask. Never fails: an unreadable limit
 * counts as unlimited, unreadable memory as 0. */
void inventory_read(const char *root, int cpus, Resources *ret);

/* The number of processes and threads that the kernel permits. */
gint64 inventory_processes(const char *root);

/* This machine; fields of `override` that are not 0 replace its own. */
void inventory_get(const Resources *override, Resources *ret);
