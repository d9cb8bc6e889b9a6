/* The scheduler decides which jobs start, grow, shrink or are evicted, and why the others wait.
 *
 * A Scheduler is a snapshot that is kept up to date: nodes, queues, jobs and usage are put into it when they
 * change. scheduler_pass(now) returns decisions, and applies them to the snapshot. It does no I/O, has no
 * clock, no randomness, no threads, no floats in decisions; equal inputs in equal order give equal decisions
 * (journal/journal.h records and replays them bit for bit). The engine's thread owns the live one; clones
 * answer questions (explain, dry run, what if) on other threads.
 *
 * Rules: doc/guide/scheduling.md. Sources: doc/reference/scheduling.md, "Elastic quota", "Binpack" to
 * "Reference cases".
 *
 * A pass works through, in this order:
 *   1 nominated    jobs for which capacity was freed start before all others
 *   2 allocate     queue by queue in order of share, job by job in the queue's order: whole gangs only; every
 *                  elastic job gets its minimum before any gets more
 *   3 backfill     behind a blocked head, jobs that cannot delay its reservation
 *   4 grow         elastic jobs below their full size, if no job waits for the resources
 *   5 preempt      inside a queue: shrink first, then evict lower priority, least lost work first
 *   6 reclaim      from queues above their min for one below its: shrink first, then evict; all of it is
 *                  simulated before any eviction, and at most once per cooldown for the same victim
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/queue.h"
#include "model/resources.h"

typedef struct Scheduler Scheduler;

enum {
        SCHED_DEVICES_MAX = 64,    /* GPUs of one node: one bit each */
        SCHED_PRIORITY_MAX = 1000, /* -1000..1000 */
        SCHED_FIGURE_HEADS = 3,    /* heads of a queue that figures contain */
};

typedef struct {
        gint64 nominated_ms;  /* how long capacity that was freed for a job is kept for it; 0: 60 s. At least
                                 ten seconds longer than the grace of its victims */
        gint64 cooldown_ms;   /* time after the restart of an evicted or shrunk job during which it is no
                                 victim again; 0: 60 s */
        gint64 half_life_ms;  /* half-life of the usage for QUEUE_ORDER_FAIR and for ties of equal shares; 0:
                                 7 days */
        const char *topology; /* label keys from the widest to the narrowest, "zone,rack"; NULL: none */
} SchedulerConfig;

typedef struct {
        int id;      /* assigned by the caller; small and dense from 0 */
        int cluster; /* the cluster whose queues may use it */
        const char *name;
        Resources total;
        bool usable;               /* false: no new task is placed here (cordoned, unreachable) */
        const char *const *labels; /* "K=V", NULL-terminated; or NULL */
} SchedNode;

typedef struct {
        int id;      /* assigned by the caller; small and dense from 0 */
        int cluster; /* the same for all parents of a queue */
        int parent;  /* id; -1: directly under the cluster, whose capacity is the sum of its usable nodes */
        const char *name;
        QueueState state;             /* only QUEUE_OPEN and QUEUE_CLOSING start jobs */
        Resources min, max, reserved; /* max: RESOURCE_UNLIMITED if there is none; reserved <= min is never
                                         lent */
        int weight;                   /* >= 1: weight of the share when both queues are above their min */
        int priority;                 /* queues of higher priority are served first */
        bool reclaimable;             /* what it uses above its min may be reclaimed */
        QueuePreemption preemption;
        QueueOrder order;
        bool backfill; /* a blocked head holds a reservation and other jobs pass it only if they do not delay
                          it; false: every job that fits starts (Volcano's `traverse`) */
        int max_running_per_user;  /* jobs; 0: no limit */
        const char *const *labels; /* nodes must carry all of these; or NULL */
} SchedQueue;

typedef struct {
        Resources each; /* of one task */
        int replicas;   /* 0 or more; the full size */
        int min;        /* 0..replicas; == replicas: rigid. If it is 0 for all roles, one task is the
                           minimum */
} SchedRole;

typedef enum {
        SCHED_PENDING,
        SCHED_RUNNING, /* placed, starting or running; uses what its tasks request */
        SCHED_ENDING,  /* asked to stop, for any reason; uses its resources until it is put again or
                          dropped */
} SchedJobState;

/* The place of a task. */
typedef struct {
        int node;        /* id; -1: not placed (an elastic role below its full size, or a surplus task that is
                     gone) */
        guint64 devices; /* bit set of GPU indices on that node */
} SchedTask;

typedef struct {
        gint64 key;           /* assigned by the caller; unique, > 0, grows with submission: the last
                                 tie-breaker */
        int queue, user;      /* ids */
        int priority;         /* higher first */
        gint64 submitted;     /* ms: age */
        gint64 not_before;    /* ms: before that it neither starts nor blocks others; 0: none */
        gint64 time_limit_ms; /* declared; 0: none */
        gint64 grace_ms;      /* from the warning to the end of an eviction */
        bool held;        /* waits for something outside the scheduler (environment, dependency, hold): it is
                             ignored and blocks no other job. RUNNING: it does not grow */
        bool preemptable; /* false: neither evicted nor shrunk */
        int array, array_max; /* jobs of one array (> 0) run at most array_max at a time; 0: no limit */
        int topology;         /* index of the label key; all tasks should be on nodes with the same value of
                                 it; -1: indifferent */
        bool topology_required;
        const char *const *labels; /* nodes must carry all of these; or NULL */
        int n_roles;
        const SchedRole *roles;

        SchedJobState state;
        gint64 started;         /* ms, of the attempt; RUNNING and ENDING */
        gint64 saved;           /* ms: work up to this time survives an eviction; 0: none */
        const SchedTask *tasks; /* RUNNING, ENDING: one per replica in role order; NULL when PENDING */
} SchedJob;

Scheduler *scheduler_new(const SchedulerConfig *config);
void scheduler_free(Scheduler *scheduler); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Scheduler, scheduler_free)
Scheduler *scheduler_clone(const Scheduler *scheduler); /* a deep copy, which shares nothing that can
                                                           change */

/* The facts. Put inserts or replaces; everything is copied. A node or queue that jobs refer to may be
 * replaced but not dropped (false). A node that shrinks below its use keeps its tasks and gets no new ones.
 * Jobs whose queue does not exist are refused (false). */
bool scheduler_put_node(Scheduler *scheduler, const SchedNode *node);
bool scheduler_drop_node(Scheduler *scheduler, int id);
bool scheduler_put_queue(Scheduler *scheduler, const SchedQueue *queue);
bool scheduler_drop_queue(Scheduler *scheduler, int id);
bool scheduler_put_job(Scheduler *scheduler, const SchedJob *job);
void scheduler_drop_job(Scheduler *scheduler, gint64 key); /* unknown: a no-op */
/* A user's recent usage of a queue: decayed micro-units of dominant share × ms, as of `at`. To restart: get
 * it after a pass, put it before the jobs. */
void scheduler_put_usage(Scheduler *scheduler, int queue_id, int user, gint64 value, gint64 at);
void scheduler_foreach_usage(const Scheduler *scheduler,
                             void (*func)(int queue, int user, gint64 usage, gint64 at, void *arg),
                             void *arg);

typedef enum {
        DECIDE_START,  /* tasks: the whole placement */
        DECIDE_GROW,   /* tasks: the whole placement after it */
        DECIDE_SHRINK, /* tasks: the whole placement after it; tasks that are no longer in it use their
                          resources until the job is put again */
        DECIDE_EVICT,  /* becomes SCHED_ENDING; the caller puts it again when it has ended */
        DECIDE_KINDS,
} DecisionKind;

/* The rule of the decision: counted by the tests' generator, shown in the journal. */
typedef enum {
        RULE_NOMINATED,
        RULE_ALLOCATE,
        RULE_BACKFILL,
        RULE_GROW,
        RULE_PREEMPT,
        RULE_RECLAIM,
        RULES,
} DecisionRule;

const char *decision_kind_name(DecisionKind kind); /* "start", "grow", "shrink", "evict" */
const char *decision_rule_name(DecisionRule rule); /* "nominated", "allocate", "backfill"... */

typedef struct {
        guint8 kind, rule;
        gint64 key;     /* the job */
        gint64 for_key; /* SHRINK, EVICT: the job that benefits; else 0 */
        int n_tasks;
        guint first_task; /* in Decisions.tasks */
} Decision;

typedef struct {
        GArray *decisions;                /* Decision, in the order in which they must be applied */
        GArray *tasks;                    /* SchedTask */
        gint64 considered, gang_discards; /* jobs considered; gangs that were placed in part and undone */
} Decisions;

void decisions_init(Decisions *decisions);
void decisions_clear(Decisions *decisions);

/* Sets the time of the facts that follow, if it is later than the known time: usage is counted up to it. A
 * pass must follow. */
void scheduler_clock(Scheduler *scheduler, gint64 now);

/* One pass at time `now` (ms, never smaller than before). It is cheap if little changed since the last pass:
 * an arrival or an end costs only the effects of that job. Replaces the contents of *ret. */
void scheduler_pass(Scheduler *scheduler, gint64 now, Decisions *ret);

/* When time alone may change something, ms: not_before, a cooldown, a nomination; 0: never. */
gint64 scheduler_due(const Scheduler *scheduler);

/* ---- why ---- */

typedef enum {
        CAUSE_NONE,         /* it runs, or is unknown */
        CAUSE_HELD,         /* the caller set it, and knows why */
        CAUSE_NOT_BEFORE,   /* .time */
        CAUSE_QUEUE_CLOSED, /* .queue */
        CAUSE_NO_NODES,     /* its cluster has no usable node (not connected) */
        CAUSE_TOO_LARGE,    /* more than the cluster, or its queue's max, could ever provide: .kind .asked
                            .limit */
        CAUSE_NO_NODE_FITS, /* a single task is larger than every node, or no node has its labels */
        CAUSE_ARRAY_LIMIT,  /* .limit jobs of its array already run */
        CAUSE_USER_LIMIT,   /* .limit jobs of its user already run in .queue */
        CAUSE_QUEUE_MAX,    /* .queue (itself or an ancestor), .kind .asked .used .limit */
        CAUSE_RESERVED,     /* free, but reserved for .key, which has precedence: .kind .asked .free, .time or
                             0 */
        CAUSE_LENT,         /* .queue's guaranteed .kind is lent to .other: .asked .free .lent; it is being
                             reclaimed, or not reclaimable */
        CAUSE_BEHIND,       /* .position jobs of its queue are before it; .key is the head */
        CAUSE_RESOURCES,    /* .kind .asked .free .total; .key: the job that ends first, at .time (0:
                             unknown) */
        CAUSE_FRAGMENTED,   /* enough in total, but not on one node (or set of nodes): .nodes lack .kind */
        CAUSE_NOMINATED,    /* capacity is being freed: .key ends by .time */
        CAUSE_TOPOLOGY,     /* fits, but not within one value of .label */
        CAUSES,
} Cause;

/* One reason with its figures; the list above tells which fields are set. */
typedef struct {
        Cause cause;
        int kind;                                     /* of resource, or -1 */
        gint64 asked, free, used, limit, lent, total; /* in that kind's units */
        int queue, other;                             /* queue ids, or -1 */
        int position, nodes;
        gint64 key, time;
        const char *label; /* borrowed from the scheduler */
} Reason;

const char *cause_name(Cause cause); /* "queue_max": the word in the API */

/* The main cause of a pending job, as of the last pass: stored, O(1). */
Cause scheduler_cause(const Scheduler *scheduler, gint64 key);

enum { REASONS_MAX = 16 };
/* All causes that keep it from starting, the most decisive first; at most REASONS_MAX. Returns their number;
 * 0 for a job that is unknown or not pending. */
int scheduler_explain(const Scheduler *scheduler, gint64 key, gint64 now, Reason ret[REASONS_MAX]);

/* When the job is expected to start, ms, by simulation: running jobs end at their time limits, and pending
 * ones take theirs. 0: unknown (a job before it has no limit), or not within `steps` ends. Changes the
 * scheduler: pass a clone. */
gint64 scheduler_forecast(Scheduler *s, gint64 key, gint64 now, int steps);

/* ---- figures for readers ---- */

typedef struct {
        int id;
        Resources used;     /* of running and ending jobs of it and its children */
        Resources demand;   /* used plus the requests of its pending jobs */
        Resources lent;     /* the part of its min that others use */
        Resources borrowed; /* use above its min */
        int pending, running;
        gint64 heads[SCHED_FIGURE_HEADS]; /* keys of the first pending jobs; 0: no more */
        gint64 head_start;                /* when the head's reservation begins; 0: unknown or none */
        gint64 share_ppm;                 /* its dominant share in parts per million of its entitlement */
} QueueFigures;

/* Immutable, counted: published to readers of any thread. */
typedef struct {
        gatomicrefcount refs;
        gint64 now;
        Resources total, free; /* of all usable nodes */
        int n_queues;
        QueueFigures queues[]; /* by id; id -1: unused */
} SchedulerFigures;

SchedulerFigures *scheduler_figures(const Scheduler *scheduler, gint64 now); /* a new reference */
SchedulerFigures *scheduler_figures_ref(SchedulerFigures *figures);
void scheduler_figures_unref(SchedulerFigures *figures);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SchedulerFigures, scheduler_figures_unref)

/* ---- why, from figures ---- */

/* A queue as it limits a waiting job. */
typedef struct {
        int id; /* -1: not known to the scheduler */
        Resources min, max;
} WaitingQueue;

/* What is known of a waiting job where there is no scheduler to ask. */
typedef struct {
        const SchedulerFigures *figures;
        gint64 key;
        Resources want;             /* of its minimum */
        Resources most;             /* of its cluster, when all its nodes can be used */
        Resources total, free;      /* of its cluster now */
        guint32 told;               /* kinds, as bits, that are already reported as lacking */
        const WaitingQueue *queues; /* its own first, then those above it; at least one */
        int n_queues;
        int array_running, array_max; /* jobs of its array; max 0: no limit */
        int user_running, user_max;   /* jobs of its user in its queue */
        int ahead;                    /* jobs of its queue that come first */
} Waiting;

/* The causes that figures tell, in the order of scheduler_explain: too large (and then nothing else), limits, what is
 * lacking, the jobs ahead. At most REASONS_MAX; returns their number. Any thread. */
int scheduler_explain_figures(const Waiting *waiting, Reason ret[REASONS_MAX]);

/* ---- inspection, for tests, `paddle top`, `paddle sim` and the sums of the store ---- */

/* The node's current state: what its tasks use, and their devices. False: no such node. */
bool scheduler_node(const Scheduler *scheduler, int id, Resources *ret_used, guint64 *ret_devices);
/* The job's current state; borrowed until the next change. False: unknown. */
bool scheduler_job(const Scheduler *scheduler, gint64 key, SchedJob *ret);
/* A digest of everything that decisions depend on: equal states have equal values. */
guint64 scheduler_hash(const Scheduler *scheduler);
