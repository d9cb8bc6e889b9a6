/* A run from inside (see run.h): what the files of its state machine share. */
#pragma once

#include "pipeline/undo-array.h"
#include "pipeline/run.h"

typedef enum {
        WORK_ENTER,   /* a DAG: its children begin to wait, or are ready */
        WORK_RELEASE, /* a child has succeeded: its dependants wait for one less */
        WORK_CANCEL,  /* a child has failed: its dependants are cancelled */
        WORK_STOP,    /* a DAG: what runs is stopped, what did not start is cancelled */
        WORK_PAUSED,  /* a child has paused after its end */
        WORK_GO,      /* what was paused before the present epoch goes on */
        WORK_END,     /* the run is final */
} WorkKind;

typedef struct {
        guint32 kind; /* WorkKind */
        guint32 index;
} Work;

/* A step that waits for a slot. */
typedef struct {
        guint32 index;
        bool node; /* its condition holds; false: a child, whose nodes are made when there is a slot */
} Waiting;

/* The part of an array that is a queue: it grows at its end, and what is before it can come back until run_keep. */
typedef struct {
        guint32 at, end;
} Span;

/* All that is not in an array. */
typedef struct {
        guint32 nodes, children, dags; /* numbers */
        guint32 ready_first, ready_last;
        guint32 front; /* the child behind which WORK_ENTER inserts the next one; RUN_NONE: at the front */
        Span work, waiting;
        guint32 slots, asked;
        guint32 pauses; /* number */
        guint32 paused, paused_first, paused_last;
        guint32 epoch;
        guint8 state; /* NODE_NONE: not begun */
        bool stopping, forced, full, stepping;
} Totals;

struct Run {
        const Definition *definition;
        guint32 nodes_max;
        guint32 nodes_limit, children_limit; /* at most nodes_max */
        UndoArray nodes, children, dags, pauses;
        RunBreaks *breaks; /* or NULL */
        GArray *work;      /* Work; those of totals.work */
        GArray *waiting;   /* Waiting; those of totals.waiting */
        Totals totals;
        Totals kept; /* as they were at the last run_keep */
        RunAction action;
        void *arg;
};

static inline RunNode *node_at(const Run *run, guint32 i)
{
        return undo_array_get(&run->nodes, i);
}

static inline RunChild *child_at(const Run *run, guint32 i)
{
        return undo_array_get(&run->children, i);
}

static inline RunDag *dag_at(const Run *run, guint32 i)
{
        return undo_array_get(&run->dags, i);
}

static inline RunNode *touch_node(Run *run, guint32 i)
{
        return undo_array_touch(&run->nodes, i);
}

static inline RunChild *touch_child(Run *run, guint32 i)
{
        return undo_array_touch(&run->children, i);
}

static inline RunDag *touch_dag(Run *run, guint32 i)
{
        return undo_array_touch(&run->dags, i);
}

static inline RunPause *pause_at(const Run *run, guint32 i)
{
        return undo_array_get(&run->pauses, i);
}

static inline bool child_is_paused(const Run *run, const RunChild *child)
{
        return child->pause && pause_at(run, child->pause - 1)->listed;
}

/* ---- run.c ---- */

/* A reference has the body of its target. */
const Component *run_body(const Run *run, guint32 component);
/* The components in a DAG: its own, or those of the library component that it refers to. */
guint32 run_n_components(const Run *run, guint32 component);
bool run_child_loops(const Run *run, guint32 index);
bool run_is_disabled(const Run *run, guint32 dag, guint32 component);

/* The nodes of the entry points and of post_process; the run is RUNNING. */
void run_reserve_first(Run *run);

/* ---- run-nodes.c ---- */

/* The node is final, and what follows from it. */
void run_end_node(Run *run, guint32 index, NodeState state);
/* All nodes of the child are final: it pauses, or is finished. */
void run_end_child(Run *run, guint32 index);
/* All nodes of the child are final, and it does not pause (any more). */
void run_finish_child(Run *run, guint32 index);
/* A failure stops all up to the entry points, or only cancels what depends on the child. */
void run_fail_child(Run *run, guint32 index);
void run_stop_dag(Run *run, guint32 index);
NodeState run_end_of_dag(const RunDag *dag);

/* `count` nodes of a child, side by side. */
void run_reserve_nodes(Run *run, guint32 index, guint32 count);
/* The next one of the child. */
guint32 run_make_node(Run *run, guint32 index);
/* One node stands for a component that has none to run. */
void run_make_placeholder(Run *run, guint32 index, NodeState state);
/* The instance of the DAG of a node; its children are zero. */
RunDag *run_make_dag(Run *run, guint32 index);
void run_prepare_child(Run *run, guint32 dag_index, guint32 index);
/* Its children begin to wait, or are ready. It fails if they do not fit. */
void run_enter_dag(Run *run, guint32 node);

/* ---- run-work.c ---- */

void run_add_work(Run *run, WorkKind kind, guint32 index);
/* It waits for a slot. */
void run_add_waiting(Run *run, guint32 index, bool node);
/* Puts a child into the list of ready ones, behind the child `after`; RUN_NONE: at the front. */
void run_insert_ready(Run *run, guint32 index, guint32 after);
void run_remove_ready(Run *run, guint32 index);
/* The next child that depends on this one, or RUN_NONE. */
guint32 run_next_dependant(Run *run, guint32 index);

/* ---- run-restore.c ---- */

/* The instance of the DAG of a node, which is made if it is not there yet. */
guint32 run_restored_dag(Run *run, guint32 node);

/* ---- run-pause.c ---- */

/* True: a child whose turn to start has come pauses instead. */
bool run_pause_before(Run *run, guint32 index);
/* True: it pauses after its end. */
bool run_pause_after(Run *run, guint32 index);
/* Its DAG is stopped: it is paused no longer, and ends if it had paused after its end. */
void run_drop_pause(Run *run, guint32 index);
/* All that is paused goes on, at once. */
void run_drop_pauses(Run *run);
bool run_work_paused(Run *run, guint32 index);
bool run_work_go(Run *run, guint32 index);
/* After a restart: those that are paused come into their list, others go on. */
void run_restore_pauses(Run *run);
