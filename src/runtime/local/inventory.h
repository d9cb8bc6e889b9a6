/* What this machine can give: CPUs this process may use (affinity, cgroup quota), memory (cgroup limit or
 * physical), NVIDIA devices. */
#pragma once

#include "model/resources.h"

/* `root` is "/" but in tests; `cpus` how many the affinity mask allows. Never fails: what cannot be read
 * counts as unlimited, and memory that cannot be read at all as 0. */
void inventory_read(const char *root, int cpus, Resources *ret);

/* How many processes and threads the kernel has room for. */
gint64 inventory_processes(const char *root);

/* This machine, with the fields of `override` that are not 0 in their place. */
void inventory_get(const Resources *override, Resources *ret);
