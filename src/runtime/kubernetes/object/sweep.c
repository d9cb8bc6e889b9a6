/* The sweep of services and groups (see sweep.h). */
#include "runtime/kubernetes/object/sweep.h"

#include "base/timer.h"
#include "kube/kind.h"

enum { SWEEP_MS = 15000 };

struct Sweep {
        SweepConfig config;
        GHashTable *doubted, *unknown; /* sets of "namespace/name": of the look before, of this one */
        GHashTable *calls;             /* set of KubeCall */
        Timer *timer;
};

typedef struct {
        Sweep *sweep;
        KubeCall *call;
} Look;

/* An object with an owner, as groups of third-party operators have, is deleted with it. */
static void take(Sweep *sweep, const json_t *object)
{
        const char *namespace = kube_namespace(object), *name = kube_name(object);
        g_autofree char *key = g_strdup_printf("%s/%s", namespace, name);

        if (kube_is_deleting(object) || kube_get(object, "metadata.ownerReferences") ||
            sweep->config.is_known(name, sweep->config.arg))
                return;
        if (g_hash_table_contains(sweep->doubted, key))
                sweep->config.drop(namespace, name, sweep->config.arg);
        else
                g_hash_table_add(sweep->unknown, g_steal_pointer(&key));
}

static void on_objects(const KubeReply *reply, void *arg)
{
        Look *look = arg;
        const json_t *object;
        gsize i;

        json_array_foreach(json_object_get(reply->object, "items"), i, object) {
                take(look->sweep, object);
        }
        g_hash_table_remove(look->sweep->calls, look->call);
        g_free(look);
}

static void look_in(Sweep *sweep, const KubeKind *kind, const char *namespace)
{
        Look *look = g_new0(Look, 1);
        KubeRequest request = { .verb = KUBE_LIST,
                                .kind = kind,
                                .namespace = namespace,
                                .label_selector = sweep->config.selector };

        look->sweep = sweep;
        look->call = kube_send(sweep->config.client, &request, on_objects, look);
        g_hash_table_insert(sweep->calls, look->call, look);
}

static void look_for(Sweep *sweep, const KubeKind *kind)
{
        const char *const *at = sweep->config.namespaces;

        if (sweep->config.is_wide(sweep->config.arg))
                look_in(sweep, kind, NULL);
        else
                for (; *at; at++)
                        look_in(sweep, kind, *at);
}

/* The next look waits for one that has not ended yet. */
static void on_timer(void *arg)
{
        Sweep *sweep = arg;
        GHashTable *before = sweep->doubted;

        timer_set(&sweep->timer, sweep->config.context, SWEEP_MS, on_timer, sweep);
        if (g_hash_table_size(sweep->calls) > 0)
                return;
        g_hash_table_remove_all(before);
        sweep->doubted = sweep->unknown;
        sweep->unknown = before;
        look_for(sweep, &kube_services);
        if (sweep->config.has_groups(sweep->config.arg))
                look_for(sweep, &kube_pod_groups);
}

Sweep *sweep_new(const SweepConfig *config)
{
        Sweep *sweep = g_new0(Sweep, 1);

        sweep->config = *config;
        sweep->doubted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        sweep->unknown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        sweep->calls = g_hash_table_new(NULL, NULL);
        timer_set(&sweep->timer, config->context, SWEEP_MS, on_timer, sweep);
        return sweep;
}

void sweep_free(Sweep *sweep)
{
        GHashTableIter iter;
        gpointer call, look;

        if (!sweep)
                return;
        g_hash_table_iter_init(&iter, sweep->calls);
        while (g_hash_table_iter_next(&iter, &call, &look)) {
                kube_call_cancel(call);
                g_free(look);
        }
        timer_clear(&sweep->timer);
        g_hash_table_unref(sweep->calls);
        g_hash_table_unref(sweep->doubted);
        g_hash_table_unref(sweep->unknown);
        g_free(sweep);
}
