/* Exact packing of gangs of two roles; private to sched/. See pack.c. */
#pragma once

#include "sched/state.h"

typedef struct {
        Node *node;
        Resources available;
} PackSpot;

/* True if the gang has exactly two roles; *ret_a is the one with fewer tasks. */
bool pack_roles(const Gang *gang, int *ret_a, int *ret_b);
/* Adds the node if a task of the gang fits into `available`. */
void pack_add(GArray *spots, const Gang *gang, Node *node, const Resources *available);
/* Puts `n` tasks of the role on `node`; false: they do not fit after all. */
typedef bool (*PackPut)(Node *node, int role, int n, void *arg);
/* Calls `put` for each place of the packing. False: the gang does not have two roles, or does not fit, or
 * `put` returned false (then the caller undoes what was put). */
bool pack_gang(const Gang *gang, const PackSpot *spots, int n, PackPut put, void *arg);
