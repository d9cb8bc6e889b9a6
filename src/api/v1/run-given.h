/* The parameters and the paths of inputs that a component will get, which is paused before it begins. They are read from
 * the store. Any thread. */
#pragma once

#include <jansson.h>

#include "model/run-record.h"
#include "pipeline/definition.h"
#include "store/store.h"

typedef struct {
        Store *store;
        const Definition *definition;
        const RunRecord *run;
        const json_t *edits;  /* changed parameters, as in RenderContext; or NULL */
        GHashTable *nodes;    /* (dag, component), a run_child_key -> GPtrArray of RunNodeRecord */
        GHashTable *children; /* the same -> RunChildRecord */
        GHashTable *known;    /* nodes that were read one by one, of run_paths_new */
} RunGiven;

/* Puts "parameters", an object, and "inputs", an object of paths, into `object`; or a "message" why the component will
 * fail. At most 100 of each; long texts are cut, and of the paths of a loop 20 are named: both end with "...". */
void run_given_put(const RunGiven *given, guint32 dag, guint32 component, json_t *object);
