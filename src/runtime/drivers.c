/* Which driver makes the runtime of a cluster (see drivers.h). */
#include "runtime/drivers.h"

#include "runtime/kubernetes/kubernetes.h"

static Runtime *make_kubernetes(const Cluster *cluster, const DriversConfig *config, GError **error)
{
        return kubernetes_runtime_new(&(KubernetesConfig){ .name = cluster->object.name,
                                                           .credential = cluster->credential,
                                                           .setting = cluster->setting,
                                                           .state_dir = config->state_dir,
                                                           .server = config->server,
                                                           .log_limit = config->log_limit },
                                      error);
}

static Runtime *(*const drivers[CLUSTER_TYPES])(const Cluster *, const DriversConfig *, GError **) = {
        [CLUSTER_KUBERNETES] = make_kubernetes,
        [CLUSTER_K3S] = make_kubernetes,
};

Runtime *drivers_make(const Cluster *cluster, void *config, GError **error)
{
        return drivers[cluster->type] ? drivers[cluster->type](cluster, config, error) : NULL;
}
