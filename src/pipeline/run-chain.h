/* The longest chain of a run: the steps that determined how long it took. It ends with the step that ended last; before each
 * step comes the one that ended last among those that it waited for, through the DAGs around it. Pure: from the rows of the
 * store, which are added one after the other. Of each component in each instance of a DAG only the item that ended last is
 * kept. */
#pragma once

#include "model/run-record.h"
#include "pipeline/definition.h"

enum {
        RUN_CHAIN_CHILDREN_MAX = 250 * 1000,   /* of all instances of DAGs */
        RUN_CHAIN_WORK_MAX = 20 * 1000 * 1000, /* dependencies that are looked at */
};

typedef struct {
        guint32 node, dag, component, number; /* as in RunNodeRecord */
        guint8 state;                         /* NodeState */
        bool cached;                          /* the cache gave its result: `job` is that of another run */
        gint64 job;                           /* seq; 0: none */
        gint64 ready;             /* ms: the end of the one before it; of the first the begin of the run */
        gint64 started, finished; /* ms; ready <= started <= finished */
} RunChainStep;

/* `definition` must outlive it. `begin` is when the run was created, ms. */
typedef struct RunChain RunChain;
RunChain *run_chain_new(const Definition *definition, gint64 begin);
void run_chain_free(RunChain *chain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunChain, run_chain_free)

/* All rows of the run, in order of index. */
void run_chain_add(RunChain *chain, const RunNodeRecord *node);

/* RunChainStep from the first to the last; the caller's. `end` is that of the run, or the present; what runs ends then. Steps
 * that a retry kept take no time and are left out. NULL: the run is too large. */
GArray *run_chain_find(RunChain *chain, gint64 end);
