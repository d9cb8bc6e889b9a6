/* The allowed connections of members: kernel programs (BPF) at a cgroup, which exist as long as the group and
 * need no process. They check connect(), and messages with a destination, of TCP and UDP; sockets of other
 * protocols cannot be created. Loopback is always allowed: members of a job connect to each other there. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/cgroup.h"
#include "base/json.h"

enum { EGRESS_RULES_MAX = 256 };

/* Applies `rules`: [{"address","bits","port"}], port 0: any; NULL: no limit, and the limits of an earlier
 * server end. *ret_dir (the caller's) is the group that each member must enter; NULL: none, or every slot is
 * below it. ERR_INVALID; ERR_UNAVAILABLE: this kernel cannot, and no member may be started. */
bool egress_apply(CgroupPool *pool, const char *mounts, const char *id, const json_t *rules, char **ret_dir,
                  GError **error);
