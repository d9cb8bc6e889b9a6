/* What members may connect to: programs of the kernel's at a cgroup (BPF), which stay as long as the group
 * does and need no process. They look at connect() and at messages that name where they go, of TCP and UDP;
 * sockets of other protocols cannot be had. Loopback is always allowed: members of a job meet there. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/cgroup.h"
#include "base/json.h"

enum { EGRESS_RULES_MAX = 256 };

/* Puts `rules` in force: [{"address","bits","port"}], port 0: any; NULL: no limit, what an earlier server
 * asked for ends. *ret_dir (the caller's) gets the group that each member has to enter; NULL: none, or every
 * slot lies below. ERR_INVALID; ERR_UNAVAILABLE: this kernel cannot, and nothing may be started. */
bool egress_apply(CgroupPool *pool, const char *mounts, const char *id, const json_t *rules, char **ret_dir,
                  GError **error);
