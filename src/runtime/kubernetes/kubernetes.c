/* The Kubernetes runtime (see kubernetes.h).
 *
 *   engine's thread ── Order ──▶ the runtime's thread: client, caches, one Task for each member
 *                   ◀─ Observation ──
 *
 * A Task is the state of a member (member-state.c). It exists while the member's pod exists, or an order for the
 * member is being carried out. Observations follow from the pod alone. So after a restart the runtime looks at all
 * pods, and tells everything again.
 *
 * An end is told when the pod's log is complete. A pod that ended by itself stays until its job's time to live is
 * over (object/kept.h); other pods are deleted when their end is forgotten. */
#include "runtime/kubernetes/kubernetes.h"

#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "model/job.h"
#include "runtime/kubernetes/cluster/credential.h"
#include "runtime/kubernetes/image/image.h"
#include "runtime/kubernetes/pod/volcano-objects.h"
#include "runtime/kubernetes/internal.h"

/* ---- the other doors ---- */

/* Each pod has an address of its own. */
static bool op_lease_ports(Runtime *runtime, const char *job_id, int n, int extra, int *ret_ports,
                           GError **error)
{
        for (int i = 0; i < n; i++)
                ret_ports[i] = MEMBER_PORT;
        for (int i = 0; i < extra; i++)
                ret_ports[n + i] = MEMBER_EXTRA_PORT + i;
        return true;
}

static void op_keep_ports(Runtime *runtime, const char *job_id, int n, const int *ports)
{
}

static void op_release_ports(Runtime *runtime, const char *job_id)
{
}

static char *op_log_path(Runtime *runtime, const char *job_id, int attempt, const char *role, int index)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        if (strcmp(role, "environment") == 0)
                return images_log_path(k8s->state_dir, job_id);
        return k8s_log_path(k8s, job_id, attempt, role, index);
}

static char *op_address(Runtime *runtime, const RuntimeAttempt *attempt, const char *role, int index)
{
        MemberHome home = k8s_home((Kubernetes *)runtime, attempt);

        return member_address(&home, attempt->job->id, attempt->job->attempt, role, index);
}

static GPtrArray *op_nodes(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        GPtrArray *copy = g_ptr_array_new_with_free_func(node_free);

        g_mutex_lock(&k8s->lock);
        for (guint i = 0; i < k8s->inventory->len; i++)
                g_ptr_array_add(copy, runtime_node_copy(k8s->inventory->pdata[i]));
        g_mutex_unlock(&k8s->lock);
        return copy;
}

static void op_inventory(Runtime *runtime, Resources *ret_total)
{
        g_autoptr(GPtrArray) nodes = op_nodes(runtime);

        *ret_total = (Resources){ 0 };
        for (guint i = 0; i < nodes->len; i++) {
                const RuntimeNode *node = nodes->pdata[i];

                if (node->usable)
                        (void)resources_add(ret_total, &node->allocatable, 1);
        }
}

/* ---- the thread ---- */

static void on_prepared(const char *job_id, const char *problem, void *arg)
{
        k8s_tell_prepared(arg, job_id, problem);
}

static void on_image_made(const ImageWish *of, void *arg)
{
        k8s_note_recipe(arg, of);
}

static void open_images(Kubernetes *k8s)
{
        k8s->packings = packings_new(&(PackingConfig){
                .context = k8s->context, .state_dir = k8s->state_dir, .done = on_prepared, .arg = k8s });
        if (k8s->setting->registry.address)
                k8s->images = images_new(&(ImagesConfig){ .client = k8s->client,
                                                          .context = k8s->context,
                                                          .logs = k8s->logs,
                                                          .deletions = k8s->deletions,
                                                          .setting = k8s->setting,
                                                          .cluster = k8s->name,
                                                          .namespace = k8s->namespaces[0],
                                                          .server = k8s->server,
                                                          .state_dir = k8s->state_dir,
                                                          .log_limit = k8s->log_limit,
                                                          .bounds = k8s->bounds,
                                                          .done = on_prepared,
                                                          .made = on_image_made,
                                                          .arg = k8s });
}

typedef struct {
        Kubernetes *k8s;
        const char *namespace;
} Group;

static void look_at_member(const json_t *pod, void *arg)
{
        const Group *group = arg;

        if (strcmp(kube_namespace(pod), group->namespace) == 0)
                pods_look_at(group->k8s, pod);
}

/* The reason of a group is the reason of its members. */
static void on_group(const char *namespace, const char *name, void *arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected)
                scope_each_of(k8s->pods, PODS_BY_ATTEMPT, name, look_at_member, &(Group){ k8s, namespace });
}

static void open_volcano(Kubernetes *k8s)
{
        k8s->volcano = volcano_new(&(VolcanoConfig){ .client = k8s->client,
                                                     .context = k8s->context,
                                                     .selector = k8s->selector,
                                                     .namespaces = (const char *const *)k8s->namespaces,
                                                     .cluster = k8s->name,
                                                     .changed = on_group,
                                                     .arg = k8s });
}

void kubernetes_open_parts(Kubernetes *k8s)
{
        k8s->asker = asker_new(k8s->client);
        k8s->signals = signals_new(k8s->client, k8s->name);
        k8s->logs = follow_room_new(k8s->client, k8s->context, (guint)k8s->setting->log_streams);
        life_open(k8s);
        connection_open(k8s);
        orders_open(k8s);
        open_images(k8s);
        if (k8s->template.scheduler)
                open_volcano(k8s);
        if (k8s->pending_ms > 0)
                pods_watch_stuck(k8s);
}

void kubernetes_close_parts(Kubernetes *k8s)
{
        g_clear_pointer(&k8s->tasks, g_hash_table_unref);
        g_clear_pointer(&k8s->sets, sets_free);
        g_clear_pointer(&k8s->overdue, overdue_free);
        g_clear_pointer(&k8s->sweep, sweep_free);
        timer_clear(&k8s->nodes_timer);
        timer_clear(&k8s->kept_timer);
        timer_clear(&k8s->doubt_timer);
        timer_clear(&k8s->stuck_timer);
        g_clear_pointer(&k8s->images, images_free);
        g_clear_pointer(&k8s->packings, packings_free);
        g_clear_pointer(&k8s->logs, follow_room_free);
        usages_stop(k8s->usages);
        exec_room_close(k8s->terminals);
        g_clear_pointer(&k8s->signals, signals_free);
        g_clear_pointer(&k8s->pods, scope_free);
        g_clear_pointer(&k8s->refusals, refusals_free);
        g_clear_pointer(&k8s->deletions, deletions_free);
        g_clear_pointer(&k8s->nodes, kube_cache_free);
        g_clear_pointer(&k8s->others, kube_cache_free);
        g_clear_pointer(&k8s->asker, asker_free);
        g_clear_pointer(&k8s->volcano, volcano_free);
        g_clear_pointer(&k8s->client, kube_client_free);
}

static void *run(void *arg)
{
        Kubernetes *k8s = arg;

        g_main_context_push_thread_default(k8s->context);
        kubernetes_open_parts(k8s);
        g_main_loop_run(k8s->loop);
        kubernetes_close_parts(k8s);
        g_main_context_pop_thread_default(k8s->context);
        return NULL;
}

static void *start_thread(Kubernetes *k8s, GError **error)
{
        sigset_t all, before;

        sigfillset(&all); /* the main thread handles signals */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        k8s->thread = g_thread_try_new("kubernetes", run, k8s, error);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return k8s->thread;
}

static bool op_open(Runtime *runtime, ObserveFunc observe, void *arg, GError **error)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        k8s->observe = observe;
        k8s->observe_arg = arg;
        return start_thread(k8s, error) != NULL;
}

static gboolean quit(gpointer arg)
{
        g_main_loop_quit(((Kubernetes *)arg)->loop);
        return G_SOURCE_REMOVE;
}

static void op_close(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;
        GSource *source;

        if (!k8s->thread)
                return;
        source = g_idle_source_new(); /* after the orders before it */
        g_source_set_callback(source, quit, k8s, NULL);
        g_source_attach(source, k8s->context);
        g_source_unref(source);
        g_thread_join(g_steal_pointer(&k8s->thread));
}

static void op_free(Runtime *runtime)
{
        Kubernetes *k8s = (Kubernetes *)runtime;

        g_clear_pointer(&k8s->tasks, g_hash_table_unref);
        usages_free(k8s->usages);
        exec_room_free(k8s->terminals);
        kube_client_free(k8s->client);
        g_main_loop_unref(k8s->loop);
        g_main_context_unref(k8s->context);
        g_ptr_array_unref(k8s->inventory);
        g_mutex_clear(&k8s->lock);
        kube_config_free(k8s->config);
        neighbours_free(k8s->neighbours);
        g_free(k8s->selector);
        g_free(k8s->others_selector);
        g_free(k8s->pull_secret);
        setting_free(k8s->setting);
        g_free(k8s->dc);
        g_hash_table_unref(k8s->later);
        g_ptr_array_unref(k8s->cancelled);
        g_hash_table_unref(k8s->places);
        g_hash_table_unref(k8s->searches);
        g_hash_table_unref(k8s->gates);
        kept_free(k8s->kept);
        making_room_free(k8s->makings);
        g_hash_table_unref(k8s->recipes);
        g_strfreev(k8s->namespaces);
        g_free(k8s->server);
        g_free(k8s->state_dir);
        g_free(k8s->name);
        g_free(k8s);
}

static const RuntimeOps kubernetes_ops = {
        .name = "kubernetes",
        .uses_images = true,
        .progress_file = MEMBER_PROGRESS_FILE,
        .gates = true,
        .orders = k8s_orders,
        .open = op_open,
        .close = op_close,
        .inventory = op_inventory,
        .nodes = op_nodes,
        .address = op_address,
        .preparations = { [PREPARE_IMAGE] = &k8s_image_preparation },
        .setup_problem = k8s_setup_problem,
        .mount_problem = k8s_mount_problem,
        .lease_ports = op_lease_ports,
        .keep_ports = op_keep_ports,
        .release_ports = op_release_ports,
        .start = k8s_start,
        .stop = k8s_stop,
        .signal = k8s_signal,
        .mark_preempting = k8s_mark_preempting,
        .takes_priority = k8s_takes_priority,
        .reprioritize = k8s_reprioritize,
        .usage = k8s_usage,
        .exec = k8s_exec,
        .forget = k8s_forget,
        .clean = k8s_clean,
        .log_path = op_log_path,
        .queues = k8s_queues,
        .ask = k8s_ask,
        .free = op_free,
};

/* ---- making one ---- */

static Setting *read_setting(const KubernetesConfig *config, GError **error)
{
        Setting *setting = setting_parse(config->setting, error);

        if (!setting)
                (void)err_prefix(error, "cluster '%s', setting: ", config->name);
        return setting;
}

/* Jobs that request no namespace use the kubeconfig's, or the first of the cluster's list if that does not
 * have it. */
static char **namespaces_of(const KubernetesConfig *config, const KubeConfig *cluster)
{
        static const char *const none[] = { NULL };
        const char *const *list = config->namespaces && *config->namespaces ? config->namespaces : none;
        const char *first = !*list || g_strv_contains(list, cluster->namespace) ? cluster->namespace : *list;
        GPtrArray *all = g_ptr_array_new();

        g_ptr_array_add(all, g_strdup(first));
        for (; *list; list++)
                if (strcmp(*list, first) != 0)
                        g_ptr_array_add(all, g_strdup(*list));
        g_ptr_array_add(all, NULL);
        return (char **)g_ptr_array_free(all, FALSE);
}

Runtime *kubernetes_runtime_new(const KubernetesConfig *config, GError **error)
{
        g_autoptr(Setting) setting = read_setting(config, error);
        KubeConfig *cluster = setting ? credential_parse(config->name, config->credential, error) : NULL;
        Kubernetes *k8s;

        if (!cluster)
                return NULL;
        k8s = g_new0(Kubernetes, 1);
        k8s->runtime.ops = &kubernetes_ops;
        k8s->config = cluster;
        k8s->name = g_strdup(config->name);
        k8s->state_dir = g_strdup(config->state_dir);
        k8s->server = g_strdup(config->server);
        k8s->dc = g_strdup(config->dc);
        k8s->any_namespace = !config->namespaces || !*config->namespaces;
        k8s->namespaces = namespaces_of(config, cluster);
        k8s->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        k8s->searches = g_hash_table_new_full(NULL, NULL, life_search_free, NULL);
        k8s->makings = making_room_new();
        k8s->gates = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        k8s->kept = kept_new();
        k8s->pending_ms = config->pending_ms;
        k8s->log_limit = config->log_limit;
        k8s->bounds = config->builds;
        k8s->bounds.allow = NULL;
        k8s->setting = g_steal_pointer(&setting);
        k8s->forms = (FormWish){ k8s->setting->form, config->k3s ? NULL : k8s->setting->operators };
        k8s->template.k3s = config->k3s;
        k8s->template.scheduler = k8s->setting->volcano && !config->k3s ? VOLCANO_SCHEDULER : NULL;
        k8s->volumes = (VolumeMap){ k8s->setting, k8s->dc };
        k8s->pull_secret = image_pull_secret_name(&k8s->setting->registry);
        k8s->context = g_main_context_new();
        k8s->loop = g_main_loop_new(k8s->context, FALSE);
        k8s->terminals = exec_room_new(k8s->context);
        k8s->tasks = tasks_new();
        k8s->later = g_hash_table_new(g_str_hash, g_str_equal);
        k8s->cancelled = g_ptr_array_new_with_free_func(order_free);
        k8s->builder =
                (Resources){ .cpu_milli = k8s->bounds.each.cpu_milli, .memory = k8s->bounds.each.memory };
        k8s->recipes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        k8s->inventory = g_ptr_array_new_with_free_func(node_free);
        k8s->neighbours = neighbours_new();
        g_mutex_init(&k8s->lock);
        k8s->client = kube_client_new(cluster,
                                      &(KubeClientOptions){ .context = k8s->context,
                                                            .agent = "paddled/" PADDLE_VERSION },
                                      error);
        if (k8s->client) {
                k8s->usages = usages_new(k8s->client, k8s->context, k8s->name);
                return &k8s->runtime;
        }
        op_free(&k8s->runtime);
        return NULL;
}
