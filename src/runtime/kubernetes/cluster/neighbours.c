/* Nodes and the pods of others on them (see neighbours.h). The request of a pod follows Kubernetes' rule
 * ("Resource sharing within containers"): the larger of two sums, its containers and sidecars, or its
 * largest init container and the sidecars beside it; and the pod's overhead. */
#include "runtime/kubernetes/cluster/neighbours.h"

#include <string.h>

#include "kube/kind.h"
#include "runtime/kubernetes/pod/tolerations.h"

/* The requests of other tenants' pods on a node, and the part of them that never becomes free. */
typedef struct {
        Resources all, system;
} Held;

struct Neighbours {
        GHashTable *held; /* node -> Held */
};

Neighbours *neighbours_new(void)
{
        Neighbours *neighbours = g_new0(Neighbours, 1);

        neighbours->held = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return neighbours;
}

void neighbours_free(Neighbours *neighbours)
{
        if (!neighbours)
                return;
        g_hash_table_unref(neighbours->held);
        g_free(neighbours);
}

char *neighbours_selector(const char *server)
{
        return g_strdup_printf("paddle-server!=%s", server);
}

/* ---- what a pod requests ---- */

static int kind_of(const char *name)
{
        return strcmp(name, "nvidia.com/gpu") == 0 ? RESOURCE_GPU : resource_find(name);
}

static Resources amounts(const json_t *list)
{
        Resources sum = { 0 };
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)list, name, value) {
                const char *text = json_string_value(value);
                int kind = kind_of(name);

                if (text && kind >= 0) /* an amount that cannot be parsed counts as none */
                        (void)quantity_parse(name, kind, text, &sum.amount[kind], NULL);
        }
        return sum;
}

static void add(Resources *sum, const Resources *more)
{
        if (!resources_add(sum, more, 1))
                for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                        if (more->amount[kind] > G_MAXINT64 - sum->amount[kind])
                                sum->amount[kind] = G_MAXINT64;
}

static void take_most(Resources *most, const Resources *other)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                most->amount[kind] = MAX(most->amount[kind], other->amount[kind]);
}

static Resources requests(const json_t *spec)
{
        const json_t *list = kube_get(spec, "containers"), *one;
        Resources sum = { 0 }, sidecars = { 0 }, peak = { 0 }, overhead = amounts(kube_get(spec, "overhead"));
        gsize i;

        json_array_foreach(list, i, one) {
                Resources each = amounts(kube_get(one, "resources.requests"));

                add(&sum, &each);
        }
        list = kube_get(spec, "initContainers");
        json_array_foreach(list, i, one) {
                Resources each = amounts(kube_get(one, "resources.requests"));

                if (g_strcmp0(kube_get_text(one, "restartPolicy"), "Always") == 0) {
                        add(&sidecars, &each);
                } else {
                        add(&each, &sidecars);
                        take_most(&peak, &each);
                }
        }
        add(&sum, &sidecars);
        take_most(&sum, &peak);
        add(&sum, &overhead);
        return sum;
}

/* True for the cluster's own pods, which are never preempted (doc/reference/scheduling.md, "Victims that
 * are never taken"). */
static bool is_system(const json_t *pod)
{
        static const char *const classes[] = { "system-cluster-critical", "system-node-critical", NULL };
        const char *class = kube_get_text(pod, "spec.priorityClassName");

        return strcmp(kube_namespace(pod), "kube-system") == 0 || (class && g_strv_contains(classes, class));
}

void neighbours_trim(json_t *pod)
{
        const json_t *meta = kube_get(pod, "metadata"), *spec = kube_get(pod, "spec");
        const char *node = kube_get_text(spec, "nodeName");
        Resources sum = requests(spec);
        json_t *about = json_object(), *held = json_array();
        static const char *const kept[] = { "name", "namespace", "uid", "resourceVersion" };

        for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
                if (json_object_get(meta, kept[i]))
                        json_object_set(about, kept[i], json_object_get(meta, kept[i]));
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                json_array_append_new(held, json_integer(sum.amount[kind]));
        json_object_set_new(pod, "node", json_string(node ? node : ""));
        json_object_set_new(pod, "held", held);
        json_object_set_new(pod, "system", json_boolean(is_system(pod)));
        json_object_set_new(pod, "metadata", about);
        json_object_del(pod, "spec");
        json_object_del(pod, "status");
}

/* ---- what others hold ---- */

static void add_held(Resources *sum, const json_t *held, int sign)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                sum->amount[kind] += sign * json_integer_value(json_array_get(held, (gsize)kind));
}

static void count(Neighbours *neighbours, const json_t *pod, int sign)
{
        const char *node = kube_get_text(pod, "node");
        Held *sum = node ? g_hash_table_lookup(neighbours->held, node) : NULL;

        if (!node || !*node)
                return;
        if (!sum) {
                sum = g_new0(Held, 1);
                g_hash_table_insert(neighbours->held, g_strdup(node), sum);
        }
        add_held(&sum->all, kube_get(pod, "held"), sign);
        if (json_is_true(kube_get(pod, "system")))
                add_held(&sum->system, kube_get(pod, "held"), sign);
}

void neighbours_change(Neighbours *neighbours, const json_t *old, const json_t *new)
{
        if (old)
                count(neighbours, old, -1);
        if (new)
                count(neighbours, new, 1);
}

/* ---- nodes ---- */

static int by_text(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **labels_of(const json_t *node)
{
        GPtrArray *list = g_ptr_array_new();
        const char *name;
        json_t *value;

        json_object_foreach(kube_get(node, "metadata.labels"), name, value)
                g_ptr_array_add(list, g_strdup_printf("%s=%s", name, json_string_value(value)));
        g_ptr_array_sort(list, by_text);
        g_ptr_array_add(list, NULL);
        return (char **)g_ptr_array_free(list, FALSE);
}

static const json_t *ready_condition(const json_t *node)
{
        const json_t *list = kube_get(node, "status.conditions"), *one;
        gsize i;

        json_array_foreach(list, i, one) {
                if (g_strcmp0(kube_get_text(one, "type"), "Ready") == 0)
                        return one;
        }
        return NULL;
}

char *neighbours_unready(const json_t *node)
{
        const json_t *ready = ready_condition(node);
        const char *reason = kube_get_text(ready, "reason"), *message = kube_get_text(ready, "message");

        if (g_strcmp0(kube_get_text(ready, "status"), "True") == 0)
                return NULL;
        return g_strdup_printf("not ready%s%s%s%s", reason ? ": " : "", reason ? reason : "",
                               message ? ": " : "", message ? message : "");
}

/* Why new members cannot be placed on it; NULL: they can. */
static char *closed(const json_t *node)
{
        const json_t *taints = kube_get(node, "spec.taints"), *taint;
        gsize i;

        if (json_is_true(kube_get(node, "spec.unschedulable")))
                return g_strdup("cordoned");
        json_array_foreach(taints, i, taint) {
                const char *key = kube_get_text(taint, "key"), *value = kube_get_text(taint, "value"),
                           *effect = kube_get_text(taint, "effect");

                if (!toleration_covers(taint))
                        return g_strdup_printf("taint %s%s%s:%s is not tolerated", key ? key : "",
                                               value ? "=" : "", value ? value : "", effect ? effect : "");
        }
        return NULL;
}

RuntimeNode *neighbours_node(const Neighbours *neighbours, const json_t *node)
{
        RuntimeNode *made = g_new0(RuntimeNode, 1);
        const Held *held = g_hash_table_lookup(neighbours->held, kube_name(node));
        char *unready_why = neighbours_unready(node);

        made->name = g_strdup(kube_name(node));
        made->labels = labels_of(node);
        made->allocatable = amounts(kube_get(node, "status.allocatable"));
        if (held) {
                made->others = held->all;
                made->system = held->system;
        }
        made->ready = !unready_why;
        made->why = unready_why ? unready_why : closed(node);
        made->usable = !made->why;
        return made;
}
