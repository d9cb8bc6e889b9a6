/* The status of a PaddleJob: pods counted by role, the phase that follows, times. Pure. */
#pragma once

#include <glib.h>

#include "operator/paddlejob.h"

/* Name of the init container that holds a pod back until the names of its peers resolve. */
#define COORD_CONTAINER "coord-paddle"
/* The condition of a pod by which Kubernetes says why it takes the pod away; the only one that is read. */
#define POD_DISRUPTED "DisruptionTarget"

/* The phase that the job is in now. `pods`: those that it owns. `has_problem`: of its spec, so that it
 * neither runs nor completes. `*ret_patch`: a merge patch of what differs in the status, or NULL; the
 * caller's. */
JobPhase job_status(const PaddleJob *job, const GPtrArray *pods, bool has_problem, gint64 now_ms,
                    json_t **ret_patch);
