/* One pass over a Scheduler; private to sched/. See pass.c. */
#pragma once

#include "sched/state.h"

typedef struct {
        Scheduler *s;
        Decisions *ret;
        Plan plan;
} Pass;

/* Notes a decision about `job` as it stands now. */
void pass_decide(Pass *pass, DecisionKind kind, DecisionRule rule, const Job *job, gint64 for_key);

void pass_decide_start(Pass *pass, DecisionRule rule, Job *job);
/* It has grown: what was started in this very pass starts as large as that at once. */
void pass_decide_growth(Pass *pass, const Job *job);

/* ---- start.c ---- */
Job *shape_first(const Shape *shape);
int shape_rank(Scheduler *s, const Shape *a, const Shape *b);    /* of one queue, by all but age */
int shape_compare(Scheduler *s, const Shape *a, const Shape *b); /* of one queue, by their first jobs */
Cause shape_limited(const Shape *shape);                         /* by its array or user; CAUSE_NONE: not */
/* The shape whose first job comes first of those that wait in `queue` and might start; NULL: none. */
Shape *lane_top(Scheduler *s, Lane *queue);
/* The same behind its blocked head, of those that were not tried in this pass. */
Shape *lane_behind(Scheduler *s, Lane *queue);
/* Nothing of a group behind the head may start, as far as nodes and the guard tell. */
bool group_still_waits(Scheduler *s, Group *group);
bool lane_lets(Scheduler *s, Shape *shape); /* no queue's limit is in the way; notes the cause */
/* Starts the first job of `shape`, or notes the cause. */
bool start_first(Pass *pass, Shape *shape, DecisionRule rule);

/* ---- figures.c ---- */
void lane_find_heads(Scheduler *s, Lane *queue);

/* ---- the phases ---- */
void phase_nominated(Pass *pass);
void phase_allocate(Pass *pass, Cluster *cluster);
void phase_backfill(Pass *pass, Cluster *cluster);
void phase_grow(Pass *pass, Cluster *cluster);
void phase_preempt(Pass *pass, Cluster *cluster);
void phase_reclaim(Pass *pass, Cluster *cluster);
