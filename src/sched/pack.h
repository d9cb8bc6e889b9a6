/* Gangs of two roles, packed exactly; private to sched/. See pack.c. */
#pragma once

#include "sched/state.h"

typedef struct {
        Node *node;
        Resources room;
} PackSpot;

/* Whether the gang has exactly two roles; *ret_a is the one of fewer tasks. */
bool pack_roles(const Ask *ask, int *ret_a, int *ret_b);
/* Adds the node if a task of the gang fits into `room`. */
void pack_add(GArray *spots, const Ask *ask, Node *node, const Resources *room);
/* `n` tasks of the role stand on `node`; false: they do not after all. */
typedef bool (*PackPut)(Node *node, int role, int n, void *arg);
/* Calls `put` with where everything stands. False: the gang is of other than two roles, or does not fit, or
 * `put` said so (what was put is the caller's to undo). */
bool pack_ask(const Ask *ask, const PackSpot *spots, int n, PackPut put, void *arg);
