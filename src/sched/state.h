/* The parts of a Scheduler; private to sched/.
 *
 *      Cluster ─┬─ Node*      its tasks, its free resources, and what is being freed for nominated jobs
 *               └─ QueueNode tree (queues) ── Group* (queue × gang) ── Shape* (other common properties) ── Job*
 *
 * An Gang is what a gang needs of the nodes (roles, labels, topology). Its tasks belong to Classes (a request
 * and labels), and each class keeps an index of the nodes on which such a task fits. Asks, classes, shapes
 * and sets of labels are interned: 100,000 equal jobs have one of each.
 *
 * Invariants between passes:
 *   - free = total - what tasks use, on every node; alloc of a queue = the sum over its jobs and children;
 *   - releasing = what tasks use that were told to end; planned = what nominated jobs will use; of the free
 *     resources of a node, max(0, planned - releasing) is not available to others;
 *   - a gang that is `closed` fits nowhere: when resources become free, the gangs for which they may suffice
 *     are opened. */
#pragma once

#include <string.h>

#include "sched/mutant.h"
#include "sched/scheduler.h"

enum {
        SCHED_ID_MAX = 1 << 20,
        SCHED_DEPTH_MAX = 16,     /* levels of the tree of queues */
        SCHED_TASKS_MAX = 100000, /* of one job */
        SCHED_ROLES_MAX = 1000,   /* of one job */
        SCHED_WEIGHT_MAX = 65535,
        SCHED_LEVELS_MAX = 8, /* of the topology */
};
/* Limit for the amounts of a cluster, a job, a queue's min: products of two of them and a weight fit 128
 * bits. */
#define SCHED_TIME_MAX ((gint64)1 << 60) /* ms */
#define SCHED_SPAN_MAX ((gint64)1 << 42) /* ms: over a century */
#define SCHED_AMOUNT_MAX (((gint64)1 << 56) - 1)

typedef unsigned __int128 Wide;

typedef struct Node Node;
typedef struct QueueNode QueueNode;
typedef struct Class Class;
typedef struct Gang Gang;
typedef struct Group Group;
typedef struct Shape Shape;
typedef struct Job Job;
typedef struct Sim Sim;

/* ---- sharing equal labels ---- */

typedef struct {
        guint refs;
        char *text;    /* the sorted labels, joined by newlines: the key */
        char **labels; /* sorted, no duplicates; NULL-terminated */
} LabelSet;

/* ---- nodes ---- */

typedef struct {
        Job *job;
        int task;
} NodeTask;

/* When a task ends, by its job's time limit, and what it uses until then. */
typedef struct {
        gint64 time; /* G_MAXINT64: unknown */
        const Resources *each;
} TaskEnd;

/* The same for a job. */
typedef struct {
        gint64 end;
        const Job *job;
} JobEnd;

struct Node {
        int id, cluster;
        bool usable;
        char *name;
        LabelSet *labels;
        Resources total, free;
        Resources planned, releasing;
        int n_planned; /* number of planned tasks */
        guint64 devices;
        gint64 stamp;                  /* marks nodes that a count has visited */
        guint32 version;               /* of free: grows with each change */
        int domains[SCHED_LEVELS_MAX]; /* index in Scheduler.domains, or -1 */
        GArray *tasks;                 /* NodeTask */
        GArray *ends;                  /* TaskEnd: of tasks, ascending, unless ends_stale */
        bool ends_stale;
        const Resources *hold; /* while a reservation is respected: what must stay free */
};

/* The fields that a scan of all nodes reads: half a cache line per node instead of several. */
typedef struct {
        gint64 cpu_milli, memory; /* free */
        gint32 gpus;
        guint32 version;
        int cluster; /* -1: not usable */
} NodeRow;

/* The nodes with one value of one label of the topology. */
typedef struct {
        int level;
        char *label; /* "rack=r1" */
        GPtrArray *nodes;
} Domain;

typedef struct {
        int id;
        int n_nodes, n_usable;
        Resources total, free; /* of usable nodes */
        Resources releasing, planned;
        GPtrArray *active;   /* heap of queues without a parent that take part in a phase */
        GPtrArray *keepers;  /* QueueNode: queues with a reserved amount */
        guint32 version;     /* grows when nodes are added, removed or changed */
        QueueNode *guarding; /* the queue whose head guards its reservation in this pass */
        int guard;           /* the queue whose head guarded its reservation in the last pass; -1: none */
        int wanting;         /* a queue, and the index of its group, that kept all jobs from growing; see
                               grow.c */
        guint wanting_group;
} Cluster;

/* ---- recent usage ---- */

typedef struct {
        gint64 value, at, rate; /* decayed micro-units of share × ms as of `at`, growing by `rate` per ms */
} Usage;

/* A user in a queue. */
typedef struct {
        int queue, user;
        guint refs; /* number of shapes */
        int running;
        Resources alloc;
        Usage usage;
        guint32 seen_pass; /* the pass for which seen_usage is valid */
        gint64 seen_usage;
        bool ranked; /* it is in its queue's ranking; rank: its place there, the same for equal ones */
        guint rank;
} Account;

typedef struct {
        int id;
        guint refs; /* number of shapes */
        int running;
        int queue;   /* of the first shape */
        bool spread; /* its shapes are of more than one queue */
} Array;

/* ---- queues ---- */

typedef struct Reservation Reservation;

/* Records that no job behind the blocked head could start, and the causes; see settle.c. */
typedef struct {
        gint64 head; /* 0: nothing is recorded */
        guint64 listings, charges, reserved, guarded;
        guint32 config, room;
        const QueueNode *guard;
        bool by_reservation, by_guard; /* the cause was the queue's own reservation; the guard's */
        GArray *watches;               /* Watch: groups that lacked nodes */
} Settled;

struct QueueNode {
        int id, cluster, weight, priority, max_running_per_user;
        QueueNode *parent;
        char *name;
        QueueState state;
        QueuePreemption preemption;
        QueueOrder order;
        bool reclaimable, backfill, keeps; /* keeps: an amount is reserved */
        LabelSet *labels;
        Resources min, max, reserved;
        guint32 max_mask, min_mask; /* kinds that are limited; kinds that are guaranteed */
        int n_children;

        Resources alloc, releasing, planned, pending; /* of itself and its children */
        guint64 charges;  /* grows with every change of alloc, releasing, planned */
        guint64 listings; /* grows with every change of its waiting jobs, or of which of them may start */
        Usage usage;
        Usage seen; /* the usage that was seen_usage at seen_now */
        gint64 seen_now, seen_usage;
        int n_jobs, n_pending, n_running; /* of itself and its children */
        int n_flexible;                   /* its own running jobs that may have more than their minimum */
        GPtrArray *groups;                /* Group, those with waiting jobs */
        GArray *turns;                    /* Turn: of those groups, unless turns_stale; see turns.h */
        GArray *behind;     /* Turn: of the groups that are still to be tried behind the head, in
                               behind_pass */
        GPtrArray *noted;   /* Group: those with a record in `guarded` */
        GPtrArray *running; /* Job, of itself; in no order */

        /* the share; valid while share_stale is false */
        guint32 next; /* kinds that it will be asked for next */
        bool share_stale, below;
        gint64 share_num, share_den;

        /* within a pass */
        GPtrArray *active; /* heap of the children that take part in a phase */
        bool is_active, serves;
        bool tops_stale;            /* of all groups */
        bool turns_stale, left_out; /* left_out: hopeless groups are not among turns */
        bool unjudged; /* it is unknown for top_config, top_room whether all groups are hopeless */
        guint32 behind_pass;
        Shape *top; /* see start.c; valid for top_config and top_room unless top_stale */
        bool top_stale;
        guint32 top_config, top_room;
        gint64 head; /* the key of the first blocked job; 0: none */
        Shape *head_shape;
        Reservation *reservation;
        Resources alloc_then; /* what will be used at `then`; valid for then_charges; see backfill.c */
        gint64 then;
        guint64 then_charges;
        guint32 reservation_pass;
        guint32 denied, denied_pass; /* kinds that no job behind the head may take, as of that pass */
        gint64 head_start;           /* of the reservation, for the figures */
        Settled settled;
        GPtrArray *ranking; /* Account: in the order of QUEUE_ORDER_FAIR, all with waiting jobs; start.c */
        bool ranking_stale; /* further accounts have waiting jobs */
        bool heads_stale;
        gint64 heads[SCHED_FIGURE_HEADS];     /* keys of the first waiting jobs, as of the last pass */
        const Job *first[SCHED_FIGURE_HEADS]; /* the current first waiting jobs, unless first_stale; NULL: no
                                                 more */
        bool first_stale;
        GArray *victims; /* as of victims_pass; see victim.c */
        guint32 victims_pass, fair_pass;
        guint next_victim; /* index into victims, while a claim searches for some */
        /* see preempt.c */
        int lowest;
        bool lowest_stale;
        gint64 vain_key, vain_until, vain_slots;
        guint64 vain_changes, vain_charges;
        bool vain_by_max;
        guint32 vain_config, vain_lacking;
        bool spent;         /* it has no victims for a claim */
        GPtrArray *growers; /* Job, while elastic jobs grow */
        GArray *ends;       /* JobEnd: of the jobs in `running`, unless ends_stale; the first ends_sorted of
                               them are ascending */
        guint ends_sorted;
        bool ends_stale;
        guint32 wanted; /* kinds of its max that some job waits for */
};

/* ---- requests of jobs ---- */

typedef struct {
        gint32 score;
        guint32 version;
        int node;
} Candidate;

struct Class {
        guint refs; /* number of gangs */
        int cluster;
        LabelSet *job_labels, *queue_labels;
        Resources each;
        guint32 mask;     /* kinds that it requests */
        GPtrArray *gangs; /* Gang: without references */
        int n_closed;     /* number of closed ones */
        guint64 stir;     /* grows when capacity becomes free where it fits */
        /* the index: see place.c */
        GArray *heap;     /* Candidate; NULL: not built */
        guint32 *seen;    /* by node: the version that the heap contains */
        guint8 *eligible; /* by node: it belongs to the cluster, is usable and carries the labels */
        int n_eligible, n_seen;
        guint64 cursor;
        guint32 built; /* version of the cluster for which the index was built */
        guint64 full;  /* value of Scheduler.versions at which there was no capacity */
        gint64 last_used;
};

/* From `time` on (0: now) a node has capacity for `n` more tasks. */
typedef struct {
        gint64 time;
        Node *node;
        int n;
} FutureSlot;

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
        guint32 mask;
        bool closed;
        Cause cause; /* why it is closed */
        /* whether it could ever fit; valid for `judged` */
        Cause hopeless;
        guint32 judged;
        /* whether some node has capacity for one task of each role; valid for this value of
         * Scheduler.versions */
        guint64 room_version;
        bool has_room;
        /* the kinds that are lacking; valid for lacking_version */
        guint32 lacking;
        guint64 lacking_version;
        /* where and when it will fit, if it has one role; see backfill.c */
        GArray *slots;         /* FutureSlot */
        FutureSlot slots_last; /* the slots up to this one are known, if slots_cut; else all are */
        bool slots_cut;
        GArray *chosen;    /* FutureSlot: the first slots that suffice */
        gint64 slots_time; /* of the last of those; G_MAXINT64: there are not enough */
        guint64 slots_cursor;
        guint32 slots_room, slots_version; /* changes when `chosen` changes */
        /* Beside the holds of this reservation of the guard there is no capacity for a job that takes as long
         * as kept_span, until capacity becomes free where it fits; see backfill.c */
        guint64 kept_by, kept_stir;
        gint64 kept_span;
};

/* Jobs with at least this time limit were found to delay the head of the queue; see backfill.c. */
typedef struct {
        guint32 pass;
        bool alone; /* its own queue's head is a sufficient cause, independent of free capacity */
        gint64 span;
        guint64 stir, own, guard, charges;
} Guarded;

/* The jobs of one queue with the same request. */
struct Group {
        guint refs; /* number of shapes */
        QueueNode *queue;
        Gang *gang;
        GPtrArray *shapes; /* those with waiting jobs */
        int index;         /* in queue->groups; -1: not in it */
        guint turn;        /* in queue->turns, from 1 on; 0: not in it */
        bool noted;        /* it is in queue->noted */
        Shape *top;        /* the shape whose first job is first, of those that may start */
        bool top_stale;
        Shape *behind; /* the same for those behind a blocked head; valid for behind_pass */
        guint32 behind_pass;
        guint32 over_pass; /* in that pass a queue's max blocks all its jobs behind the head */
        gint64 shortest;   /* the smallest span of its shapes, unless top_stale */
        gint64 kept;       /* key of a head: behind it the guard keeps all jobs of at least kept_span from
                              starting: */
        gint64 kept_span;
        gint64 barren;  /* key of a head: behind it all jobs of the group would delay a head */
        Cause hopeless; /* a queue's max always blocks it; valid for judged */
        guint32 judged;
        Guarded guarded[2]; /* by the global guard alone; behind a head */
        Cause cause;        /* as of the last attempt, and the queue whose limit it was */
        int cause_queue;
};

/* Jobs that differ only in age. */
struct Shape {
        guint refs; /* number of jobs */
        Group *group;
        Account *account;
        Array *array; /* or NULL */
        int user, priority, array_max;
        gint64 time_limit, grace;
        bool preemptable;
        GSequence *jobs;                   /* those that wait, by age */
        Job *first;                        /* of these */
        gint64 first_submitted, first_key; /* the fields of the first job that are read most */
        guint32 failed_pass;               /* the pass in which it was tried */
        int index;                         /* in group->shapes; -1: not in it */
        Cause cause;
};

/* ---- jobs ---- */

typedef enum { PLACE_NOWHERE, PLACE_LISTED, PLACE_TIMER, PLACE_NOMINATED } JobPlace;

/* Data of a job that is placed on nodes. */
typedef struct {
        gint64 started, saved;
        SchedTask *tasks;   /* by replica */
        SchedTask *going;   /* by replica: tasks that were shrunk away and still use resources; or NULL */
        guint index;        /* in queue->running */
        int elastic;        /* index in Scheduler.elastic; -1: not in it */
        guint32 start_pass; /* the pass that started it, and the index of that decision */
        guint start_decision;
        bool marked;  /* to be evicted, in a simulation */
        int n_marked; /* number of its tasks to be shrunk away, in a simulation */
} Run;

/* Data about a job that was evicted or shrunk. */
typedef struct {
        bool victim; /* it has not started again since */
        gint64 safe_until;
        gint64 evictor;
} Past;

struct Job {
        gint64 key, submitted, not_before;
        Shape *shape;
        GSequenceIter *iter; /* in shape->jobs or Scheduler.timers, depending on `place` */
        Run *run;
        Past *past;
        guint8 state, place;
        bool held;
};

/* Capacity that is being freed for a job. */
typedef struct {
        gint64 key, until;
        SchedTask *tasks; /* by replica: the future places */
        GArray *victims;  /* gint64: keys of the victims that have not left yet */
} Nomination;

/* ---- the whole ---- */

struct Scheduler {
        gint64 nominated_ms, cooldown_ms, half_life_ms;
        char **topology; /* label keys; never NULL */
        int n_levels;
        gint64 now;
        guint32 pass;
        gint64 uses;
        guint64 reservations; /* number so far */
        bool again;           /* the next pass may decide something even if nothing else happens */
        int searches;         /* number of searches for reservations in this pass */
        guint64 versions;     /* grows with every change of the free resources of any node */

        GPtrArray *clusters;      /* Cluster, by id */
        GPtrArray *nodes;         /* by id; NULL: unused */
        GPtrArray *queues;        /* by id; NULL: unused */
        GPtrArray *domains;       /* Domain */
        GHashTable *domain_index; /* "rack=r1" -> index + 1 */
        GHashTable *jobs;         /* &key -> Job */
        GHashTable *label_sets, *classes, *gangs, *groups, *shapes, *accounts,
                *arrays;                         /* sets, by contents */
        GSequence *timers;                       /* Job: those that wait for their not_before */
        GPtrArray *nominations;                  /* oldest first */
        GPtrArray *elastic;                      /* Job: running below their full size; in no order */
        int elastic_without[RESOURCE_KINDS_MAX]; /* number of these with tasks that do not use that kind */
        guint32 config_version;                  /* grows when a queue is added, removed or changed */

        GArray *rows;    /* NodeRow: of nodes */
        GArray *changes; /* int: nodes whose free changed, for the indices */
        guint64 changes_base;
        GPtrArray *sims; /* Sim */
#ifdef SCHED_MUTANTS
        Mutant mutant;
#endif
};

/* ---- amounts: sums over waiting jobs may wrap around, and back; all others are limited at input ---- */

static inline void amounts_add(Resources *sum, const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                sum->amount[i] = (gint64)((guint64)sum->amount[i] + (guint64)r->amount[i]);
}

static inline void amounts_subtract(Resources *sum, const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                sum->amount[i] = (gint64)((guint64)sum->amount[i] - (guint64)r->amount[i]);
}

static inline void amounts_add_times(Resources *sum, const Resources *r, gint64 n)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                sum->amount[i] = (gint64)((guint64)sum->amount[i] + (guint64)r->amount[i] * (guint64)n);
}

static inline guint32 amounts_mask(const Resources *r)
{
        guint32 mask = 0;

        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                mask |= (guint32)(r->amount[i] > 0) << i;
        return mask;
}

/* For each kind of a mask. */
#define FOR_KINDS(kind, mask)                                                                                \
        for (guint32 kind##_left = (mask), kind;                                                             \
             kind##_left && (kind = (guint32)__builtin_ctz(kind##_left), true);                              \
             kind##_left &= kind##_left - 1)

/* ---- intern.c ---- */
LabelSet *labels_intern(Scheduler *s, const char *const *labels);
LabelSet *labels_ref(LabelSet *set);
void labels_unref(Scheduler *s, LabelSet *set);
bool labels_carry(const LabelSet *have, const LabelSet *want);
Shape *shape_intern(Scheduler *s, const SchedJob *job); /* a new reference */
void shape_unref(Scheduler *s, Shape *shape);
Account *account_get(Scheduler *s, int queue, int user); /* created if missing; borrowed */
const Account *account_find(const Scheduler *s, int queue, int user);
void intern_init(Scheduler *s);
void intern_clear(Scheduler *s);
static inline QueueNode *shape_queue(const Shape *shape)
{
        return shape->group->queue;
}
static inline Gang *shape_gang(const Shape *shape)
{
        return shape->group->gang;
}
static inline gint64 shape_span(const Shape *shape) /* how long its jobs take */
{
        return shape->time_limit > 0 ? shape->time_limit : G_MAXINT64;
}
static inline Gang *job_gang(const Job *job)
{
        return job->shape->group->gang;
}
static inline bool gang_is_flexible(const Gang *gang) /* a job may have more than its minimum */
{
        return gang->n_tasks > gang->n_need;
}
static inline QueueNode *job_queue(const Job *job)
{
        return job->shape->group->queue;
}

/* ---- scheduler.c ---- */
Cluster *cluster_get(Scheduler *s, int id); /* created if missing */
Cluster *cluster_find(const Scheduler *s, int id);
static inline Node *node_find(const Scheduler *s, int id)
{
        return id >= 0 && (guint)id < s->nodes->len ? s->nodes->pdata[id] : NULL;
}
static inline QueueNode *queue_find(const Scheduler *s, int id)
{
        return id >= 0 && (guint)id < s->queues->len ? s->queues->pdata[id] : NULL;
}
Job *job_find(const Scheduler *s, gint64 key);
bool job_can_hold(const Node *node, const Resources *each); /* the sums stay within their limits */
bool job_view(const Job *job, SchedJob *ret);               /* always true */
GPtrArray *accounts_sorted(const Scheduler *s);

/* ---- job.c: the place of a job ---- */
int job_compare_age(gconstpointer a, gconstpointer b, gpointer unused);
void job_list(Scheduler *s, Job *job);     /* adds it to the waiting jobs or the timers; to neither if it is
                                              held */
void job_unlist(Scheduler *s, Job *job);   /* removes it from there */
void job_nominate(Scheduler *s, Job *job); /* removes it from there; it still waits */
/* It runs on these nodes since `started`: charges its resources. */
void job_hold(Scheduler *s, Job *job, const SchedTask *tasks, gint64 started);
void job_release(Scheduler *s, Job *job); /* the reverse; frees job->run */
void job_start(Scheduler *s, Job *job,
               const SchedTask *tasks); /* pending to running; the nodes were already charged */
void job_place_task(Scheduler *s, Job *job, int task, SchedTask at); /* of a running job; the node was already
                                                                        charged */
void job_releasing(Scheduler *s, Job *job, int sign); /* all its tasks were told to end (1), or not any more
                                                         (-1) */
void job_task_releasing(Scheduler *s, Job *job, int task, int sign);
void job_let_task_go(Scheduler *s, Job *job, int task); /* moves it from tasks to going; it is already
                                                           releasing */
void job_release_going(Scheduler *s, Job *job);
void job_remark_elastic(Scheduler *s, Job *job);
Past *job_past(Job *job);
gint64 task_end(const NodeTask *at); /* when it will have ended: as job_end, and 0 if it was shrunk away */
gint64 job_end(const Job *job);      /* by its time limit; 0: at any moment, G_MAXINT64: unknown */
bool job_is_safe(const Scheduler *s, const Job *job);
int gang_role_of(const Gang *gang, int task);

/* ---- queue-share.c ---- */
typedef enum { NOW, LATER } When;                /* LATER: after all releases and all planned starts */
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
int queue_compare(const Scheduler *s, QueueNode *a, QueueNode *b); /* siblings: which is served first */
void queue_share(const Scheduler *s, QueueNode *queue); /* updates share_num, share_den and below */
void queue_charge(QueueNode *queue, const Resources *r, int sign); /* adds to alloc, up to the root */
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

/* ---- usage.c ---- */
gint64 usage_at(const Scheduler *s, const Usage *usage, gint64 now);
void usage_set_rate(const Scheduler *s, Usage *usage, gint64 rate, gint64 now);
void account_changed(Scheduler *s, Account *account); /* its alloc has changed: updates the rates */

/* ---- nodes.c: free resources of nodes, and the index of them by class ---- */
void node_changed(Scheduler *s, Node *node);       /* its free resources have changed */
void node_changed_later(Scheduler *s, Node *node); /* only planned or releasing have changed */
void node_take(Scheduler *s, Node *node, const Resources *each, guint64 devices);
void node_give(Scheduler *s, Node *node, const Resources *each, guint64 devices);
void node_plan(Scheduler *s, Node *node, const Resources *each, int sign); /* promised to a nominated job */
void node_roomier(Node *node);              /* later: jobs that run there may again help as victims */
void node_opened(Scheduler *s, Node *node); /* resources may have become free: opens gangs */
guint64 gang_stir(const Gang *gang);        /* changes when resources became free where a task of it fits */
void gang_close(Gang *gang, Cause cause);
void gang_open(Gang *gang);
guint64 node_pick_devices(const Scheduler *s, const Node *node, gint64 n);
bool node_fits(const Node *node,
               const Class *class); /* one task, now, beside the planned and reserved amounts */
gint32 node_score(const Node *node, const Class *class, const Resources *room);
gint64 room_slots(const Resources *room, const Class *class, gint64 most); /* number of tasks that fit */
void class_sync(Scheduler *s, Class *class);
bool class_has_room(Scheduler *s, Class *class); /* now, on some node */
Node *class_best(Scheduler *s, Class *class);    /* the best node on which a task fits; NULL: none */
void class_clear_index(Class *class);
static inline Resources node_room(const Node *node) /* free and not planned for others */
{
        Resources room = node->free;

        for (int i = 0; node->n_planned > 0 && i < RESOURCE_KINDS_MAX; i++)
                room.amount[i] -= MAX(0, node->planned.amount[i] - node->releasing.amount[i]);
        return room;
}
static inline Resources node_later(const Node *node) /* free after all releases and planned starts */
{
        Resources room = node->free;

        amounts_add(&room, &node->releasing);
        amounts_subtract(&room, &node->planned);
        return room;
}

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
bool queue_never(const QueueNode *queue, const Gang *gang, int *ret_kind,
                 int *ret_queue);               /* the kind and the queue
                                                                                      with that max */
guint32 gang_lacking(Scheduler *s, Gang *gang); /* kinds; all that it requests if capacity is fragmented */

/* ---- nominate.c ---- */
void nomination_free(Nomination *nomination);
Nomination *nomination_find(const Scheduler *s, gint64 key);
void nomination_add(Scheduler *s, Nomination *nomination); /* plans its places; its job is no longer listed */
void nomination_plan(Scheduler *s, const Nomination *nomination, int sign);
void nomination_end(Scheduler *s, Nomination *nomination);  /* all planned places are used: its job is listed
                                                               again */
void nomination_drop(Scheduler *s, Nomination *nomination); /* the same, and undoes the plan */
void nominations_leave_node(Scheduler *s, int node);
void nominations_job_changes(Scheduler *s, Job *job, const SchedJob *put); /* put NULL: it is dropped */

/* ---- sim.c ---- */
void sim_free(Sim *sim);
void sim_forget(Scheduler *s, const Gang *gang); /* the gang is about to be freed */

/* ---- settle.c ---- */
void settled_clear(Settled *settled);

/* ---- backfill.c ---- */
void reservation_free(Reservation *reservation);
