/* The objects of Volcano: a Queue for each queue of a cluster, and a PodGroup for each attempt of a job
 * (doc/reference/scheduling.md, "Volcano's queues" to "Handing a job to Volcano"). Pure; results are the
 * caller's. cluster/volcano.h creates and deletes them. */
#pragma once

#include "model/queue.h"
#include "runtime/kubernetes/pod/member.h"

#define VOLCANO_SCHEDULER "volcano"

json_t *volcano_queue(const Queue *queue, const char *server);
/* It has the name of the attempt's service. The gang: all members that start now; of an elastic role only the
 * minimum. `priority_class` may be NULL. */
json_t *volcano_group(const MemberHome *home, const RuntimeAttempt *attempt, const char *priority_class);
/* Makes the pod a member of the attempt's group. */
void volcano_join(json_t *pod, const RuntimeAttempt *attempt, const char *role);
/* True if its phase is Pending (or none yet) or Inqueue. */
bool volcano_group_waits(const json_t *group);
/* Why the group's pods wait; NULL: Volcano reports no reason. */
char *volcano_group_why(const json_t *group);
