/* What clients of PaddleFlow find at the pods of their jobs (doc/reference/scheduling.md, "Labels and
 * annotations" to "Job templates", and "Clusters of type K3S"): labels and annotations, the priority class,
 * the scheduler, which nodes, and the job's extension template as their base. Pure; every form of a job
 * (form.h) is made of pods that were filled in here. */
#pragma once

#include "base/json.h"
#include "runtime/runtime.h"

typedef struct {
        const char *scheduler;      /* that schedules pods; NULL: the cluster's own */
        const char *const *classes; /* the priority classes of the cluster that jobs use; or NULL */
        bool k3s;                   /* pods get the node's name */
} TemplateCluster;

/* The priority class of a job: "very-low", "low", "normal", "high", "very-high". */
const char *template_class(int priority);
extern const char *const template_classes[6]; /* all of them; NULL ends the list */

/* Fills the pod of a member of `role`, as member.h created it, in place. Lists get entries whose name, or
 * path, they do not have; of two the template's stays. Values that the job sets itself (image, command,
 * resources) stay the job's. */
void template_fill(const TemplateCluster *cluster, const RuntimeAttempt *attempt, const char *role,
                   json_t *pod);
