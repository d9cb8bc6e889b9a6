/* The cluster's resources for us: its nodes, minus the requests of pods of others. Pure. The sums of a node
 * are updated when pods change, so that thousands of pods cost one addition each. */
#pragma once

#include "base/json.h"
#include "runtime/runtime.h"

typedef struct Neighbours Neighbours;

Neighbours *neighbours_new(void);
void neighbours_free(Neighbours *neighbours); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Neighbours, neighbours_free)

/* "paddle-server!=ID": selects the pods of others. NEIGHBOURS_FIELDS selects pods that use resources of a
 * node. */
char *neighbours_selector(const char *server);
#define NEIGHBOURS_FIELDS "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

/* Removes everything from a pod except its name and the fields that are read here: for a cache. */
void neighbours_trim(json_t *pod);
/* A trimmed pod was added (old NULL), changed or deleted (new NULL). */
void neighbours_change(Neighbours *neighbours, const json_t *old, const json_t *new);

/* The resources of a node for members, and what others use of it; the caller's. */
RuntimeNode *neighbours_node(const Neighbours *neighbours, const json_t *node);

/* "not ready: ..."; the caller's; NULL: it is ready. */
char *neighbours_unready(const json_t *node);
