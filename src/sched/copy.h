/* What a Scheduler knows beyond what it was told, put back into another: for clones and dumps; private to
 * sched/. The nodes, queues and jobs have been put already. */
#pragma once

#include "sched/state.h"

void restore_past(Job *job, const Past *past);
/* What was shrunk away and still holds; false: it cannot stand there. `going` is copied. */
bool restore_going(Scheduler *s, Job *job, const SchedTask *going);
/* Room that is being made for a listed job; the nomination becomes the scheduler's. */
void restore_nomination(Scheduler *s, Nomination *nomination);
SchedNode node_view(const Node *node);
SchedQueue lane_view(const Lane *queue);
/* All jobs by key; the caller's. */
GPtrArray *jobs_sorted(const Scheduler *s);
/* Queues, parents before their children, else by id; the caller's. */
GPtrArray *lanes_sorted(const Scheduler *s);
