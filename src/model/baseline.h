/* What the extension template of somebody who is no administrator may ask of a cluster: a list of what is
 * allowed, field by field (baseline-fields.h). Everything else is refused. The list is within Kubernetes' Pod
 * Security Standards, level "Baseline" (kubernetes.io/docs/concepts/security/pod-security-standards), and
 * holds nothing that is others': a node by its name, an account, tolerations, classes, the platform's
 * volumes, secrets and ConfigMaps. The cluster's setting may widen it: {"allow": {"tolerations": ["KEY"],
 * "runtime_classes": [...], ...}} (doc/guide/kubernetes.md). Pure; templates are JSON trees as in extension.h. */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "model/catalog.h"

/* Where the pods will be. */
typedef struct {
        const char *setting; /* of the cluster (cluster.h): its claims and secrets of homes are not for
                                templates, its `allow` widens the list; or NULL */
        bool pods;           /* jobs are pods there */
        bool chosen;         /* the namespace is the job's own choice: nothing that lies there is */
} BaselinePlace;

/* Of a job that names the namespace, or none (NULL). Borrowed from the catalog. `queue`: NULL where there is
 * none of its name. */
BaselinePlace baseline_place(const Catalog *catalog, const Queue *queue, const char *namespace);

/* ERR_DENIED says what of the template is an administrator's to ask for, and where it stands; ERR_INVALID
 * what of it cannot be read (extension_check_pods). `template`: or NULL. */
bool baseline_check(const json_t *template, const BaselinePlace *place, GError **error);

/* The same of all templates that a specification's origin brings: {"paddleflow": {"extensionTemplate"?,
 * "defaultTemplate"?, "members"?: [{"extensionTemplate"?}]}}. `origin`: or NULL. */
bool baseline_check_origin(const json_t *origin, const BaselinePlace *place, GError **error);

/* Labels or annotations ("K=V", or NULL) that a job's pods will carry, as a template's: with a prefix
 * ("a.b/c") they speak to what runs in the cluster. `where`: "labels". Where jobs are no pods all are
 * allowed. */
bool baseline_check_words(const char *where, char *const *words, const BaselinePlace *place, GError **error);
