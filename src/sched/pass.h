/* One pass over a Scheduler; private to sched/. See pass.c. */
#pragma once

#include "sched/state.h"

typedef struct {
        Scheduler *s;
        Decisions *ret;
        Plan plan;
        GArray *holds; /* Hold: scratch memory of guards_let */
} Pass;

/* Records a decision about `job` in its current state. */
void pass_decide(Pass *pass, DecisionKind kind, DecisionRule rule, const Job *job, gint64 for_key);

void pass_decide_start(Pass *pass, DecisionRule rule, Job *job);
/* Records that it has grown. A job that was started in this pass then starts with the larger size. */
void pass_decide_growth(Pass *pass, const Job *job);

/* ---- start.c ---- */
int account_compare(Scheduler *s, Account *a, Account *b); /* by what their users used of late */

static inline Job *shape_first(const Shape *shape)
{
        return shape->first;
}
/* In one queue, whose order is `by`: by everything but age. */
static inline int shape_rank(Scheduler *s, QueueOrder by, const Shape *a, const Shape *b)
{
        int order = by == QUEUE_ORDER_FAIR ? account_compare(s, a->account, b->account) : 0;

        if (order == 0 && by != QUEUE_ORDER_FIFO)
                order = (a->priority < b->priority) - (a->priority > b->priority);
        return order;
}
/* The same, and then by their first jobs: a comes before b. */
static inline bool shape_is_before(Scheduler *s, QueueOrder by, const Shape *a, const Shape *b)
{
        int order = shape_rank(s, by, a, b);

        if (order != 0)
                return order < 0;
        return a->first_submitted != b->first_submitted ? a->first_submitted < b->first_submitted
                                                        : a->first_key < b->first_key;
}
/* The limit of its array or user that it has reached; CAUSE_NONE: none. */
static inline Cause shape_limited(const Shape *shape)
{
        const QueueNode *queue = shape_queue(shape);

        if (shape->array && shape->array_max > 0 && shape->array->running >= shape->array_max)
                return CAUSE_ARRAY_LIMIT;
        if (queue->max_running_per_user > 0 && shape->account->running >= queue->max_running_per_user)
                return CAUSE_USER_LIMIT;
        return CAUSE_NONE;
}
/* The shape with the first waiting job in `queue` that may start; NULL: none. */
Shape *queue_top(Scheduler *s, QueueNode *queue);
/* The same behind its blocked head, of the shapes that were not tried in this pass. */
Shape *queue_behind(Scheduler *s, QueueNode *queue);
/* True if no job of a group behind the head can start, as far as nodes and the guard are concerned. */
bool group_still_waits(Scheduler *s, Group *group);
bool queue_lets(Scheduler *s, Shape *shape); /* no limit of a queue prevents it; records the cause */
/* Starts the first job of `shape`, or records the cause. */
bool start_first(Pass *pass, Shape *shape, DecisionRule rule);

/* ---- figures.c ---- */
void queue_find_heads(Scheduler *s, QueueNode *queue);

/* ---- the phases ---- */
void phase_nominated(Pass *pass);
void phase_allocate(Pass *pass, Cluster *cluster);
void phase_backfill(Pass *pass, Cluster *cluster);
void phase_grow(Pass *pass, Cluster *cluster);
void phase_preempt(Pass *pass, Cluster *cluster);
void phase_reclaim(Pass *pass, Cluster *cluster);
