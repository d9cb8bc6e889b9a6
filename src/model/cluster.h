/* Clusters and resource pools (doc/reference/paddleflow-api.md, "Clusters" and "Resource pools"). */
#pragma once

#include "model/object.h"
#include "model/queue.h"
#include "model/resources.h"

typedef enum { CLUSTER_KUBERNETES, CLUSTER_LOCAL, CLUSTER_K3S, CLUSTER_TYPES } ClusterType;
const char *cluster_type_name(ClusterType type);             /* "Kubernetes", "Local", "K3S" */
bool cluster_type_parse(const char *name, ClusterType *ret); /* exact case */

typedef struct {
        Object object;
        ClusterType type;
        bool offline;
        char *description, *endpoint, *source, *version, *credential, *setting; /* NULL: "" */
        char **namespaces;       /* namespaces for users' jobs; NULL: those of the queues */
        ResourceLimits defaults; /* for members that declare none, if no queue sets one: cpu, memory */
} Cluster;

/* A setting that is a JSON object may hold passwords: members called "password", at any depth. They are shown
 * as CLUSTER_HIDDEN. A new setting with CLUSTER_HIDDEN keeps the password that was in the same place. Other
 * texts are shown unchanged. The caller's. */
#define CLUSTER_HIDDEN "***"
char *cluster_setting_show(const char *setting);
char *cluster_setting_keep(const char *setting, const char *was); /* `was` may be NULL */

#define CLUSTER_DEFAULT "default-cluster"

typedef struct {
        Object object;
        char *namespace, *type, *provider, *org_id, *creator, *description, *cluster;
        QuotaType quota_type;
        ResourceLimits total, min;
        char **labels, **annotations; /* "K=V" sorted; NULL: none */
        bool hybrid;
        char *status; /* "creating", "open", "closed" */
} Pool;
