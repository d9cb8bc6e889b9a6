/* Nodes, clusters and the labels of nodes; private to sched/. */
#pragma once

#include "sched/amounts.h"
#include "sched/memo.h"
#include "sched/scheduler.h"

typedef struct Node Node;
typedef struct QueueNode QueueNode;
typedef struct Class Class;
typedef struct Gang Gang;
typedef struct Group Group;
typedef struct Shape Shape;
typedef struct Job Job;

/* ---- sharing equal labels ---- */

typedef struct {
        guint refs;
        char *text;    /* the sorted labels, joined by newlines: the key */
        char **labels; /* sorted, no duplicates; NULL-terminated */
} LabelSet;

LabelSet *labels_intern(Scheduler *s, const char *const *labels);
LabelSet *labels_ref(LabelSet *set);
void labels_unref(Scheduler *s, LabelSet *set);
bool labels_carry(const LabelSet *have, const LabelSet *want);

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
        GArray *ends;                  /* TaskEnd of all tasks, ascending */
        Memo ends_memo;
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

/* ---- clusters ---- */

/* A queue among its siblings, with what it is compared by. */
typedef struct {
        QueueNode *queue;
        guint64 quotient;
        int priority;
} Sibling;

/* Queues of one parent, or of none, that take part in a phase: queue-share.c. */
typedef struct {
        GArray *line;   /* Sibling, in order: those from `next` on were not served yet */
        GArray *served; /* Sibling, a heap */
        guint next;
        bool served_first; /* the best is in `served` */
} Siblings;

void siblings_init(Siblings *siblings);
void siblings_clear(Siblings *siblings);

typedef struct {
        int id;
        int n_nodes, n_usable;
        Resources total, free; /* of usable nodes */
        Resources releasing, planned;
        Siblings active;     /* queues without a parent that take part in a phase */
        GPtrArray *order;    /* QueueNode: all its queues, as they were in order last */
        Memo order_memo;     /* of the queues in it; key: Scheduler.config_version */
        GPtrArray *keepers;  /* QueueNode: queues with a reserved amount */
        guint32 version;     /* grows when nodes are added, removed or changed */
        QueueNode *guarding; /* the queue whose head guards its reservation in this pass */
        int guard;           /* the queue whose head guarded its reservation in the last pass; -1: none */
        int wanting;         /* a queue, and the index of its group, that kept all jobs from growing; see
                               grow.c */
        guint wanting_group;
} Cluster;

Cluster *cluster_get(Scheduler *s, int id); /* created if missing */

/* ---- nodes.c: free resources ---- */
void node_changed(Scheduler *s, Node *node);       /* its free resources have changed */
void node_changed_later(Scheduler *s, Node *node); /* only planned or releasing have changed */
/* The resources of one task of the class; `devices`: its GPUs. */
void node_take(Scheduler *s, Node *node, const Class *class, guint64 devices);
void node_give(Scheduler *s, Node *node, const Class *class, guint64 devices);
void node_plan(Scheduler *s, Node *node, const Class *class, int sign); /* promised to a nominated job */
void node_has_more(Node *node);             /* later: jobs that run there may again help as victims */
void node_opened(Scheduler *s, Node *node); /* resources may have become free: opens gangs */
guint64 node_pick_devices(const Scheduler *s, const Node *node, gint64 n);
/* True if the sums stay within their limits. */
bool job_can_hold(const Node *node, const Resources *each);
static inline Resources node_available(const Node *node) /* free and not planned for others */
{
        Resources available = node->free;

        for (int i = 0; node->n_planned > 0 && i < RESOURCE_KINDS_MAX; i++)
                available.amount[i] -= MAX(0, node->planned.amount[i] - node->releasing.amount[i]);
        return available;
}
static inline Resources node_later(const Node *node) /* free after all releases and planned starts */
{
        Resources available = node->free;

        amounts_add(&available, &node->releasing);
        amounts_subtract(&available, &node->planned);
        return available;
}
