/* A naive run: it has an object for each instance, and looks at all of them after each event. It has the same rules as
 * pipeline/run.c, without counts, without a queue of work, without undo.
 *
 *      Model ── root, post: a Thing, an instance of a DAG or of a step
 *                 └── Group for each component of the DAG ── Thing for each item of its loop */
#pragma once

#include "pipeline/run.h"
#include "pipeline/test/random-definition.h"

typedef struct Thing Thing;
typedef struct {
        Part *part;
        Thing *dag;
        bool queued, started, asked, failed;
        bool again;     /* a retry makes it again */
        NodeState rest; /* of things that were never made */
        guint count;    /* 0: not known */
        RunPauseKind pause;
        bool ended;       /* it was looked at once whether it pauses after its end */
        guint at, passed; /* as in RunPause */
        GPtrArray *things;
} Group;

/* An instance. */
struct Thing {
        Group *group;
        guint number;
        NodeState state;
        char *path;
        bool job, slot;
        bool parked, wants;                           /* it gave its slot back once; it waits for one again */
        bool holds;                                   /* its condition */
        bool stopping, broken, terminated, cancelled; /* of a DAG */
        bool changed;                                 /* of a DAG: a retry makes something in it again */
        GPtrArray *groups;                            /* of a DAG that was entered */
};

/* All that is left of a group, or one thing. */
typedef struct {
        Group *group;
        Thing *thing; /* or NULL */
} Waiter;

typedef struct {
        const Plan *plan;
        Thing *root, *post; /* post: NULL until it begins */
        GQueue queue;       /* Group */
        GQueue waiting;     /* Waiter: for slots */
        GQueue paused;      /* Group */
        GPtrArray *breaks;  /* texts: "before c1.c2-3" */
        bool stepping;
        guint slots, asks;
        bool stopping, forced, ended;
        NodeState state;
        guint salt;
        GPtrArray *actions; /* texts, since the last event */
        GPtrArray *open;    /* texts: actions that have no answer yet */
} Model;

void thing_free(void *data);

/* ---- paths; what a reader of it asks ---- */

/* Of an instance: "run/c3/c5-2"; the caller's. */
char *model_path(const char *dag, const char *name, guint number);
char *group_path(const Group *group);
/* How an instance fares follows from this, so that it is the same after a restart. */
guint model_hash(guint salt, const char *path, const char *what);
Thing *thing_find(Thing *dag, const char *path);
Group *group_find(Thing *dag, const char *path);
/* The number of the next thing to make; group->count: none. */
guint group_next(const Group *group);
/* Also if it pauses after its end. */
bool group_ended(const Group *group);
bool group_all_ok(const Group *group);
bool group_deps_ok(const Group *group);
bool group_loops(const Model *model, const Group *group);
/* All states as one text; the caller's. */
char *model_dump(const Model *model);

/* ---- what happens ---- */

/* It asks for an action. */
void model_say(Model *model, const char *what, const char *path);
void thing_enter(Model *model, Thing *thing, const Part *body);
void thing_end(Model *model, Thing *thing, NodeState state);
void thing_stop(Model *model, Thing *dag);
/* One thing in place of all of a group. */
void group_placeholder(Model *model, Group *group, NodeState state);
void model_wait_for_slot(Model *model, Group *group, Thing *thing);
/* The next thing that follows; false: nothing does. model_settle: in the entry points, but for new things. */
bool model_settle(Model *model);
bool model_follow(Model *model);

/* ---- pauses (run-model-pause.c) ---- */

/* 0: before its loop is made, N + 1: before its item N, -1: between no two things. */
gint64 group_place(const Model *model, const Group *group);
/* True: it has paused. */
bool group_pauses_before(Model *model, Group *group);
bool model_pauses_after(Model *model, Thing *dag);
/* `first`: it comes before the others that are ready. */
void group_goes_on(Model *model, Group *group, bool first);
void model_continue(Model *model, bool first);

/* ---- after a restart, for a retry (run-model-again.c) ---- */

/* Questions without an answer are asked again; a job that was not made when its stop came never will be. */
void model_forget_asked(Model *model, Thing *dag);
void model_queue_again(Model *model, Thing *dag);
/* `from`: "c3.c5", or NULL. */
void model_retry(Model *model, const char *from);
