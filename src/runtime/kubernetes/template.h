/* What clients of PaddleFlow find at the pods of their jobs (doc/reference/scheduling.md, "Labels and
 * annotations" to "Job templates", and "Clusters of type K3S"): labels and annotations, the priority class,
 * the scheduler, which nodes, and the job's extension template as their base. Pure; every form of a job
 * (form.h) is made of pods that were filled in here. */
#pragma once

#include "base/json.h"
#include "runtime/runtime.h"

typedef struct {
        const char *scheduler; /* that places pods; NULL: the cluster's own */
        const char *const
                *classes; /* the priority classes that the cluster has, of those that jobs use; or NULL */
        bool k3s;         /* pods are told the node's name */
} TemplateCluster;

/* The priority class of a job: "very-low", "low", "normal", "high", "very-high". */
const char *template_class(int priority);
extern const char *const template_classes[6]; /* all of them; NULL ends the list */

/* `pod`: of a member of `role`, as member.h made it; changed in place. Lists grow by what is not there under
 * the same name, or path, and of two the template's stays; what the job says itself (image, command,
 * resources) stays the job's. */
void template_fill(const TemplateCluster *cluster, const RuntimeAttempt *attempt, const char *role,
                   json_t *pod);

/* The id by which PaddleFlow's clients know the job; the caller's. */
char *template_flow_id(const RuntimeAttempt *attempt);
