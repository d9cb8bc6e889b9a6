/* Reservations, and which jobs must respect them; private to sched/. */
#pragma once

#include "sched/pass.h"

/* What must stay free on a node so that a head fits at its time. */
typedef struct {
        Node *node;
        Resources amount;
} Hold;

struct Reservation {
        guint64 version;  /* changes when the reservation blocks something else than before */
        gint64 key;       /* the head */
        const Gang *gang; /* its request */
        guint32 slots_version;
        gint64 time;     /* when it fits, possibly in the past; G_MAXINT64: unknown */
        gint64 by_nodes; /* the same, by the capacity of nodes alone; 0: now */
        guint64 charges; /* of its queue, and ... */
        guint32 config;  /* ... the version of the queues' configuration, for which it holds */
        guint32 lacking; /* kinds that it lacks now */
        Resources need;
        QueueNode *queue;
        GArray *holds; /* Hold; none if the time is unknown */
};

/* ---- future.c: when nodes have capacity, if tasks end at their time limits ---- */
bool node_all_end(Node *node);                       /* the ends of all its tasks are known */
Resources node_released_by(Node *node, gint64 time); /* by tasks that end until then */
Resources node_free_at(Node *node, gint64 time);     /* free then, and not planned for others */
int gang_only_role(const Gang *gang);  /* the role of all tasks of its minimum; -1: there are several */
bool gang_is_simple(const Gang *gang); /* one kind of task, without constraints on its place */
/* When a simple gang fits; G_MAXINT64: unknown. Updates gang->future. */
gint64 gang_future_time(Scheduler *s, Gang *gang, int role);

/* ---- reservation.c ---- */
void holds_add(GArray *holds, Node *node, const Resources *amount);

/* Of this pass. It is worked out when it is asked for first: by the guard as soon as it guards, by others
 * before anything is backfilled, so that what is remembered from earlier passes makes no difference. */
const Reservation *reservation_get(Scheduler *s, QueueNode *queue);
/* True if the head is a gang of one kind of task without constraints on its place: no search is needed. */
bool reservation_is_simple(const QueueNode *queue);
/* True if it is clear, without computing it, that the time at which the head fits is known. */
bool reservation_is_timed(Scheduler *s, const QueueNode *queue);
/* The kinds that no job behind the queue's head may take, because the time at which the head will fit is
 * unknown. */
guint32 reservation_denies(Scheduler *s, QueueNode *queue);
/* True if no max above both queues keeps the head from starting at its time, if a job of `shape` starts now. */
bool reservation_leaves_max(const Scheduler *s, const Reservation *r, const Shape *shape);

/* ---- backfill.c ---- */
/* True if trying is useless: it would delay a head that it has to respect. */
bool is_known_to_delay(Scheduler *s, const Shape *shape, DecisionRule rule);
/* True if this is known for some time limit in the group. */
bool is_known_to_delay_at_all(Scheduler *s, const Group *group, DecisionRule rule);
/* True if the group respects the guard, and it is known that the guard leaves no capacity for jobs of the
 * group that take as long as *ret_span. */
bool is_kept_by_guard(Scheduler *s, const Group *group, gint64 *ret_span);
/* True if no nodes have capacity for `shape`, or only nodes that the guard reserves. The result is recorded
 * for all jobs with the same request. */
bool finds_no_capacity(Scheduler *s, const Shape *shape);
/* Checks the planned gang of `shape`. True: it delays no head that it has to respect, possibly after it was
 * planned again. False: the plan was undone. */
bool guards_let(Pass *pass, Shape *shape, DecisionRule rule);

/* ---- settle.c ---- */
/* Records that nothing has started behind the queue's head, and nothing is left to be tried in this pass. */
void queue_settle(Scheduler *s, QueueNode *queue);
/* True if that was recorded, and all causes of it are unchanged. */
bool queue_is_settled(Scheduler *s, QueueNode *queue);
