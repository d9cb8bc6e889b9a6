/* The parts of a Scheduler; private to sched/.
 *
 *      Cluster ─┬─ Node*      its tasks, its free resources, and what is being freed for nominated jobs
 *               └─ QueueNode tree (queues) ── Group* (queue × gang) ── Shape* (other common properties) ── Job*
 *
 * A Gang is what a job needs at once (roles, labels, topology). Its tasks belong to Classes (the resources of one
 * task, and labels), and each class keeps an index of the nodes on which such a task fits. Gangs, classes, shapes
 * and sets of labels are interned: 100,000 equal jobs have one of each.
 *
 * A header a concept: amounts.h, memo.h, capacity.h (nodes), gang.h, usage.h, shape.h (jobs), queue.h; here the
 * whole.
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
#include "sched/queue.h"

/* ---- nominations ---- */

/* Capacity that is being freed for a job. */
typedef struct {
        gint64 key, until;
        SchedTask *tasks; /* by replica: the future places */
        GArray *victims;  /* gint64: keys of the victims that have not left yet */
} Nomination;

void nomination_free(Nomination *nomination);
Nomination *nomination_find(const Scheduler *s, gint64 key);
void nomination_add(Scheduler *s, Nomination *nomination); /* plans its places; its job is no longer listed */
void nomination_plan(Scheduler *s, const Nomination *nomination, int sign);
void nomination_end(Scheduler *s, Nomination *nomination);  /* all planned places are used: its job is listed
                                                               again */
void nomination_drop(Scheduler *s, Nomination *nomination); /* the same, and undoes the plan */
void nominations_leave_node(Scheduler *s, int node);
void nominations_job_changes(Scheduler *s, Job *job, const SchedJob *put); /* put NULL: it is dropped */

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
        guint64 decay;        /* of usage */
        Memo decay_memo;      /* key: the time span */
        guint64 versions;     /* grows with every change of the free resources of any node */

        GPtrArray *clusters;      /* Cluster, by id */
        GPtrArray *nodes;         /* by id; NULL: unused */
        GPtrArray *queues;        /* by id; NULL: unused */
        GPtrArray *domains;       /* Domain */
        GHashTable *domain_index; /* "rack=r1" -> index + 1 */
        GHashTable *jobs;         /* &key -> Job */
        GHashTable *label_sets, *classes, *gangs, *groups, *shapes, *accounts,
                *arrays;                         /* sets, by contents */
        GHashTable *with_past;                   /* set of Job: those with a Past */
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

void intern_init(Scheduler *s);
void intern_clear(Scheduler *s);
static inline Cluster *cluster_find(const Scheduler *s, int id) /* there are few */
{
        for (guint i = 0; i < s->clusters->len; i++) {
                Cluster *cluster = s->clusters->pdata[i];

                if (cluster->id == id)
                        return cluster;
        }
        return NULL;
}
static inline Node *node_find(const Scheduler *s, int id)
{
        return id >= 0 && (guint)id < s->nodes->len ? s->nodes->pdata[id] : NULL;
}
static inline QueueNode *queue_find(const Scheduler *s, int id)
{
        return id >= 0 && (guint)id < s->queues->len ? s->queues->pdata[id] : NULL;
}
