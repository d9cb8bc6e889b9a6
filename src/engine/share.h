/* Default resources for members that declare none (model/spec.h), and their limits. Pure.
 *
 *         CPU      the default of queue or cluster; else a core, or as much as lets all members of the job
 *                  fit on the nodes beside the cluster's own pods
 *         memory   the default of queue or cluster; else, where a queue limits memory, the same fraction of
 *                  the machines' memory as of their CPU or GPUs, but at most as much as lets all members of
 *                  the job fit into that limit; else none
 */
#pragma once

#include <glib.h>

#include "model/catalog.h"
#include "model/spec.h"

/* The place where a job runs; borrowed. */
typedef struct {
        const Catalog *catalog;
        const Queue *queue;     /* NULL: it was deleted, so it has no limits */
        const GPtrArray *nodes; /* RuntimeNode; only usable nodes with the labels that the job requests count;
                                   NULL: one machine, with `total` */
        const Resources *total;
} SharePlace;

/* If all members together would not fit with any share, CPU is an equal part of `total`. */
SpecShare share_on(const SharePlace *place, const Spec *spec);

/* The cgroup limits of a member: what it declares, and its share of a kind that the queue limits or has a
 * default for. 0: no limit. */
void share_hold(const SharePlace *place, const Spec *spec, int role, SpecShare share, Resources *ret);
