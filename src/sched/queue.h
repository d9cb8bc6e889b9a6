/* The tree of queues; private to sched/. A queue's facts and sums stand in QueueNode itself; what one file works out
 * and remembers stands in a struct of its own, which that file owns. */
#pragma once

#include "sched/shape.h"

/* When a job ends. */
typedef struct {
        gint64 end; /* G_MAXINT64: unknown */
        const Job *job;
} JobEnd;

typedef struct Reservation Reservation;

/* queue-share.c: its share, which decides who is served first, and its place in a phase. */
typedef struct {
        guint32 next; /* kinds that it will be asked for next */
        bool below;   /* it is below its min */
        gint64 num, den;
        guint64 quotient; /* of these, rounded down; in the order of queues of one priority */
        Memo memo;        /* of below, num, den, quotient */
        Usage usage;      /* for which `recent` was worked out */
        gint64 recent;
        Memo recent_memo;       /* key: the time */
        Siblings children;      /* those that take part in a phase */
        bool is_active, serves; /* it takes part; itself, not only children of it */
} QueueShare;

/* start.c, turns.c: which of its jobs comes next. */
typedef struct {
        GArray *turns; /* Turn: of its groups with waiting jobs; see turns.h */
        Memo turns_memo;
        bool left_out; /* hopeless groups are not among turns */
        Memo tops;     /* the groups' tops may be used, if their own memos are fresh */
        Memo judged;   /* it is known of all groups whether they are hopeless; key: queue_judged_key */
        Shape *top;    /* the shape with the first job that may start; NULL: none */
        Memo top_memo;
        GPtrArray *ranking; /* Account: all with waiting jobs, in the order of QUEUE_ORDER_FAIR */
        Memo ranking_memo;  /* no further accounts have waiting jobs */
        Memo ranking_order; /* key: the pass */
} QueueStart;

/* reservation.c, backfill.c, start.c: its blocked head, and the jobs behind it. */
typedef struct {
        gint64 head; /* the key of the first blocked job; 0: none */
        Shape *head_shape;
        gint64 head_start; /* of the reservation, for the figures */
        Reservation *reservation;
        Memo reservation_memo; /* key: the pass */
        guint32 denied;        /* kinds that no job behind the head may take */
        Memo denied_memo;      /* key: the pass */
        GArray *behind;        /* Turn: of the groups that are still to be tried behind the head */
        Memo behind_memo;      /* key: the pass */
        GPtrArray *noted;      /* Group: those with a record in `guarded` */
        Resources then_alloc;  /* what the queue will use at `then` */
        gint64 then;
        Memo then_memo; /* key: charges */
        GArray *ends;   /* JobEnd: of the jobs in `running`, ascending */
        Memo ends_memo;
} QueueBackfill;

/* settle.c: no job behind the blocked head could start, and the causes. */
typedef struct {
        Memo head;              /* key: the head; of all that follows */
        Memo listings;          /* key: queue->listings */
        Memo charges;           /* key: queue_charges */
        Memo judged;            /* key: queue_judged_key */
        Memo reserved, guarded; /* key: version of the queue's own reservation; of the guard's */
        const QueueNode *guard;
        bool by_reservation, by_guard; /* the cause was the queue's own reservation; the guard's */
        GArray *watches;               /* Watch: groups that lacked nodes */
} QueueSettled;

/* figures.c: the first waiting jobs. */
typedef struct {
        gint64 heads[SCHED_FIGURE_HEADS]; /* keys, as of the last pass */
        Memo heads_memo;
        const Job *first[SCHED_FIGURE_HEADS]; /* now; NULL: no more */
        Memo first_memo;
} QueueFirst;

/* preempt.c: whether preemption in the queue can help its head. */
typedef struct {
        int lowest; /* the lowest priority that runs and may be preempted */
        Memo lowest_memo;
        struct {
                Memo memo;    /* key: the job for which no capacity could be freed */
                bool by_max;  /* a queue's max was in the way */
                gint64 until; /* when a further job may be preempted */
                gint64 slots;
                guint64 changes, charges;
                guint32 config, lacking;
        } failed;
} QueuePreempt;

/* victim.c, reclaim.c: the running jobs that may be evicted. */
typedef struct {
        GArray *victims;
        Memo memo;  /* key: the pass */
        guint next; /* index into victims, while a claim searches for some */
        bool spent; /* it has no victims for a claim */
} QueueVictims;

/* grow.c */
typedef struct {
        GPtrArray *jobs; /* Job, while elastic jobs grow */
        guint32 wanted;  /* kinds of its max that some job waits for */
} QueueGrowth;

struct QueueNode {
        int id, cluster, weight, priority, max_running_per_user;
        QueueNode *parent;
        char *name;
        QueueState state;
        QueuePreemption preemption;
        QueueOrder order;
        bool reclaimable, has_backfill, keeps; /* keeps: an amount is reserved */
        LabelSet *labels;
        Resources min, max, reserved;
        guint32 max_mask, min_mask; /* kinds that are limited; kinds that are guaranteed */
        int n_children;

        Resources alloc, releasing, planned, pending; /* of itself and its children */
        guint64 charges;  /* grows with every change of alloc, releasing, planned */
        guint64 listings; /* grows with every change of its waiting jobs, or of which of them may start */
        Usage usage;
        int n_jobs, n_pending, n_running; /* of itself and its children */
        int n_flexible;                   /* its own running jobs that may have more than their minimum */
        GPtrArray *groups;                /* Group, those with waiting jobs */
        GPtrArray *running;               /* Job, of itself; in no order */

        QueueShare share;
        QueueStart start;
        QueueBackfill backfill;
        QueueSettled settled;
        QueueFirst first;
        QueuePreempt preempt;
        QueueVictims victim;
        QueueGrowth grow;
};

/* What decides whether a group is hopeless: the configuration of queues, and the nodes. */
guint64 queue_judged_key(const Scheduler *s, const QueueNode *queue);

/* ---- queue-share.c ---- */
typedef enum { NOW, LATER } When;                /* LATER: after all releases and all planned starts */
bool queue_has_max(const QueueNode *queue);      /* it or a queue above it */
bool queue_is_startable(const QueueNode *queue); /* it and all queues above it are open or closing */
/* The first queue, from this one upwards, whose max would be exceeded by `want` more; NULL: none. */
QueueNode *queue_over_max(const Scheduler *s, QueueNode *queue, const Resources *want, guint32 mask,
                          When when, int *ret_kind);
/* Another queue for which the resources that `want` would take are reserved; NULL: none. */
QueueNode *queue_kept_from(const Scheduler *s, const QueueNode *queue, const Resources *want, guint32 mask,
                           When when, int *ret_kind);
/* True if with `want` more the queue, or one above it but below `apart`, is within its min in those kinds of
 * `mask` that its min names; it must name at least one. */
bool queue_is_within_min(const QueueNode *queue, const QueueNode *apart, const Resources *want, guint32 mask);
QueueNode *queue_common(QueueNode *a, QueueNode *b); /* the nearest queue that is or contains both; or
                                                           NULL */
/* Adds to alloc, up to the root; `mask`: the kinds of r that are not 0. */
void queue_charge(QueueNode *queue, const Resources *r, guint32 mask, int sign);
/* Changes when the use of the queue or one above it changes, in a kind that is limited or guaranteed. */
guint64 queue_charges(const QueueNode *queue);
void queue_stale(QueueNode *queue);      /* invalidates its share, up to the root */
int queue_depth(const QueueNode *queue); /* 0: directly under its cluster */
/* Decides which queues a phase serves, the best first: true if the phase has something to do for `queue`, and
 * the kinds of resources that it needs. */
typedef bool (*NextKinds)(Scheduler *s, QueueNode *queue, guint32 *ret_kinds);
void active_fill(Scheduler *s, Cluster *cluster, NextKinds next);
QueueNode *active_best(const Cluster *cluster);                    /* NULL: no queue left */
void active_moved(Scheduler *s, QueueNode *queue, NextKinds next); /* the share of the best queue has grown */
void active_remove(Scheduler *s, QueueNode *queue);                /* removes the best queue */

/* ---- start.c ---- */
void shape_comes_earlier(Scheduler *s, Shape *shape); /* its first job has changed to an older one */
void group_comes(Scheduler *s, Group *group);         /* adds it to the groups of its queue with waiting
                                                         jobs */

/* ---- figures.c: the first waiting jobs ---- */
void queue_has_more(Scheduler *s, QueueNode *queue, const Job *job); /* `job` was listed */
void queue_has_less(QueueNode *queue, const Job *job);

/* ---- settle.c ---- */
void settled_clear(QueueSettled *settled);

/* ---- reservation.c ---- */
void reservation_free(Reservation *reservation); /* NULL is a no-op */
