/* The owner of an object whose name a job needs. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/kind.h"

/* The ownerReference names an object of this kind, in whatever version of its group; of NULL nothing is so.
 */
bool owner_is(const json_t *owner, const KubeKind *kind);

/* Why an object that the job does not control is in its way: a sentence for people; the caller's. NULL when
 * it goes by itself: it is being deleted, or belonged to a job of this kind and name before this one. */
char *owner_problem(const KubeKind *kind, const json_t *object, const KubeKind *job_kind,
                    const char *job_name);
