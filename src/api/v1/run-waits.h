/* Why steps of a run do not go on: the job of a step waits in its queue, or a step waits for the job of another run, whose
 * result it may take from the cache. */
#pragma once

#include "api/v1/run-texts.h"
#include "model/run-record.h"
#include "pipeline/run-parts.h"

typedef struct Api Api;

/* [{"step", "state", "job", "message"}] of a run that has not ended, at most 100; a new array. "state" is "queued", or
 * "pending" of a step without a job of its own. NULL with an error of the store. */
json_t *run_waits_format(Api *api, const RunText *text, const RunRecord *run, GError **error);
/* run_child_key of a component -> char *: why it waits for another run; NULL: none does. The caller's. */
GHashTable *run_waits_by_component(Api *api, const RunRecord *run);
/* Adds them to the parts of a picture. False with an error of the store. */
bool run_waits_add_parts(Api *api, const RunRecord *run, RunParts *parts, GError **error);
/* Completes nodes, or the items of a tree (run_tree_format): "job_state" of steps that run, and their message if the job waits. */
void run_waits_put(Api *api, json_t *items);
