/* Restrictions on extension templates of users who are not administrators: a list of permitted fields and
 * values (baseline-fields.h). Everything else is refused. The list is within Kubernetes' Pod Security
 * Standards, level "Baseline" (kubernetes.io/docs/concepts/security/pod-security-standards). It excludes node
 * names, service accounts, tolerations, classes, and the platform's volumes, secrets and ConfigMaps. The
 * cluster's setting may permit more: {"allow": {"tolerations": ["KEY"], "runtime_classes": [...], ...}}
 * (doc/guide/kubernetes.md). Pure; templates are JSON trees as in extension.h. */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "model/catalog.h"

/* Where the pods will be. */
typedef struct {
        const char *setting; /* of the cluster (cluster.h); or NULL. Templates may not use its claims and its
                                secrets of homes. Its `allow` widens the list */
        bool pods;           /* jobs run as pods there */
        bool chosen;         /* the job chose the namespace itself: its template may use no object of that
                                namespace */
} BaselinePlace;

/* The place of a job that names the namespace, or none (NULL). Borrowed from the catalog. `queue`: NULL if
 * there is no queue of its name. */
BaselinePlace baseline_place(const Catalog *catalog, const Queue *queue, const char *namespace);

/* ERR_DENIED names the field of the template that only an administrator may set, and its path. ERR_INVALID
 * names a field that cannot be read (extension_check_pods). `template` may be NULL. */
bool baseline_check(const json_t *template, const BaselinePlace *place, GError **error);

/* The same of all templates that a specification's origin brings: {"paddleflow": {"extensionTemplate"?,
 * "defaultTemplate"?, "members"?: [{"extensionTemplate"?}]}}. `origin`: or NULL. */
bool baseline_check_origin(const json_t *origin, const BaselinePlace *place, GError **error);

/* Labels or annotations ("K=V", or NULL) that a job's pods will carry, checked as a template's are: those
 * with a prefix ("a.b/c") address software of the cluster. `where`: "labels". All are allowed where jobs are
 * no pods. */
bool baseline_check_words(const char *where, char *const *words, const BaselinePlace *place, GError **error);
