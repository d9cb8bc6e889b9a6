/* What the nodes of a run are together, for each component: a part. A loop of 100,000 items is one part, and a step in a DAG
 * that is executed 1,000 times is one. Rows of the store are added one after the other, so a run of any size needs memory
 * for its components only. Pure. */
#pragma once

#include "model/run-record.h"
#include "pipeline/definition.h"

enum {
        RUN_PARTS_MAX = 20000, /* what has begun behind them is left out */
        RUN_PART_ROOT = 0,     /* the entry points */
        RUN_PART_POST = 1,     /* holds the post_process step */
        RUN_PART_NONE = -1,    /* as guint32 */
};

typedef struct {
        guint32 parent;    /* the part of the DAG around it; RUN_PART_NONE: it is RUN_PART_ROOT or _POST */
        guint32 component; /* as it is written: a reference, not its target */
        guint32 counts
                [NODE_STATES]; /* nodes in each state; NODE_NONE: not made yet, as far as they are known */
        guint32 made;          /* rows that were added */
        guint32 kept;          /* of them, results of an earlier run: a retry kept them */
        guint32 cached;        /* of them, results that the cache gave in this run */
        gint64 items;          /* instances, as far as they are known */
        gint64 listed, absent; /* of them: items of loops with a known length; without a row and a loop */
        gint64 started,
                finished; /* of the first that began and the last that ended; finished 0: one runs. Those
                                        that are kept do not count */
        gint64 busy_ms;   /* sum of the times of those that have ended */
        gint64 job;       /* seq, of the first that failed, else of the first; 0: none */
        char *message;    /* of the first that failed, else of the first with one; or NULL */
        char *wait;       /* why one of them does not go on; or NULL */
        guint32 queued;   /* of those that run: their jobs wait */
        guint8 rest;      /* NodeState of what never was made, or NODE_NONE */
        guint8 pause;     /* RunPauseKind: where one of its instances is paused */
        bool loops;       /* a component with a loop */
} RunPart;

/* `definition` must outlive it. `begin` is when the run was created, ms. */
typedef struct RunParts RunParts;
RunParts *run_parts_new(const Definition *definition, gint64 begin);
void run_parts_free(RunParts *parts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunParts, run_parts_free)

/* All rows of the run in order of index; then what is known of its children, in any order, and which of them are paused; then
 * the end of them. */
void run_parts_add(RunParts *parts, const RunNodeRecord *node);
void run_parts_add_child(RunParts *parts, const RunChildRecord *child);
void run_parts_add_pause(RunParts *parts, const RunChildRecord *child);
void run_parts_finish(RunParts *parts);
/* After that: a node does not go on. `queued`: it counts as running, and its job waits. Otherwise it has no row. */
void run_parts_add_wait(RunParts *parts, guint32 dag, guint32 component, bool queued, const char *why);

guint32 run_parts_count(const RunParts *parts);
const RunPart *run_part(const RunParts *parts, guint32 part);
/* RUN_PART_NONE: nothing of it has begun. */
guint32 run_parts_find(const RunParts *parts, guint32 parent, guint32 component);
/* The same in the node of a DAG. */
guint32 run_parts_of(const RunParts *parts, guint32 dag, guint32 component);
/* Rows were left out because of RUN_PARTS_MAX. */
bool run_parts_are_partial(const RunParts *parts);

/* What its nodes are together; `around` is that of the DAG, or of the run. */
NodeState run_part_state(const RunPart *part, NodeState around);
/* It waits at a pause, and nothing of it runs. */
bool run_part_is_paused(const RunPart *part);
/* The state of a component of which nothing has begun. */
NodeState run_part_absent(NodeState around);
/* "d.train"; "" for RUN_PART_ROOT and _POST. The caller's. */
char *run_part_path(const RunParts *parts, guint32 part);
