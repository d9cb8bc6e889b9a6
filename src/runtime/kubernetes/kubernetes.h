/* The Kubernetes runtime: members are pods of a cluster that is reached by its API server (doc/kubernetes.md,
 * "The runtime"). One thread with its own loop holds the client and two list-watch caches, pods and nodes;
 * the caches are the truth, everything else is found again from them. */
#pragma once

#include "runtime/runtime.h"

typedef struct {
        const char *name;       /* of the cluster, for messages */
        const char *credential; /* a kubeconfig, in base64 or as it is; everything it needs is in it */
        const char
                *setting; /* {"image": REF} for jobs that name none; other texts say nothing here; or NULL */
        const char *state_dir; /* logs are kept beside those of other jobs */
        const char *server;    /* the server's id: a label of all its pods */
        gint64 log_limit;      /* bytes per log file; 0: none */
} KubernetesConfig;

/* ERR_INVALID with what is wrong with the credential. Freed by its op. */
Runtime *kubernetes_runtime_new(const KubernetesConfig *config, GError **error);
