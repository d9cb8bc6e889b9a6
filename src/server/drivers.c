/* Selects the driver for a cluster's runtime (see drivers.h). */
#include "server/drivers.h"

#include "runtime/kubernetes/cluster/credential.h"
#include "runtime/kubernetes/kubernetes.h"

static Runtime *make_kubernetes(const Cluster *cluster, const DriversConfig *config, GError **error)
{
        /* Two of our clusters may be the same one, with other rights or namespaces: each has its own pods. */
        g_autofree char *owner = g_strdup_printf("%s.%s", config->server, cluster->object.id);

        return kubernetes_runtime_new(&(KubernetesConfig){ .name = cluster->object.name,
                                                           .credential = cluster->credential,
                                                           .setting = cluster->setting,
                                                           .namespaces =
                                                                   (const char *const *)cluster->namespaces,
                                                           .state_dir = config->state_dir,
                                                           .server = owner,
                                                           .dc = config->dc,
                                                           .log_limit = config->log_limit,
                                                           .builds = config->builds,
                                                           .pending_ms = config->pending_ms,
                                                           .k3s = cluster->type == CLUSTER_K3S },
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

bool drivers_check(const Cluster *cluster, GError **error)
{
        GError *why = NULL;
        DriversConfig nowhere = { .state_dir = "", .server = "" };
        Runtime *runtime = drivers_make(cluster, &nowhere, &why);

        runtime_free(runtime);
        if (why)
                g_propagate_error(error, why);
        return !why;
}

bool drivers_elsewhere(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now)
{
        return drivers[was->type] == make_kubernetes && drivers[now->type] == make_kubernetes &&
               credential_elsewhere(was->credential, now->credential, ret_was, ret_now);
}
