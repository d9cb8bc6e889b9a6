/* Restores what a Scheduler knows beyond the facts that were put, into another one: for clones and dumps;
 * private to sched/. Call these after all nodes, queues and jobs were put. */
#pragma once

#include "sched/state.h"

void restore_past(Scheduler *s, Job *job, const Past *past);
/* Tasks that were shrunk away and still use resources; false: they cannot be there. `going` is copied. */
bool restore_going(Scheduler *s, Job *job, const SchedTask *going);
/* Capacity that is being freed for a listed job; the nomination becomes the scheduler's. */
void restore_nomination(Scheduler *s, Nomination *nomination);
SchedNode node_view(const Node *node);
SchedQueue queue_view(const QueueNode *queue);
/* All jobs by key; the caller's. */
GPtrArray *jobs_sorted(const Scheduler *s);
/* Queues, parents before their children, else by id; the caller's. */
GPtrArray *queues_sorted(const Scheduler *s);
