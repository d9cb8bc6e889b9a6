/* Explains why a pod has no node: the cluster's scheduler says "0/4 nodes are available: 2 Insufficient
 * memory, 1 node(s) were unschedulable. preemption: ...", we "2 nodes lack memory 8Gi, 1 node is cordoned".
 * Pure. */
#pragma once

#include "base/json.h"

/* `spec`: of the pod, for its requests; or NULL. Unknown parts are left unchanged; the caller's. */
char *unscheduled_say(const char *message, const json_t *spec);
