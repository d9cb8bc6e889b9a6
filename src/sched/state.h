/* What a Scheduler is made of; private to sched/.
 *
 *      Cluster ─┬─ Node*      what stands there, what is free, what is being made free for whom
 *               └─ Lane tree (queues) ── Group* (queue × ask) ── Shape* (what else jobs have in common) ── Job*
 *
 * An Ask is what a gang needs of the room (roles, labels, topology); its tasks are of Classes (a request and
 * labels), and each class keeps an index of the nodes on which such a task fits. Asks, classes, shapes and
 * sets of labels are interned: 100,000 alike jobs have one of each.
 *
 * What holds between passes:
 *   - free = total - what tasks hold, on every node; alloc of a queue = the sum over its jobs and children;
 *   - releasing = what tasks hold that have been told to end, planned = what nominated jobs will take; of
 * what is free on a node, max(0, planned - releasing) is not for others;
 *   - an ask that is `closed` fits nowhere: room that gets free opens the asks it may be enough for. */
#pragma once

#include <string.h>

#include "sched/mutant.h"
#include "sched/scheduler.h"

enum {
        SCHED_ID_MAX = 1 << 20,
        SCHED_DEPTH_MAX = 16,     /* queues above one another */
        SCHED_TASKS_MAX = 100000, /* of one job */
        SCHED_ROLES_MAX = 1000,   /* of one job */
        SCHED_WEIGHT_MAX = 65535,
        SCHED_LEVELS_MAX = 8, /* of the topology */
};
/* Of a cluster, a job, a queue's min: products of two and a weight fit 128 bits. */
#define SCHED_TIME_MAX ((gint64)1 << 60) /* ms */
#define SCHED_SPAN_MAX ((gint64)1 << 42) /* ms: over a century */
#define SCHED_AMOUNT_MAX (((gint64)1 << 56) - 1)

typedef unsigned __int128 Wide;

typedef struct Node Node;
typedef struct Lane Lane;
typedef struct Class Class;
typedef struct Ask Ask;
typedef struct Group Group;
typedef struct Shape Shape;
typedef struct Job Job;
typedef struct Sim Sim;

/* ---- names that are alike ---- */

typedef struct {
        guint refs;
        char *text;    /* the sorted labels, joined by newlines: the key */
        char **labels; /* sorted, no duplicates; NULL-terminated */
} LabelSet;

/* ---- the room ---- */

typedef struct {
        Job *job;
        int task;
} NodeTask;

/* When a task will have ended, by its job's time limit, and what it holds until then. */
typedef struct {
        gint64 time; /* G_MAXINT64: not known */
        const Resources *each;
} TaskEnd;

/* The same of a job. */
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
        int n_planned; /* tasks that are */
        guint64 devices;
        gint64 stamp;                  /* seen in a count */
        guint32 version;               /* of free: grows with each change */
        int domains[SCHED_LEVELS_MAX]; /* index in Scheduler.domains, or -1 */
        GArray *tasks;                 /* NodeTask */
        GArray *ends;                  /* TaskEnd: of tasks, ascending, unless ends_stale */
        bool ends_stale;
        const Resources *hold; /* while a reservation is respected: what has to stay free */
};

/* What a look at all nodes reads of each: half a cache line instead of several. */
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
        GPtrArray *active;  /* heap of queues without a parent that take part in a phase */
        GPtrArray *keepers; /* Lane: with something reserved */
        guint32 version;    /* grows when nodes come, go or change */
        Lane *guarding;     /* whose head guards its reservation, in this pass */
        int guard;          /* the queue whose head guarded its reservation in the last pass; -1: none */
        int wanting;        /* a queue, and the index of its group, that kept all from growing; see grow.c */
        guint wanting_group;
} Cluster;

/* ---- what has been used of late ---- */

typedef struct {
        gint64 value, at, rate; /* decayed micro-units of share × ms as of `at`, and growing by `rate` a ms */
} Usage;

/* A user in a queue. */
typedef struct {
        int queue, user;
        guint refs; /* of shapes */
        int running;
        Resources alloc;
        Usage usage;
        guint32 seen_pass; /* seen_usage is of that pass */
        gint64 seen_usage;
        bool ranked; /* it is in its queue's ranking; there its place, the same for those that are equal */
        guint rank;
} Account;

typedef struct {
        int id;
        guint refs; /* of shapes */
        int running;
        int queue;   /* of the first of them */
        bool spread; /* they are of more than one queue */
} Array;

/* ---- queues ---- */

typedef struct Reservation Reservation;

/* That behind the blocked head nothing could start, and what that was due to; see settle.c. */
typedef struct {
        gint64 head; /* 0: nothing is known */
        guint64 listings, charges, reserved, guarded;
        guint32 config, room;
        const Lane *guard;
        bool by_reservation, by_guard; /* it was due to the queue's own, the guard's */
        GArray *watches;               /* Watch: groups for which it was a matter of nodes */
} Settled;

struct Lane {
        int id, cluster, weight, priority, max_running_per_user;
        Lane *parent;
        char *name;
        QueueState state;
        QueuePreemption preemption;
        QueueOrder order;
        bool reclaimable, backfill, keeps; /* keeps: something is reserved */
        LabelSet *labels;
        Resources min, max, reserved;
        guint32 max_mask, min_mask; /* kinds that are limited; kinds that are guaranteed */
        int n_children;

        Resources alloc, releasing, planned, pending; /* of itself and its children */
        guint64 charges;  /* grows with every change of alloc, releasing, planned */
        guint64 listings; /* grows with every change of what waits in it, or of who of it may start */
        Usage usage;
        Usage seen; /* of it, that was seen_usage at seen_now */
        gint64 seen_now, seen_usage;
        int n_jobs, n_pending, n_running; /* of itself and its children */
        int n_flexible;                   /* running jobs of itself that may have more than their minimum */
        GPtrArray *groups;                /* Group, those with jobs that wait */
        GArray *turns;                    /* Turn: of those groups, unless turns_stale; see turns.h */
        GArray *behind;     /* Turn: of those left to be tried behind the head, in behind_pass */
        GPtrArray *noted;   /* Group: of which something is kept in `guarded` */
        GPtrArray *running; /* Job, of itself; in no order */

        /* the share, as of share_stale == false */
        guint32 next; /* kinds that it will be asked for next */
        bool share_stale, below;
        gint64 share_num, share_den;

        /* within a pass */
        GPtrArray *active; /* heap of children that take part in a phase */
        bool is_active, serves;
        bool tops_stale;            /* of all groups */
        bool turns_stale, left_out; /* left_out: groups that were hopeless are not among turns */
        bool unjudged; /* whether all groups are hopeless is not known as of top_config, top_room */
        guint32 behind_pass;
        Shape *top; /* see start.c; known for top_config and top_room unless top_stale */
        bool top_stale;
        guint32 top_config, top_room;
        gint64 head; /* the key of the first that is blocked; 0: none */
        Shape *head_shape;
        Reservation *reservation;
        Resources alloc_then; /* what will be used at `then`, as of then_charges; see backfill.c */
        gint64 then;
        guint64 then_charges;
        guint32 reservation_pass;
        guint32 denied, denied_pass; /* kinds that nobody behind the head may take, as of that pass */
        gint64 head_start;           /* of the reservation, for the figures */
        Settled settled;
        GPtrArray *
                ranking; /* Account: in the order of QUEUE_ORDER_FAIR, all that somebody waits for; start.c */
        bool ranking_stale; /* somebody else waits, too */
        bool heads_stale;
        gint64 heads[SCHED_FIGURE_HEADS];     /* keys of the first that wait, as of the last pass */
        const Job *first[SCHED_FIGURE_HEADS]; /* the same as of now, unless first_stale; NULL: no more */
        bool first_stale;
        GArray *victims; /* as of victims_pass; see victim.c */
        guint32 victims_pass, fair_pass;
        guint next_victim; /* of those, while a claim looks for some */
        /* see preempt.c */
        int lowest;
        bool lowest_stale;
        gint64 vain_key, vain_until, vain_slots;
        guint64 vain_changes, vain_charges;
        bool vain_by_max;
        guint32 vain_config, vain_lacking;
        bool spent;         /* has none to give to a claim */
        GPtrArray *growers; /* Job, while elastic jobs grow */
        GArray *ends;       /* JobEnd: of those, unless ends_stale; the first ends_sorted of them ascending */
        guint ends_sorted;
        bool ends_stale;
        guint32 wanted; /* kinds of its max that somebody waits for */
};

/* ---- what jobs ask for ---- */

typedef struct {
        gint32 score;
        guint32 version;
        int node;
} Candidate;

struct Class {
        guint refs; /* of asks */
        int cluster;
        LabelSet *job_labels, *queue_labels;
        Resources each;
        guint32 mask;    /* kinds it asks for */
        GPtrArray *asks; /* Ask: not counted */
        int n_closed;    /* of them */
        guint64 stir;    /* grows when room gets free where it fits */
        /* the index: see place.c */
        GArray *heap;     /* Candidate; NULL: not built */
        guint32 *seen;    /* by node: the version that the heap knows */
        guint8 *eligible; /* by node: it is of the cluster, usable and carries the labels */
        int n_eligible, n_seen;
        guint64 cursor;
        guint32 built; /* the cluster's version that the index is of */
        guint64 full;  /* of Scheduler.versions: then there was no room */
        gint64 last_used;
};

/* From `time` on (0: now) a node holds `n` tasks more. */
typedef struct {
        gint64 time;
        Node *node;
        int n;
} Opening;

struct Ask {
        guint refs; /* of groups */
        int cluster;
        LabelSet *job_labels, *queue_labels;
        int topology;
        bool topology_required;
        int n_roles, n_tasks, n_need;
        SchedRole *roles;
        int *need;       /* by role: the gang */
        int *first;      /* by role: index of its first task */
        int *order;      /* roles, largest request first */
        Class **classes; /* by role */
        Resources need_total, full_total;
        guint32 mask;
        bool closed;
        Cause cause; /* of being closed */
        /* whether it could ever fit; as of `judged` */
        Cause hopeless;
        guint32 judged;
        /* whether there is room for one task of each role, somewhere; as of Scheduler.versions */
        guint64 room_version;
        bool has_room;
        /* which kinds are lacking; as of lacking_version */
        guint32 lacking;
        guint64 lacking_version;
        /* where and when it will fit, when it is of one role; see backfill.c */
        GArray *openings;      /* Opening */
        Opening openings_last; /* those up to it are known, when openings_cut; else all */
        bool openings_cut;
        GArray *chosen;       /* Opening: the first of them, as many as it needs */
        gint64 openings_time; /* of the last of those; G_MAXINT64: there are not enough */
        guint64 openings_cursor;
        guint32 openings_room, openings_version; /* another one when `chosen` changes */
        /* beside what this reservation of the guard holds there is no room for one that takes as long as
         * kept_span, until room becomes free where it fits; see backfill.c */
        guint64 kept_by, kept_stir;
        gint64 kept_span;
};

/* That jobs of so long a time limit would delay a head; see backfill.c. */
typedef struct {
        guint32 pass;
        bool alone; /* its own queue's head is reason enough, whatever becomes of the room */
        gint64 span;
        guint64 stir, own, guard, charges;
} Guarded;

/* The jobs of one queue that ask for the same. */
struct Group {
        guint refs; /* of shapes */
        Lane *queue;
        Ask *ask;
        GPtrArray *shapes; /* with jobs that wait */
        int index;         /* in queue->groups, -1: not there */
        guint turn;        /* in queue->turns, from 1 on; 0: not there */
        bool noted;        /* it is in queue->noted */
        Shape *top;        /* the one whose first job comes first, of those that may start */
        bool top_stale;
        Shape *behind; /* the same of those behind a blocked head, as of behind_pass */
        guint32 behind_pass;
        guint32 over_pass; /* in that pass a queue's max is in the way of whoever comes behind the head */
        gint64 shortest;   /* the least span of its shapes, unless top_stale */
        gint64 kept;       /* behind this head the guard keeps all of such a span from starting: */
        gint64 kept_span;
        gint64 barren;  /* behind this head there is nothing in the group that would not delay a head */
        Cause hopeless; /* as of judged: a queue's max is in the way for ever */
        guint32 judged;
        Guarded guarded[2]; /* by the global guard alone; behind a head */
        Cause cause;        /* as of the last time that it was looked at, and the queue whose limit it was */
        int cause_queue;
};

/* Jobs that differ only in age. */
struct Shape {
        guint refs; /* of jobs */
        Group *group;
        Account *account;
        Array *array; /* or NULL */
        int user, priority, array_max;
        gint64 time_limit, grace;
        bool preemptable;
        GSequence *jobs;                   /* those that wait, by age */
        Job *first;                        /* of them */
        gint64 first_submitted, first_key; /* what is read most of it */
        guint32 failed_pass;               /* it was tried in that pass */
        int index;                         /* in group->shapes, -1: not there */
        Cause cause;
};

/* ---- jobs ---- */

typedef enum { PLACE_NOWHERE, PLACE_LISTED, PLACE_TIMER, PLACE_NOMINATED } JobPlace;

/* What a job has that stands on nodes. */
typedef struct {
        gint64 started, saved;
        SchedTask *tasks;   /* by replica */
        SchedTask *going;   /* by replica: what was shrunk away and still holds; or NULL */
        guint index;        /* in queue->running */
        int elastic;        /* index in Scheduler.elastic, -1: not there */
        guint32 start_pass; /* the pass that started it, and its decision there */
        guint start_decision;
        bool marked;  /* is to be evicted, in a simulation */
        int n_marked; /* tasks of it that are to be shrunk away, in a simulation */
} Run;

/* What is remembered of a job that had to go. */
typedef struct {
        bool victim; /* it went, and has not started again */
        gint64 safe_until;
        gint64 evictor;
} Past;

struct Job {
        gint64 key, submitted, not_before;
        Shape *shape;
        GSequenceIter *iter; /* in shape->jobs or Scheduler.timers, as `place` says */
        Run *run;
        Past *past;
        guint8 state, place;
        bool held;
};

/* Room that is being made. */
typedef struct {
        gint64 key, until;
        SchedTask *tasks; /* by replica: where it is to stand */
        GArray *victims;  /* gint64: keys of those that still have to go */
} Nomination;

/* ---- the whole ---- */

struct Scheduler {
        gint64 nominated_ms, cooldown_ms, half_life_ms;
        char **topology; /* label keys; never NULL */
        int n_levels;
        gint64 now;
        guint32 pass;
        gint64 uses;
        guint64 reservations; /* so far */
        bool again;       /* the next pass may do what this one did not, without anything else happening */
        int searches;     /* for reservations, in this pass */
        guint64 versions; /* grows with every change of what is free anywhere */

        GPtrArray *clusters;      /* Cluster, by id */
        GPtrArray *nodes;         /* by id, NULL where there is none */
        GPtrArray *queues;        /* by id, NULL where there is none */
        GPtrArray *domains;       /* Domain */
        GHashTable *domain_index; /* "rack=r1" -> index + 1 */
        GHashTable *jobs;         /* &key -> Job */
        GHashTable *label_sets, *classes, *asks, *groups, *shapes, *accounts, *arrays; /* sets, by contents */
        GSequence *timers;                       /* Job that wait for their not_before */
        GPtrArray *nominations;                  /* oldest first */
        GPtrArray *elastic;                      /* Job: running, below their full size; in no order */
        int elastic_without[RESOURCE_KINDS_MAX]; /* of those: with tasks that do not take that kind */
        guint32 config_version;                  /* of queues: grows when one comes, goes or changes */

        GArray *rows;    /* NodeRow: of nodes */
        GArray *changes; /* int: nodes whose free changed, for the indices */
        guint64 changes_base;
        GPtrArray *sims; /* Sim */
#ifdef SCHED_MUTANTS
        Mutant mutant;
#endif
};

/* ---- amounts: sums of what waits may wrap around, and back; all others are bounded when they come in ----
 */

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
Account *account_get(Scheduler *s, int queue, int user); /* made when there is none; borrowed */
const Account *account_find(const Scheduler *s, int queue, int user);
void intern_init(Scheduler *s);
void intern_clear(Scheduler *s);
static inline Lane *shape_queue(const Shape *shape)
{
        return shape->group->queue;
}
static inline Ask *shape_ask(const Shape *shape)
{
        return shape->group->ask;
}
static inline gint64 shape_span(const Shape *shape) /* its jobs take as long */
{
        return shape->time_limit > 0 ? shape->time_limit : G_MAXINT64;
}
static inline Ask *job_ask(const Job *job)
{
        return job->shape->group->ask;
}
static inline bool ask_is_flexible(const Ask *ask) /* a job may have more than its minimum */
{
        return ask->n_tasks > ask->n_need;
}
static inline Lane *job_queue(const Job *job)
{
        return job->shape->group->queue;
}

/* ---- scheduler.c ---- */
Cluster *cluster_get(Scheduler *s, int id); /* made when there is none */
Cluster *cluster_find(const Scheduler *s, int id);
static inline Node *node_find(const Scheduler *s, int id)
{
        return id >= 0 && (guint)id < s->nodes->len ? s->nodes->pdata[id] : NULL;
}
static inline Lane *lane_find(const Scheduler *s, int id)
{
        return id >= 0 && (guint)id < s->queues->len ? s->queues->pdata[id] : NULL;
}
Job *job_find(const Scheduler *s, gint64 key);
bool job_can_hold(const Node *node, const Resources *each); /* sums stay in bounds */
bool job_view(const Job *job, SchedJob *ret);               /* always true */
GPtrArray *accounts_sorted(const Scheduler *s);

/* ---- job.c: where a job stands ---- */
int job_compare_age(gconstpointer a, gconstpointer b, gpointer unused);
void job_list(Scheduler *s, Job *job);     /* among those that wait, or the timers; nowhere when held */
void job_unlist(Scheduler *s, Job *job);   /* out of there */
void job_nominate(Scheduler *s, Job *job); /* out of there, still waiting */
/* It runs on them since `started`: charges what they hold. */
void job_hold(Scheduler *s, Job *job, const SchedTask *tasks, gint64 started);
void job_release(Scheduler *s, Job *job); /* and back; frees job->run */
void job_start(Scheduler *s, Job *job,
               const SchedTask *tasks); /* pending to running; the nodes hold already */
void job_place_task(Scheduler *s, Job *job, int task, SchedTask at); /* of a running job; likewise */
void job_releasing(Scheduler *s, Job *job, int sign); /* all its tasks have been told to go, or not */
void job_task_releasing(Scheduler *s, Job *job, int task, int sign);
void job_let_task_go(Scheduler *s, Job *job, int task); /* from tasks to going: it is releasing already */
void job_release_going(Scheduler *s, Job *job);
void job_remark_elastic(Scheduler *s, Job *job);
Past *job_past(Job *job);
gint64 task_end(const NodeTask *at); /* when it will have gone: as job_end, and 0 when it was shrunk away */
gint64 job_end(const Job *job);      /* by its time limit; 0: any moment, G_MAXINT64: not known */
bool job_is_safe(const Scheduler *s, const Job *job);
int ask_role_of(const Ask *ask, int task);

/* ---- queue-share.c ---- */
typedef enum {
        NOW,
        LATER
} When; /* LATER: when all that was told to go has gone, and come what was promised */
bool lane_is_startable(const Lane *queue); /* it and those above it are open or closing */
/* The first queue of the chain whose max `ask` more would exceed; NULL: none. */
Lane *lane_over_max(const Scheduler *s, Lane *queue, const Resources *ask, guint32 mask, When when,
                    int *ret_kind);
/* A queue elsewhere for which what `ask` would take is reserved; NULL: none. */
Lane *lane_kept_from(const Scheduler *s, const Lane *queue, const Resources *ask, guint32 mask, When when,
                     int *ret_kind);
/* With `ask` more the queue, or one above it that is not `apart` or above that, is within its min in those
 * kinds of `mask` that its min names; it has to name one. */
bool lane_is_within_min(const Lane *queue, const Lane *apart, const Resources *ask, guint32 mask);
Lane *lane_common(Lane *a, Lane *b);                    /* the nearest that is both or above both; or NULL */
int lane_compare(const Scheduler *s, Lane *a, Lane *b); /* siblings: who is served first */
void lane_share(const Scheduler *s, Lane *queue);       /* brings share_num, share_den and below up to date */
void lane_charge(Lane *queue, const Resources *r, int sign); /* alloc, up the chain */
/* Another number when anything has changed of what it and those above it use, where that is limited or
 * guaranteed. */
guint64 lane_charges(const Lane *queue);
void lane_stale(Lane *queue);      /* its share, up the chain */
int lane_depth(const Lane *queue); /* 0: directly under its cluster */
/* Which queues a phase serves, the best first. Whether the phase has something to do for `queue`, and which
 * kinds of resources that asks for. */
typedef bool (*NextKinds)(Scheduler *s, Lane *queue, guint32 *ret_kinds);
void active_fill(Scheduler *s, Cluster *cluster, NextKinds next);
Lane *active_best(const Cluster *cluster);                    /* NULL: none left */
void active_moved(Scheduler *s, Lane *queue, NextKinds next); /* the best's share has grown */
void active_remove(Scheduler *s, Lane *queue);                /* the best leaves */

/* ---- start.c ---- */
void shape_comes_earlier(Scheduler *s, Shape *shape); /* its first job is another one, and older */
void group_comes(Scheduler *s, Group *group);         /* among those of its queue with jobs that wait */

/* ---- figures.c: the first that wait ---- */
void lane_has_more(Scheduler *s, Lane *queue, const Job *job); /* who is listed now */
void lane_has_less(Lane *queue, const Job *job);

/* ---- usage.c ---- */
gint64 usage_at(const Scheduler *s, const Usage *usage, gint64 now);
void usage_set_rate(const Scheduler *s, Usage *usage, gint64 rate, gint64 now);
void account_changed(Scheduler *s, Account *account); /* its alloc: brings the rates up to date */

/* ---- nodes.c: what is free on nodes, and the index of it by class ---- */
void node_changed(Scheduler *s, Node *node);       /* free */
void node_changed_later(Scheduler *s, Node *node); /* only what is promised or released */
void node_take(Scheduler *s, Node *node, const Resources *each, guint64 devices);
void node_give(Scheduler *s, Node *node, const Resources *each, guint64 devices);
void node_plan(Scheduler *s, Node *node, const Resources *each, int sign); /* promised to a nominated job */
void node_roomier(Node *node);              /* later: those who stand there may make room once more */
void node_opened(Scheduler *s, Node *node); /* room may have become free: opens asks */
guint64 ask_stir(const Ask *ask);           /* another one when room got free where a task of it fits */
void ask_close(Ask *ask, Cause cause);
void ask_open(Ask *ask);
guint64 node_pick_devices(const Scheduler *s, const Node *node, gint64 n);
bool node_fits(const Node *node,
               const Class *class); /* one task, now, beside what is promised and held back */
gint32 node_score(const Node *node, const Class *class, const Resources *room);
gint64 room_slots(const Resources *room, const Class *class, gint64 most); /* how many tasks */
void class_sync(Scheduler *s, Class *class);
bool class_has_room(Scheduler *s, Class *class); /* now, somewhere */
Node *class_best(Scheduler *s, Class *class);    /* on which a task fits, and best; NULL: none */
void class_clear_index(Class *class);
static inline Resources node_room(const Node *node) /* free, and promised to nobody */
{
        Resources room = node->free;

        for (int i = 0; node->n_planned > 0 && i < RESOURCE_KINDS_MAX; i++)
                room.amount[i] -= MAX(0, node->planned.amount[i] - node->releasing.amount[i]);
        return room;
}
static inline Resources node_later(const Node *node) /* free when all has gone and come */
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

/* Where the tasks of one gang are being put; undone in reverse. */
typedef struct {
        GArray *placed; /* Placement */
        gint64 discards;
} Plan;

void plan_init(Plan *plan);
void plan_clear(Plan *plan);
void plan_undo(Scheduler *s, Plan *plan, const Ask *ask);
/* Puts the gang of `ask` on nodes, whole or not at all. False: *ret_cause says why. */
bool plan_gang(Scheduler *s, Plan *plan, Ask *ask, Cause *ret_cause);
/* The node that a task of the class fits on best, within `domain` (NULL: anywhere); NULL: none. */
Node *place_best(Scheduler *s, Class *class, const Domain *domain);
void plan_tasks(const Plan *plan, const Ask *ask, SchedTask *ret); /* by replica */

/* ---- lacking.c: what there is not enough of ---- */
Cause ask_hopeless(Scheduler *s, Ask *ask);       /* CAUSE_NONE: it could fit one day */
Cause group_hopeless(Scheduler *s, Group *group); /* nor is a queue's max in the way for ever */
bool lane_never(const Lane *queue, const Ask *ask, int *ret_kind, int *ret_queue); /* whose max it is */
guint32 ask_lacking(Scheduler *s, Ask *ask); /* kinds; all it asks for when it is a matter of places */

/* ---- nominate.c ---- */
void nomination_free(Nomination *nomination);
Nomination *nomination_find(const Scheduler *s, gint64 key);
void nomination_add(Scheduler *s, Nomination *nomination); /* plans its room; its job is no longer listed */
void nomination_plan(Scheduler *s, const Nomination *nomination, int sign);
void nomination_end(Scheduler *s, Nomination *nomination);  /* nothing is planned: its job is listed again */
void nomination_drop(Scheduler *s, Nomination *nomination); /* the same, and nothing is planned any more */
void nominations_leave_node(Scheduler *s, int node);
void nominations_job_changes(Scheduler *s, Job *job, const SchedJob *put); /* put NULL: it is dropped */

/* ---- sim.c ---- */
void sim_free(Sim *sim);
void sim_forget(Scheduler *s, const Ask *ask); /* it goes */

/* ---- settle.c ---- */
void settled_clear(Settled *settled);

/* ---- backfill.c ---- */
void reservation_free(Reservation *reservation);
