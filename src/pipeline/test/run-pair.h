/* A run beside its naive model: both get the same events, and must have asked for the same actions and have the same
 * states after each. */
#pragma once

#include "pipeline/run.h"
#include "pipeline/test/run-model.h"

typedef struct {
        Plan plan;
        Definition *definition;
        Run *run;
        Model model;
        GPtrArray *actions; /* of the run, as those of the model */
        GHashTable *nodes;  /* index -> StoredNode: what the changes that were reported add up to */
        GHashTable *loops;  /* first node -> StoredLoop */
        GHashTable *pauses; /* (dag, component) -> StoredPause */
        RunBreaks *breaks;  /* those of the model; or NULL */
        guint rests;        /* children whose nodes never will be made, as reported */
        guint paused;       /* times that something was paused when it was told to go on */
        guint parked;       /* steps that gave their slot back */
        bool breaking;      /* it has breakpoints */
        guint seed;
} Pair;

typedef struct {
        RunNode node;
        guint32 dag_node;
        bool inner;
} StoredNode;

typedef struct {
        guint32 dag_node, component, count;
} StoredLoop;

typedef struct {
        guint32 dag_node, component;
        RunPause pause;
} StoredPause;

void pair_init(Pair *pair, guint seed);
void pair_clear(Pair *pair);

/* Paths as the model has them; the caller's. */
char *pair_node_path(const Pair *pair, guint32 node);
char *pair_child_path(const Pair *pair, guint32 child);
/* The program ends if there is none. */
guint32 pair_node(const Pair *pair, const char *path);
guint32 pair_child(const Pair *pair, const char *path);

/* All states of the run as one text; the caller's. */
char *pair_dump(const Pair *pair);
/* A RunActionFn; `arg` is a Pair. */
void pair_on_action(void *arg, RunActionKind kind, guint32 index);
/* The run does all its work, in random parts. */
void pair_work(Pair *pair);
/* The program ends unless run and model agree. */
void pair_compare(Pair *pair, const char *after);
/* What a commit would write. */
void pair_store(Pair *pair);
/* True if there are children whose nodes never will be made. */
bool pair_has_rests(const Pair *pair);

/* ---- run-pair-again.c ---- */

/* A new run from what was stored. */
void pair_restart(Pair *pair);
/* A retry of one that has ended, perhaps from a random component on. */
void pair_retry(Pair *pair);
