/* The taints of nodes that pods of jobs tolerate. Pure. */
#pragma once

#include "base/json.h"
#include "model/resources.h"

/* The tolerations of a pod with these requests: for the taints that usable nodes may have, and for the time
 * that it stays bound to an unreachable node. The caller's. */
json_t *tolerations_of(const Resources *wants);
/* True if a pod that requests the taint's resource tolerates the taint, or if every pod does. */
bool toleration_covers(const json_t *taint);
