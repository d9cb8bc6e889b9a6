/* The Kubernetes runtime: members are pods of a cluster that is reached by its API server (doc/internals/kubernetes.md,
 * "The runtime"). One thread with its own loop holds the client and two list-watch caches, pods and nodes;
 * the caches are the truth, everything else is found again from them. */
#pragma once

#include "runtime/environment/bounds.h"
#include "runtime/runtime.h"

typedef struct {
        const char *name;              /* of the cluster, for messages */
        const char *credential;        /* a self-contained kubeconfig, in base64 or as plain text */
        const char *setting;           /* see setting.h; or NULL */
        const char *const *namespaces; /* that jobs may use; NULL: any */
        const char *state_dir;         /* logs are kept beside those of other jobs */
        const char *server;            /* the ids of server and cluster: a label of all its pods */
        const char *dc;                /* its datacenter, as in /pfs/<dc>/... */
        gint64 log_limit;              /* bytes per log file; 0: none */
        BuildBounds builds;            /* for builders of images */
        gint64 pending_ms;             /* OBSERVED_STUCK after this time without a node; 0: never */
        bool k3s;                      /* doc/reference/scheduling.md, "Clusters of type K3S" */
} KubernetesConfig;

/* ERR_INVALID with what is wrong with the credential. Freed by its `free` operation. */
Runtime *kubernetes_runtime_new(const KubernetesConfig *config, GError **error);
