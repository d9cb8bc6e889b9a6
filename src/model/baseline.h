/* What the extension template of somebody who is no administrator may ask of a cluster: Kubernetes' Pod
 * Security Standards, level "Baseline" (kubernetes.io/docs/concepts/security/pod-security-standards), and
 * nothing that is others': a node by its name, an account, the system's priorities, the platform's
 * volumes, secrets and ConfigMaps. Pure; templates are JSON trees as in extension.h. */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* ERR_DENIED says what of the template is an administrator's to ask for, and where it stands; ERR_INVALID
 * what of it cannot be read (extension_check_pods). `setting`: of the cluster (cluster.h), whose claims and
 * secrets of homes are not for templates. Both: or NULL. */
bool baseline_check(const json_t *template, const char *setting, GError **error);

/* The same of all templates that a specification's origin brings: {"paddleflow": {"extensionTemplate"?,
 * "defaultTemplate"?, "members"?: [{"extensionTemplate"?}]}}. `origin`: or NULL. */
bool baseline_check_origin(const json_t *origin, const char *setting, GError **error);
