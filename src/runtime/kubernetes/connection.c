/* The caches of pods, nodes, and pods of other tenants. The runtime is connected while all caches are
 * filled and the credential is valid. */
#include "runtime/kubernetes/internal.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"

enum {
        NODES_MS = 300,  /* changes of nodes within this time are told together */
        DOUBT_MS = 5000, /* how often a credential that was refused is tried again */
};

/* ---- nodes ---- */

typedef struct {
        const Neighbours *neighbours;
        GPtrArray *list;
} NodeList;

static void add_node(const json_t *node, void *arg)
{
        const NodeList *nodes = arg;

        g_ptr_array_add(nodes->list, neighbours_node(nodes->neighbours, node));
}

void node_free(gpointer node)
{
        runtime_node_free(node);
}

static int by_name(gconstpointer a, gconstpointer b)
{
        const RuntimeNode *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

/* At most half of the largest node, so that a builder fits beside the cluster's own pods. */
static Resources builder_of(const Resources *each, const GPtrArray *nodes)
{
        Resources most = { 0 };

        for (guint i = 0; i < nodes->len; i++) {
                const RuntimeNode *node = nodes->pdata[i];

                most.cpu_milli = MAX(most.cpu_milli, node->allocatable.cpu_milli);
                most.memory = MAX(most.memory, node->allocatable.memory);
        }
        if (nodes->len == 0)
                return (Resources){ .cpu_milli = each->cpu_milli, .memory = each->memory };
        return (Resources){ .cpu_milli = MIN(each->cpu_milli, most.cpu_milli / 2),
                            .memory = MIN(each->memory, most.memory / 2) };
}

/* True if they have changed. */
static bool take_nodes(Kubernetes *k8s)
{
        GPtrArray *list = g_ptr_array_new_with_free_func(node_free), *was;
        NodeList nodes = { k8s->neighbours, list };
        bool same;

        kube_cache_each(k8s->nodes, add_node, &nodes);
        g_ptr_array_sort(list, by_name);
        g_mutex_lock(&k8s->lock);
        was = k8s->inventory;
        same = was->len == list->len;
        for (guint i = 0; same && i < list->len; i++)
                same = runtime_node_equal(was->pdata[i], list->pdata[i]);
        k8s->inventory = list;
        k8s->builder = builder_of(&k8s->bounds.each, list);
        g_mutex_unlock(&k8s->lock);
        g_ptr_array_unref(was);
        return !same;
}

static void on_nodes_timer(void *arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected && take_nodes(k8s))
                k8s_tell(k8s, OBSERVED_NODES, NULL, NULL);
}

static void nodes_changed(Kubernetes *k8s)
{
        if (k8s->connected && !k8s->nodes_timer)
                timer_set(&k8s->nodes_timer, k8s->context, NODES_MS, on_nodes_timer, k8s);
}

static bool is_well(const json_t *node)
{
        g_autofree char *unready = node ? neighbours_unready(node) : g_strdup("gone");

        return !unready;
}

static void look_if_deleting(const json_t *pod, void *arg)
{
        if (kube_is_deleting(pod))
                pods_look_at(arg, pod);
}

static void on_node(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        nodes_changed(k8s);
        if (k8s->connected && old && is_well(old) && !is_well(new))
                scope_each(k8s->pods, look_if_deleting, k8s); /* it may be on this node */
}

static void on_other(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Kubernetes *k8s = arg;

        neighbours_change(k8s->neighbours, old, new);
        nodes_changed(k8s);
}

/* ---- the connection ---- */

/* The engine is told everything again that the lists show. */
static void reconnect_tasks(Kubernetes *k8s)
{
        g_autoptr(GList) tasks = g_hash_table_get_values(k8s->tasks);

        for (GList *at = tasks; at; at = at->next) {
                Task *task = at->data;

                g_clear_pointer(&task->waits, g_free);
                g_clear_pointer(&task->given_up, g_free); /* the pod may be another */
                (void)task_step(task, ON_CONNECTED, NULL, NULL);
        }
}

static void look_at_one(const json_t *pod, void *arg)
{
        pods_look_at(arg, pod);
}

static void connect_if_synced(Kubernetes *k8s);

/* An account that may not list priority classes uses none. */
static void on_classes(const KubeReply *reply, void *arg)
{
        Kubernetes *k8s = arg;
        const json_t *items = json_object_get(reply->object, "items"), *item;
        gsize n = 0;
        size_t i;

        g_mutex_lock(&k8s->lock);
        json_array_foreach(items, i, item)
                for (const char *const *at = template_classes; *at && n + 1 < G_N_ELEMENTS(k8s->classes);
                     at++)
                        if (strcmp(kube_name(item), *at) == 0)
                                k8s->classes[n++] = *at;
        k8s->classes[n] = NULL;
        g_mutex_unlock(&k8s->lock);
        k8s->asked = true;
        connect_if_synced(k8s);
}

static void ask_for_classes(Kubernetes *k8s)
{
        KubeRequest request = { .verb = KUBE_LIST, .kind = &kube_priority_classes };

        kube_send(k8s->client, &request, on_classes, k8s);
}

static bool is_troubled(const Kubernetes *k8s)
{
        return k8s->trouble[0] || k8s->trouble[1] || k8s->trouble[2];
}

static void connect_if_synced(Kubernetes *k8s)
{
        if (k8s->connected || !k8s->asked || is_troubled(k8s) || !scope_is_synced(k8s->pods) ||
            !kube_cache_is_synced(k8s->nodes) || (!k8s->blind && !kube_cache_is_synced(k8s->others)))
                return;
        k8s->connected = true;
        g_hash_table_remove_all(k8s->gates); /* they may have been deleted meanwhile */
        (void)take_nodes(k8s);
        reconnect_tasks(k8s);
        scope_each(k8s->pods, look_at_one, k8s);
        k8s_tell(k8s, OBSERVED_SYNCED, NULL, NULL);
        ask_for_classes(k8s);
        log_info("cluster connected", "cluster", k8s->name, "server", k8s->config->server, NULL);
}

static void on_pods_synced(void *arg)
{
        connect_if_synced(arg);
}

static void look_for_unseen(gpointer key, gpointer value, gpointer arg)
{
        task_look_for_unseen(value);
}

/* No event tells of a pod that was created and deleted between two lists. */
static void on_pods_relisted(void *arg)
{
        Kubernetes *k8s = arg;

        if (k8s->connected)
                g_hash_table_foreach(k8s->tasks, look_for_unseen, NULL);
}

static void on_cache_synced(KubeCache *cache, void *arg)
{
        connect_if_synced(arg);
}

/* Without this cache jobs still run; nodes then seem to be free, and pods may wait for one. */
static void on_others_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        Kubernetes *k8s = arg;

        if (error && !k8s->blind && err_is(error, ERR_DENIED))
                log_warning("what others use of a cluster cannot be seen: its nodes count as free", "cluster",
                            k8s->name, "reason", error->message, NULL);
        k8s->blind = error != NULL;
        connect_if_synced(k8s);
}

static void take_trouble(Kubernetes *k8s, const char **trouble, const char *what, const GError *error)
{
        bool told = is_troubled(k8s);

        *trouble = error ? what : NULL;
        if (!error) {
                connect_if_synced(k8s);
                return;
        }
        if (k8s->connected || !told)
                k8s_tell(k8s, OBSERVED_DISCONNECTED, NULL, error->message);
        k8s->connected = false;
}

static void on_pods_trouble(const GError *error, void *arg)
{
        take_trouble(arg, &((Kubernetes *)arg)->trouble[0], "pods", error);
}

static void on_nodes_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        take_trouble(arg, &((Kubernetes *)arg)->trouble[1], "nodes", error);
}

/* ---- the credential ---- */

#define CREDENTIAL_ENDED                                                                                     \
        "the API server does not accept the credential any more (%s); give the cluster a new one: "          \
        "`paddle cluster set %s --kubeconfig FILE`"

static void ask_whether_good(void *arg);

static void on_whether_good(const KubeReply *reply, void *arg)
{
        Kubernetes *k8s = arg;

        if (err_is(reply->error, ERR_UNAUTHENTICATED))
                timer_set(&k8s->doubt_timer, k8s->context, DOUBT_MS, ask_whether_good, k8s);
        else
                take_trouble(k8s, &k8s->trouble[2], "credential", NULL);
}

static void ask_whether_good(void *arg)
{
        Kubernetes *k8s = arg;
        KubeRequest request = { .verb = KUBE_LIST, .kind = &kube_nodes, .limit = 1 };

        kube_send(k8s->client, &request, on_whether_good, k8s);
}

/* Open watches continue after a credential has ended; new requests are refused. */
static void doubt_credential(Kubernetes *k8s, const GError *error)
{
        g_autoptr(GError) said = NULL;

        if (!err_is(error, ERR_UNAUTHENTICATED) || k8s->trouble[2])
                return;
        err_set(&said, ERR_UNAUTHENTICATED, CREDENTIAL_ENDED, error->message, k8s->name);
        take_trouble(k8s, &k8s->trouble[2], "credential", said);
        ask_whether_good(k8s);
}

/* The reason without the pod's name, so that members with the same reason are counted together. */
static const char *words_of(const Task *task, const GError *error)
{
        g_autofree char *name = g_strdup_printf("pods \"%s\" is forbidden: ", task->pod);

        return g_str_has_prefix(error->message, name) ? error->message + strlen(name) : error->message;
}

/* The pod cannot be created for now. */
void task_tell_why_not(Task *task, const GError *error)
{
        g_autofree char *text = err_is(error, ERR_UNAUTHENTICATED)
                                        ? g_strdup_printf(CREDENTIAL_ENDED, error->message, task->k8s->name)
                                        : g_strdup(words_of(task, error));

        task_tell_waits(task, text);
        doubt_credential(task->k8s, error);
}

static void on_deletion_failed(const GError *error, void *arg)
{
        doubt_credential(arg, error);
}

/* ---- the caches ---- */

static void trim_node(json_t *node)
{
        json_object_del(json_object_get(node, "status"), "images");
        json_object_del(json_object_get(node, "metadata"), "annotations");
}

static void open_others(Kubernetes *k8s)
{
        KubeCacheEvents events = {
                .synced = on_cache_synced, .trouble = on_others_trouble, .changed = on_other, .arg = k8s
        };

        k8s->others_selector = neighbours_selector(k8s->server);
        k8s->others = kube_cache_new(k8s->client,
                                     &(KubeCacheConfig){ .kind = kube_pods,
                                                         .label_selector = k8s->others_selector,
                                                         .field_selector = NEIGHBOURS_FIELDS,
                                                         .trim = neighbours_trim },
                                     &events);
}

static const KubeIndexFunc pods_indexes[] = {
        [PODS_BY_OBJECT] = member_index_by_object, [PODS_BY_ATTEMPT] = member_index_by_attempt, NULL
};

void connection_open(Kubernetes *k8s)
{
        const MemberHome home = { k8s->namespaces[0], k8s->server };
        const ScopeEvents pods = { .changed = pods_on_change,
                                   .synced = on_pods_synced,
                                   .relisted = on_pods_relisted,
                                   .trouble = on_pods_trouble,
                                   .arg = k8s };
        const KubeCacheEvents nodes = {
                .changed = on_node, .synced = on_cache_synced, .trouble = on_nodes_trouble, .arg = k8s
        };

        k8s->selector = member_selector(&home);
        k8s->pods = scope_new(k8s->client,
                              &(ScopeConfig){ .context = k8s->context,
                                              .kind = kube_pods,
                                              .label_selector = k8s->selector,
                                              .trim = member_trim,
                                              .indexes = pods_indexes,
                                              .namespaces = (const char *const *)k8s->namespaces },
                              &pods);
        k8s->nodes = kube_cache_new(k8s->client, &(KubeCacheConfig){ .kind = kube_nodes, .trim = trim_node },
                                    &nodes);
        k8s->deletions = deletions_new(&(DeletionsConfig){ .client = k8s->client,
                                                           .context = k8s->context,
                                                           .cluster = k8s->name,
                                                           .failed = on_deletion_failed,
                                                           .undone = task_dropped,
                                                           .arg = k8s });
        open_others(k8s);
        ask_for_classes(k8s);
}
