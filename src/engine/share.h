/* What members get that declare nothing (model/spec.h), and what is held of it. Pure.
 *
 *         CPU      the default of queue or cluster; else a core, or as much as lets all members of the job
 *                  stand beside what never goes from the nodes
 *         memory   the default of queue or cluster; else, where a queue limits memory, the part of the
 *                  machines that its CPU or its GPUs are, but no more than lets all members of the job fit
 *                  into that limit; else none
 */
#pragma once

#include <glib.h>

#include "model/catalog.h"
#include "model/spec.h"

/* Where a job runs: borrowed. */
typedef struct {
        const Catalog *catalog;
        const Queue *queue;     /* NULL: one that has gone, without limits */
        const GPtrArray *nodes; /* RuntimeNode; those count that are usable and have the labels that the job
                                   asks for; NULL: it is one machine, of `total` */
        const Resources *total;
} SharePlace;

/* Where all of its members together would not fit whatever they get, CPU is an equal part of `total`. */
SpecShare share_on(const SharePlace *place, const Spec *spec);

/* What cgroups hold of a member: what it declares, and what it is given of a kind that the queue limits or
 * has a default for. 0: nothing holds it. */
void share_hold(const SharePlace *place, const Spec *spec, int role, SpecShare share, Resources *ret);
