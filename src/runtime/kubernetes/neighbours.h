/* What a cluster has for us: its nodes, less what the pods of others request there. Pure; the sums of a node
 * are kept as pods come and go, so that thousands of pods cost one addition each. */
#pragma once

#include "base/json.h"
#include "runtime/runtime.h"

typedef struct Neighbours Neighbours;

Neighbours *neighbours_new(void);
void neighbours_free(Neighbours *neighbours); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Neighbours, neighbours_free)

/* "paddle-server!=ID": whose pods are others'; and those that hold a node's room. */
char *neighbours_selector(const char *server);
#define NEIGHBOURS_FIELDS "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

/* Leaves of a pod its name and what follows here: for a cache. */
void neighbours_trim(json_t *pod);
/* A trimmed pod came (old NULL), changed or went (new NULL). */
void neighbours_change(Neighbours *neighbours, const json_t *old, const json_t *new);

/* What members may use of a node, and what others hold of it; the caller's. */
RuntimeNode *neighbours_node(const Neighbours *neighbours, const json_t *node);

/* "not ready: ..."; the caller's, NULL: it is ready. */
char *neighbours_unready(const json_t *node);

/* The tolerations of a pod that asks for so much: of the taints that usable nodes may have, and for how long
 * it stays bound to a node that is not heard of. */
json_t *neighbours_tolerations(const Resources *wants);
