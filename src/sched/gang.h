/* What the jobs of one request need at once, and where that fits; private to sched/. */
#pragma once

#include "sched/capacity.h"

/* ---- kinds of tasks ---- */

/* A node for a task, with the version of the node for which the score was worked out. */
typedef struct {
        guint64 rank; /* the score, then the lower id: the larger one comes first */
        guint32 version;
        int node;
} Candidate;

/* Tasks of one request and one set of labels, with an index of the nodes on which such a task fits: nodes.c. */
struct Class {
        guint refs; /* number of gangs */
        int cluster;
        LabelSet *job_labels, *queue_labels;
        Resources each;
        guint32 mask;     /* kinds that it requests */
        GPtrArray *gangs; /* Gang: without references */
        int n_closed;     /* number of closed ones */
        guint64 stir;     /* grows when capacity becomes free where it fits */
        struct {
                GArray *heap;     /* Candidate; NULL: not built */
                guint32 *seen;    /* by node: the version that the heap contains */
                guint8 *eligible; /* by node: it belongs to the cluster, is usable and carries the labels */
                int n_eligible;
                guint64 cursor; /* in the log of changes */
                Memo built;     /* of eligible and the size; key: version of the cluster */
                gint64 last_used;
        } index;
        Memo full; /* no node has capacity; key: Scheduler.versions */
};

void class_sync(Scheduler *s, Class *class);
bool class_has_capacity(Scheduler *s, Class *class); /* now, on some node */
Node *class_best(Scheduler *s, Class *class);        /* the best node on which a task fits; NULL: none */
void class_clear_index(Class *class);
/* By node: whether the class may use it. Works it out if the index was given up for another class, which happens to a
 * class that was synced when many others were synced since. */
const guint8 *class_eligible(Scheduler *s, Class *class);
/* True if one task fits now, beside the planned and reserved amounts. */
bool node_fits(const Node *node, const Class *class);
gint32 node_score(const Node *node, const Class *class, const Resources *available);
gint64 free_slots(const Resources *available, const Class *class, gint64 most); /* number of tasks that fit */

/* ---- gangs ---- */

/* From `time` on (0: now) a node has capacity for `n` more tasks. */
typedef struct {
        gint64 time;
        Node *node;
        int n;
        int id; /* of the node */
} FutureSlot;

/* Where and when a gang of one role will fit: future.c. */
typedef struct {
        GArray *slots;   /* FutureSlot; NULL: not worked out yet */
        FutureSlot last; /* the slots up to this one are known, if `cut`; else all are */
        bool cut;
        GArray *chosen;  /* FutureSlot: the first slots that suffice */
        gint64 time;     /* of the last of those; G_MAXINT64: there are not enough */
        guint64 cursor;  /* in the log of changes */
        Memo memo;       /* key: version of the cluster */
        guint32 version; /* changes when `chosen` changes */
} Future;

/* All jobs with the same roles, labels and topology share one. */
struct Gang {
        guint refs; /* number of groups */
        int cluster;
        LabelSet *job_labels, *queue_labels;
        int topology;
        bool topology_required;
        int n_roles, n_tasks, n_need;
        SchedRole *roles;
        int *need;       /* by role: tasks of the gang */
        int *first;      /* by role: index of its first task */
        int *order;      /* roles, largest request first */
        Class **classes; /* by role */
        Resources need_total, full_total;
        guint32 mask, full_mask; /* kinds of need_total; of full_total */
        bool closed;
        Cause cause;        /* why it is closed */
        Cause hopeless;     /* why it can never fit; CAUSE_NONE: it may */
        Memo judged;        /* of hopeless; key: version of the cluster */
        bool has_capacity;  /* some node has capacity for one task of each role */
        Memo capacity_memo; /* key: Scheduler.versions */
        guint32 lacking;    /* kinds */
        Memo lacking_memo;  /* key: Scheduler.versions */
        Future future;
        /* Beside the holds of a guard there is no capacity for a job that takes as long as `span`, until capacity
         * becomes free where it fits: backfill.c. */
        struct {
                Memo memo; /* key: version of the guard's reservation */
                guint64 stir;
                gint64 span;
        } guarded;
};

int gang_role_of(const Gang *gang, int task);
static inline bool gang_is_flexible(const Gang *gang) /* a job may have more than its minimum */
{
        return gang->n_tasks > gang->n_need;
}
guint64 gang_stir(const Gang *gang); /* changes when resources became free where a task of it fits */
void gang_close(Gang *gang, Cause cause);
void gang_open(Gang *gang);

/* ---- place.c: gangs on nodes ---- */
typedef struct {
        int role, node;
        guint64 devices;
} Placement;

/* The places of the tasks of one gang; undone in reverse order. */
typedef struct {
        GArray *placed; /* Placement */
        gint64 discards;
} Plan;

void plan_init(Plan *plan);
void plan_clear(Plan *plan);
void plan_undo(Scheduler *s, Plan *plan, const Gang *gang);
/* Places the gang, whole or not at all. False: *ret_cause is the reason. */
bool plan_gang(Scheduler *s, Plan *plan, Gang *gang, Cause *ret_cause);
/* The best node for a task of the class within `domain` (NULL: anywhere); NULL: none. */
Node *place_best(Scheduler *s, Class *class, const Domain *domain);
void plan_tasks(const Plan *plan, const Gang *gang, SchedTask *ret); /* by replica */

/* ---- lacking.c: resources that do not suffice ---- */
Cause gang_hopeless(Scheduler *s, Gang *gang);    /* CAUSE_NONE: it may fit at some time */
Cause group_hopeless(Scheduler *s, Group *group); /* also if a queue's max always blocks it */
/* True if a queue's max always blocks it: the kind, and the queue with that max. */
bool queue_never(const QueueNode *queue, const Gang *gang, int *ret_kind, int *ret_queue);
guint32 gang_lacking(Scheduler *s, Gang *gang); /* kinds; all that it requests if capacity is fragmented */

/* ---- sim.c ---- */
typedef struct Sim Sim;

void sim_free(Sim *sim);
void sim_forget(Scheduler *s, const Gang *gang); /* the gang is about to be freed */
