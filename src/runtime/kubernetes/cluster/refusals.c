/* Refused pods (see refusals.h). */
#include "runtime/kubernetes/cluster/refusals.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "kube/status.h"
#include "runtime/kubernetes/cluster/scope.h"
#include "runtime/kubernetes/pod/form.h"

/* Events of owners of pods, and of pods that have a node. One watch for each, because a field selector has
 * no "or". */
static const char *const selectors[] = {
        "reason=FailedCreate",
        "involvedObject.kind=Pod,reason=FailedMount",
        "involvedObject.kind=Pod,reason=FailedCreatePodSandBox",
};

struct Refusals {
        RefusalsConfig config;
        Scope *events[G_N_ELEMENTS(selectors)];
        GHashTable *says; /* "kind/namespace/name" -> words */
        bool warned;
};

/* ---- words ---- */

/* Before them: "create Pod p-0 in StatefulSet p failed error: ", "Error creating: ". */
const char *refusal_words(const char *message)
{
        static const char *const before[] = { " failed error: ", "Error creating: " };

        for (gsize i = 0; i < G_N_ELEMENTS(before); i++) {
                const char *at = strstr(message, before[i]);

                if (at)
                        return at + strlen(before[i]);
        }
        return message;
}

bool refusal_lasts(const char *words)
{
        switch (kube_refusal(words)) {
        case KUBE_REFUSED_POLICY:
        case KUBE_REFUSED_WEBHOOK:
        case KUBE_REFUSED_POD_SECURITY:
        case KUBE_REFUSED_INVALID: return true;
        default: return false;
        }
}

/* "MountVolume.SetUp failed for volume "gate" : configmap "paddle-gate-1" not found". */
bool refusal_misses(const char *words, const char *name)
{
        return strstr(words, name) && strstr(words, "not found");
}

/* ---- events ---- */

static char *key_of(const char *kind, const char *namespace, const char *name)
{
        return g_strdup_printf("%s/%s/%s", kind, namespace, name);
}

static const KubeKind *kind_of(const json_t *event)
{
        const char *name = kube_get_text(event, "involvedObject.kind");

        for (const KubeKind *const *at = form_kinds; name && *at; at++)
                if (strcmp((*at)->kind, name) == 0)
                        return *at;
        return g_strcmp0(name, kube_pods.kind) == 0 ? &kube_pods : NULL;
}

static void on_event(const json_t *old, const json_t *new, void *arg)
{
        Refusals *refusals = arg;
        const KubeKind *kind = kind_of(new ? new : old);
        const char *name = kube_get_text(new ? new : old, "involvedObject.name"),
                   *message = kube_get_text(new, "message"), *namespace = kube_namespace(new ? new : old);
        char *key = kind && name ? key_of(kind->kind, namespace, name) : NULL;

        if (!key)
                return;
        if (!message) {
                g_hash_table_remove(refusals->says, key);
                g_free(key);
                return;
        }
        g_hash_table_insert(refusals->says, key, g_strdup(refusal_words(message)));
        refusals->config.told(kind, namespace, name, refusals->config.arg);
}

static void on_synced(void *arg)
{
}

static void on_trouble(const GError *error, void *arg)
{
        Refusals *refusals = arg;

        if (!err_is(error, ERR_DENIED) || refusals->warned)
                return;
        refusals->warned = true;
        log_warning("events of a cluster cannot be seen: why it refuses pods of StatefulSets and Jobs, and "
                    "what pods on nodes lack, stays unsaid",
                    "cluster", refusals->config.cluster, "reason", error->message, NULL);
}

static void trim(json_t *event)
{
        static const char *const unread[] = { "source", "series", "related", "action", "reportingComponent" };

        for (gsize i = 0; i < G_N_ELEMENTS(unread); i++)
                json_object_del(event, unread[i]);
}

/* ---- life ---- */

const char *refusals_why(const Refusals *refusals, const KubeKind *kind, const char *namespace,
                         const char *name)
{
        g_autofree char *key = key_of(kind->kind, namespace, name);

        return g_hash_table_lookup(refusals->says, key);
}

Refusals *refusals_new(const RefusalsConfig *config)
{
        Refusals *refusals = g_new0(Refusals, 1);

        refusals->config = *config;
        refusals->says = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        for (gsize i = 0; i < G_N_ELEMENTS(selectors); i++)
                refusals->events[i] = scope_new(config->client,
                                                &(ScopeConfig){ .context = config->context,
                                                                .kind = kube_events,
                                                                .field_selector = selectors[i],
                                                                .trim = trim,
                                                                .namespaces = config->namespaces },
                                                &(ScopeEvents){ .changed = on_event,
                                                                .synced = on_synced,
                                                                .trouble = on_trouble,
                                                                .arg = refusals });
        return refusals;
}

void refusals_free(Refusals *refusals)
{
        if (!refusals)
                return;
        for (gsize i = 0; i < G_N_ELEMENTS(selectors); i++)
                scope_free(refusals->events[i]);
        g_hash_table_unref(refusals->says);
        g_free(refusals);
}
