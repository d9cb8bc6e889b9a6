/* What a cluster of type Kubernetes is reached by: a kubeconfig, in base64 (doc/reference/paddleflow-api.md,
 * "Clusters") or as it is, with everything it needs in it. Pure. */
#pragma once

#include <stdbool.h>

#include "kube/config.h"

/* `cluster`: its name, for messages. ERR_INVALID with what is wrong; free the result with
 * kube_config_free. */
KubeConfig *credential_parse(const char *cluster, const char *credential, GError **error);

/* True if the two lead to different clusters. A cluster may have several addresses, and its authority may be
 * renewed, so they are different only if both address and authority differ. The outputs are their servers,
 * the caller's. A credential that cannot be read never counts as different. */
bool credential_elsewhere(const char *was, const char *now, char **ret_was, char **ret_now);
