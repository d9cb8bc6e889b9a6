/* The nodes of a run for clients: as pages, and as a tree. They are made of what is stored and of the definition, which
 * is compiled once and kept for the next requests. */
#pragma once

#include "api/v1/run-texts.h"
#include "model/run-record.h"
#include "store/store.h"

/* The names of a node and of the DAGs around it, "d-1.train"; NULL: it was deleted meanwhile, or an error of the store. The
 * caller's. `dags` keeps DAGs that were read: run_paths_new. `numbers`: with the numbers in loops. */
GHashTable *run_paths_new(void);
char *run_node_path(Store *store, const RunText *text, GHashTable *dags, const RunNodeRecord *node,
                    bool numbers, GError **error);

/* The node with this index, which is kept in `dags`; NULL: there is none, or an error of the store. */
const RunNodeRecord *run_find_node(Store *store, GHashTable *dags, gint64 run, guint32 node, GError **error);

/* {"node", "parent", "path", "name", "type", "number", "state", "job", "run", "cached", "started_at", "finished_at", "message"} of each
 * node of a page; a new array. "run" is that whose result a retry kept, or the cache gave
 * ("cached"). NULL with an error of the store. */
json_t *run_nodes_format(Store *store, const RunText *text, const GPtrArray *nodes, GError **error);

/* RunChildRecord of those that are paused now, at most 100; the caller's. *ret_control: what was set for the run
 * (engine/runs-pause.c), an object; the caller's. NULL with an error of the store. */
GPtrArray *run_pauses_read(Store *store, const RunRecord *run, json_t **ret_control, GError **error);

/* Where the run is paused: {"step": "dag-1.train", "at": "before" | "after"}, at most 100 of them; a new array. `text` NULL:
 * it is paused nowhere. *ret_control as above. NULL with an error of the store. */
json_t *run_pauses_format(Store *store, const RunText *text, const RunRecord *run, json_t **ret_control,
                          GError **error);

/* The components of the run in the order of the definition, each with its instances:
 *      {"name", "type": "step" | "dag" | "loop", "state", "job", "run", "cached", "started_at", "finished_at", "message",
 *       "number", "count", "states": {state: number}, "paused", "parameters", "inputs", "children": [...]}
 * A long loop shows some of its instances only. "parameters" and "inputs": of the first ten that are paused before they begin
 * (run-given.h), with the changed parameters in `edits`. `epoch`: pauses that began earlier are over. `waits`: run_waits_by_component, or NULL. *ret_partial: the run is too
 * large to be shown whole. */
json_t *run_tree_format(Store *store, const RunText *text, const RunRecord *run, gint64 epoch,
                        const json_t *edits, GHashTable *waits, bool *ret_partial, GError **error);
