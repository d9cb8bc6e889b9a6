/* A run of a definition: which components may start, and what became of them. Pure: events in, actions out. No clock,
 * no I/O; the caller resolves parameters, evaluates conditions and makes jobs of steps.
 *
 * A component of the definition has a `RunChild` in each instance of its DAG, and a node for each item of its loop (one
 * without a loop). The nodes of a child lie side by side. They are made in the order of the definition, then of the
 * loop; until then they are a number in the child.
 *
 * A step needs a slot from its start to the end of its job. Disabled components, loops, conditions and DAGs need
 * none: they are served from the list of ready children. A step that needs a slot leaves this list for a queue: as a
 * child, whose nodes are made when there are slots, or as a node whose condition holds.
 *
 * A node:
 *
 *      NONE ─▶ LOOKING ─▶ STARTING ─▶ RUNNING ──▶ SUCCEEDED, FAILED, TERMINATED     a step
 *        │        │          │           └──────▶ STOPPING ─▶ the same
 *        │        │          └──────────────────▶ STOPPING
 *        │        └──────────▶ SKIPPED (condition), FAILED (RE-01), TERMINATED
 *        └───────────────────▶ SKIPPED (disabled, empty loop), FAILED (RE-02), TERMINATED
 *
 *      A step whose condition holds is LOOKING until there is a slot for it.
 *
 *      NONE ─▶ LOOKING ─▶ RUNNING ──▶ SUCCEEDED, FAILED                             a DAG
 *                            └──────▶ STOPPING ─▶ FAILED, TERMINATED
 *
 * A component that was never made, because of a failure or a stop, is CANCELLED.
 *
 * A child pauses at a breakpoint, or in single steps (run_step): before it is made, before the next item of its loop, or
 * after its end, so that what depends on it waits. A paused child is in no list of ready children, and holds no slot.
 *
 * A change is undone by run_undo() until run_keep() is called: both take time in proportion to what changed since.
 * The rules: doc/reference/pipelines.md, "Runs". */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/run-record.h"
#include "pipeline/definition.h"
#include "pipeline/run-break.h"

enum {
        RUN_ROOT = 0,  /* the node of the entry points */
        RUN_POST = 1,  /* the node that holds the post_process step */
        RUN_NONE = -1, /* as guint32: no node, child or DAG */
};

typedef struct {
        guint32 component; /* as it is written: a reference, not its target */
        guint32 dag;       /* the instance of the DAG that holds it */
        guint32 number;    /* in its loop, from 0 */
        guint32 inner;     /* of a DAG that has started: its instance; otherwise RUN_NONE */
        gint64 job;        /* of a step, set by run_started; 0: none */
        guint8 state;      /* NodeState */
        bool culprit;      /* it failed, or was terminated without a stop: its DAG fails */
        bool slot;         /* it counts in run_slots_used */
        bool holds;        /* its condition holds */
        bool wants;        /* it gave its slot back, and waits for one again */
        bool touched;      /* changed since run_keep */
} RunNode;

typedef struct {
        guint32 dag;     /* the instance of its DAG */
        guint32 waiting; /* dependencies that have not succeeded yet */
        guint32 first;   /* its first node; RUN_NONE: none was made */
        guint32 count;   /* nodes, made or not; 0: not known yet */
        guint32 made; /* nodes before this one are made; after a restart also some behind it, up to `seen` */
        guint32 seen;
        guint32 unmade;     /* nodes in the state NODE_NONE */
        guint32 open;       /* nodes that are not final, made or not */
        guint32 at;         /* so many of its dependants were released or cancelled */
        guint32 stopped;    /* so many of its nodes were stopped */
        guint32 next, prev; /* in the list of ready children */
        guint32 pause;      /* index + 1 of its RunPause; 0: it never paused */
        guint8 rest;        /* state of the nodes that are not made: NODE_NONE, _TERMINATED or _CANCELLED */
        bool ready;         /* in that list */
        bool started;       /* it was served once */
        bool asked;         /* ACTION_EXPAND has no answer yet */
        bool failed;        /* one of its nodes is a culprit */
        bool bad;           /* a node is neither succeeded nor skipped at its end */
        bool done;          /* all its nodes are final */
        bool touched;
} RunChild;

/* A key for a component in the instance of a DAG that node `dag` stands for. */
static inline gint64 run_child_key(guint32 dag, guint32 component)
{
        return (gint64)((guint64)dag << 32 | component);
}

/* An instance of a DAG. */
typedef struct {
        guint32 node;     /* its own */
        guint32 children; /* the first; in the order of the definition */
        guint32 n_children;
        guint32 open;             /* children that are not done */
        guint32 entered, stopped; /* so many children were prepared, and stopped */
        bool stopping;
        bool failed, terminated, cancelled; /* at least one of its nodes is */
        bool touched;
} RunDag;

enum { RUN_PASSED = -1 }; /* as guint32: also behind it */

/* Of a child that pauses, or did. The places before a child are counted: 0 is before its loop is made, and N + 1 before the
 * item N of it. */
typedef struct {
        guint32 child;
        guint32 at;     /* the place of `kind` */
        guint32 epoch;  /* run_epoch when it began: an earlier one has ended */
        guint32 passed; /* it pauses at no place below it; RUN_PASSED: it paused after its end, and went on */
        guint32 next, prev; /* in the list of paused children, if it is in it */
        guint8 kind;        /* RunPauseKind */
        bool listed; /* it is paused. After a restart, one with a kind may have earlier items to make first */
        bool touched;
} RunPause;

typedef enum {
        ACTION_EXPAND, /* `index` is a child: its loop; answer: run_expanded */
        ACTION_LOOK,   /* a node: its condition; answer: run_looked */
        ACTION_START,  /* a node of a step: its job; answer: run_started, or run_ended */
        ACTION_STOP,   /* a node of a step that is STARTING or RUNNING: its job; answer: run_ended */
        ACTION_PAUSE,  /* a child has paused */
        ACTION_END,    /* the run is final: run_state */
} RunActionKind;

/* May call the run back with the answer. */
typedef void (*RunAction)(void *arg, RunActionKind kind, guint32 index);

typedef struct Run Run;

/* `definition` must outlive the run. Nothing happens before run_begin. A loop that would bring the nodes of the run above
 * `nodes_max` fails; so does a DAG that would bring the children of all DAGs above it. */
Run *run_new(const Definition *definition, guint32 nodes_max);
/* From now on at most `more` nodes or children of DAGs are added, and never more than `nodes_max` of run_new. */
void run_limit(Run *run, guint32 more);
void run_free(Run *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Run, run_free)

/* ---- events ---- */

void run_begin(Run *run);
/* The number of items of the child's loop; 0: the list is empty. `failed`: there is no list (RE-02). False: the loop would
 * bring the run above its limit, so it has failed. */
bool run_expanded(Run *run, guint32 index, guint32 count, bool failed);
/* The condition of a node; `failed`: it is wrong (RE-01). */
void run_looked(Run *run, guint32 index, bool holds, bool failed);
/* The job of a node exists. */
void run_started(Run *run, guint32 index, gint64 job);
/* The job of a node has ended, or none could be made. A final state but CANCELLED. Ignored if the node is final. */
void run_ended(Run *run, guint32 index, NodeState state);
/* A step that is STARTING waits for something else than a job of its own, and needs no slot meanwhile. Then it is ended, or
 * wants a slot again, and waits for one as all others do: ACTION_START comes again. */
void run_park(Run *run, guint32 index);
void run_want(Run *run, guint32 index);
/* A user's stop. `force`: post_process is stopped, too, or does not start. */
void run_stop(Run *run, bool force);

/* Where the run pauses from now on; NULL: nowhere. What is paused stays so. run_undo does not put the earlier ones back. A
 * stop ends all pauses, and after it there are none. */
void run_set_breaks(Run *run, RunBreaks *breaks);
/* Single steps: the run pauses at all that would start from now on. `index`: a paused child that goes on now; or
 * RUN_NONE. */
void run_step(Run *run, guint32 index);
/* No single steps. `index`: a paused child that goes on; RUN_NONE: all that are paused now. */
void run_continue(Run *run, guint32 index);

/* Does what follows from the events, at most *budget steps, which it counts down. True: there is more to do. */
bool run_work(Run *run, guint *budget, RunAction action, void *arg);

void run_keep(Run *run);
void run_undo(Run *run);

/* ---- state ---- */

/* NODE_RUNNING, or the final state of the run. */
NodeState run_state(const Run *run);
bool run_is_stopping(const Run *run);
bool run_is_full(const Run *run); /* a node has failed because of `nodes_max` */

guint32 run_nodes(const Run *run);    /* indices below it are made or reserved for a loop */
guint32 run_children(const Run *run); /* of all DAGs that have started */
const RunNode *run_node(const Run *run, guint32 node);
const RunChild *run_child(const Run *run, guint32 child);
const RunDag *run_dag(const Run *run, guint32 dag);
guint32 run_dags(const Run *run);
/* The child of a component in an instance of its DAG. */
guint32 run_child_of(const Run *run, guint32 dag, guint32 component);
guint32 run_child_component(const Run *run, guint32 child);
guint32 run_node_child(const Run *run, guint32 node);
/* The state of a node of a child, made or not. */
NodeState run_state_of(const Run *run, guint32 index, guint32 number);
guint32 run_slots_used(const Run *run);
guint32 run_paused(const Run *run);       /* children that are paused */
guint32 run_paused_first(const Run *run); /* the one that paused first; RUN_NONE: none */
bool run_is_stepping(const Run *run);
guint32 run_epoch(const Run *run); /* grows when all that is paused goes on */
/* NULL: it never paused. */
const RunPause *run_pause_of(const Run *run, guint32 child);

/* Calls `changed` for each node that has changed since run_keep, once. */
void run_changed(const Run *run, void (*changed)(void *arg, guint32 node), void *arg);
/* The same for each node that failed, or was terminated without a stop, since run_keep, and is no DAG that had started: it
 * is the deepest reason for a failure of the nodes above it. */
void run_failed_leaves(const Run *run, void (*failed)(void *arg, guint32 node), void *arg);
/* The same for each child that must be stored beside its nodes, and has changed: a loop whose length became known, a
 * child whose nodes never will be made, and one that has paused or went on. It may be called twice for a child. */
void run_changed_children(const Run *run, void (*changed)(void *arg, guint32 child), void *arg);
/* True if the child is a loop whose list has `count` items, with the nodes from `first` on. */
bool run_child_is_loop(const Run *run, guint32 child);
gsize run_size(const Run *run); /* bytes, without the definition */

/* ---- after a restart, or for a retry ----
 *
 * A new run gets the nodes of the earlier one, each after the node of its DAG, then run_restored. Children of a loop are
 * told before their nodes. A node that was LOOKING, or STARTING without a job, is not told: it is made again. One that was
 * STOPPING without a job is TERMINATED. */

/* The loop of a component in the DAG of node `dag_node`: its nodes are `first` to first + count - 1. */
void run_restore_loop(Run *run, guint32 dag_node, guint32 component, guint32 first, guint32 count);
/* Of `was`: component, number, job, state and culprit. `inner`: a DAG that had started. */
void run_restore_node(Run *run, guint32 index, guint32 dag_node, const RunNode *was, bool inner);
/* What a child's RunPause was: kind, at, epoch, passed. After all nodes. */
void run_restore_pause(Run *run, guint32 dag_node, guint32 component, const RunPause *was);
/* As it was (run_is_stepping, run_epoch); before run_restored. */
void run_restore_steps(Run *run, bool stepping, guint32 epoch);
/* The run goes on with the next run_work; call run_keep before it. */
void run_restored(Run *run, bool stopping, bool forced);
