/* The nodes of a run for clients: as pages, and as a tree. They are made of what is stored and of the definition, which
 * is compiled once and kept for the next requests. */
#pragma once

#include "engine/run-plan.h"
#include "model/run-record.h"
#include "pipeline/definition.h"
#include "store/store.h"

/* Compiled definitions of the runs that were shown lately and have ended: at most 16, and 32 MiB of text. Those of other
 * runs are the engine's. Any thread. */
typedef struct RunTexts RunTexts;
RunTexts *run_texts_new(Engine *engine);
void run_texts_free(RunTexts *texts); /* NULL is a no-op */

/* A definition that somebody reads. */
typedef struct {
        const Definition *definition;
        gsize size;       /* of its text */
        Definition *own;  /* or NULL: */
        RunPlan *engines; /* the engine's */
} RunText;
void run_text_unref(RunText *text);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunText, run_text_unref)
/* NULL with an error: the run was deleted meanwhile, or its text is not understood any more. */
RunText *run_texts_get(RunTexts *texts, Store *store, const RunRecord *run, GError **error);

/* The names of a node and of the DAGs around it, "d-1.train"; NULL: it was deleted meanwhile, or an error of the store. The
 * caller's. `dags` keeps DAGs that were read: run_paths_new. `numbers`: with the numbers in loops. */
GHashTable *run_paths_new(void);
char *run_node_path(Store *store, const RunText *text, GHashTable *dags, const RunNodeRecord *node,
                    bool numbers, GError **error);

/* {"node", "parent", "path", "name", "type", "number", "state", "job", "run", "started_at", "finished_at", "message"} of each
 * node of a page; a new array. "run" is that whose result a retry kept. NULL with an error of the store. */
json_t *run_nodes_format(Store *store, const RunText *text, const GPtrArray *nodes, GError **error);

/* The components of the run in the order of the definition, each with its instances:
 *      {"name", "type": "step" | "dag" | "loop", "state", "job", "run", "started_at", "finished_at", "message",
 *       "number", "count", "states": {state: number}, "children": [...]}
 * A long loop shows some of its instances only. *ret_partial: the run is too large to be shown whole. */
json_t *run_tree_format(Store *store, const RunText *text, const RunRecord *run, bool *ret_partial,
                        GError **error);
