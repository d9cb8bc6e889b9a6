/* Queues and groups (see volcano.h). Level-triggered: tables have the wanted objects, two caches the
 * existing ones. Each event and each reply compares one object again. A Queue of the same name that is not
 * ours is used unchanged. */
#include "runtime/kubernetes/cluster/volcano.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/cache.h"
#include "runtime/kubernetes/cluster/scope.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

enum { RETRY_MS = 1000, LOOK_MS = 60000 };

struct Volcano {
        VolcanoConfig config;
        char *missing;      /* why there is no Volcano; NULL: there is, or it is being asked */
        Scope *groups;      /* NULL: not known to be served */
        KubeCache *queues;  /* the same */
        bool told;          /* the wanted queues are known */
        GHashTable *wanted; /* key -> json_t: queues, and groups until they are there */
        GHashTable *doomed; /* set of keys: groups that have to be deleted */
        GHashTable *others; /* set of keys: objects of these names exist, and are not ours */
        GHashTable *says;   /* key -> why it could not be written */
        GHashTable *calls;  /* key -> Call in progress */
        Timer *timer;
};

/* Keys are "/NAME" of queues, "NAMESPACE/NAME" of groups. */
typedef struct {
        Volcano *volcano;
        char *key;
        json_t *meant; /* what was wanted then; NULL: nothing */
        KubeCall *call;
} Call;

static char *key_of(const json_t *object)
{
        return g_strdup_printf("%s/%s", kube_namespace(object), kube_name(object));
}

static void call_free(gpointer data)
{
        Call *call = data;

        if (call->call)
                kube_call_cancel(call->call);
        json_decref(call->meant);
        g_free(call->key);
        g_free(call);
}

static void tell_changed(Volcano *volcano, const char *key)
{
        const char *slash = strchr(key, '/');
        g_autofree char *namespace = g_strndup(key, (gsize)(slash - key));

        if (*namespace)
                volcano->config.changed(namespace, slash + 1, volcano->config.arg);
}

static void look_again(Volcano *volcano, guint ms);
static void look_at(Volcano *volcano, const char *key);

static void note_refusal(Volcano *volcano, const char *key, const GError *error)
{
        if (!g_hash_table_contains(volcano->says, key))
                log_warning("an object of Volcano cannot be written", "cluster", volcano->config.cluster,
                            "object", key, "reason", error->message, NULL);
        g_hash_table_insert(volcano->says, g_strdup(key), g_strdup(error->message));
}

/* Errors that may not repeat: the object exists, another writer was faster, its namespace is being
 * created. */
static bool is_passing(const GError *error)
{
        return !error || err_is(error, ERR_EXISTS) || err_is(error, ERR_NOT_FOUND) ||
               err_is(error, ERR_CONFLICT);
}

static void on_written(const KubeReply *reply, void *arg)
{
        Call *call = arg;
        Volcano *volcano = call->volcano;
        g_autofree char *key = g_strdup(call->key);
        bool is_group = *key != '/', last = g_hash_table_lookup(volcano->wanted, key) == call->meant;

        if (!call->meant && (!reply->error || err_is(reply->error, ERR_NOT_FOUND)))
                g_hash_table_remove(volcano->doomed, key);
        call->call = NULL;
        g_hash_table_remove(volcano->calls, key);
        if (is_passing(reply->error))
                g_hash_table_remove(volcano->says, key);
        else
                note_refusal(volcano, key, reply->error);
        if (err_is(reply->error, ERR_EXISTS))
                g_hash_table_add(volcano->others, g_strdup(key)); /* until it is seen to be ours */
        if (is_group && !reply->error && last)
                g_hash_table_remove(volcano->wanted, key);
        else if (is_group || (reply->error && !err_is(reply->error, ERR_EXISTS)))
                look_again(volcano, RETRY_MS);
        tell_changed(volcano, key);
}

static void send(Volcano *volcano, const char *key, const KubeRequest *request)
{
        Call *call = g_new0(Call, 1);

        call->volcano = volcano;
        call->key = g_strdup(key);
        call->meant = json_incref(g_hash_table_lookup(volcano->wanted, key));
        g_hash_table_insert(volcano->calls, call->key, call);
        call->call = kube_send(volcano->config.client, request, on_written, call);
}

/* True if the Queue has all fields as we would write them. */
static bool is_as_wanted(const json_t *have, const json_t *wanted)
{
        static const char *const parts[] = { "weight", "reclaimable", "capability", "deserved", "guarantee" };
        const json_t *is = json_object_get(have, "spec"), *should = json_object_get(wanted, "spec");

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
                const json_t *a = json_object_get(is, parts[i]), *b = json_object_get(should, parts[i]);

                if (b ? !json_equal((json_t *)a, (json_t *)b) : json_object_size(a) > 0)
                        return false;
        }
        return true;
}

static void look_at_queue(Volcano *volcano, const char *key)
{
        const json_t *wanted = g_hash_table_lookup(volcano->wanted, key);
        const json_t *have = kube_cache_get(volcano->queues, NULL, key + 1);
        KubeRequest request = { .kind = &kube_volcano_queues, .name = key + 1 };
        g_autoptr(json_t) body = NULL;

        if (have)
                g_hash_table_remove(volcano->others, key);
        if (wanted && !have) {
                if (g_hash_table_contains(volcano->others, key))
                        return;
                request.verb = KUBE_CREATE;
                request.name = NULL;
                request.body = wanted;
        } else if (wanted && !is_as_wanted(have, wanted)) {
                body = json_copy((json_t *)have);
                json_object_set(body, "spec", json_object_get(wanted, "spec"));
                request.verb = KUBE_REPLACE;
                request.body = body;
        } else if (!wanted && have && volcano->told) {
                request.verb = KUBE_DELETE;
        } else {
                return;
        }
        send(volcano, key, &request);
}

static bool is_of_class(const json_t *have, const json_t *wanted)
{
        return g_strcmp0(kube_get_text(have, "spec.priorityClassName"),
                         kube_get_text(wanted, "spec.priorityClassName")) == 0;
}

/* Replaces the version that we have seen: if the group has started meanwhile, the reply is a conflict. */
static void send_class(Volcano *volcano, const char *key, const json_t *have, const json_t *wanted)
{
        g_autoptr(json_t) body = json_deep_copy(have);
        json_t *spec = json_object_get(body, "spec"), *class = kube_get(wanted, "spec.priorityClassName");

        if (class)
                json_object_set(spec, "priorityClassName", class);
        else
                json_object_del(spec, "priorityClassName");
        send(volcano, key,
             &(KubeRequest){ .verb = KUBE_REPLACE,
                             .kind = &kube_pod_groups,
                             .namespace = kube_namespace(have),
                             .name = kube_name(have),
                             .body = body });
}

static void drop_if_doomed(Volcano *volcano, const char *key)
{
        g_auto(GStrv) names = g_strsplit(key, "/", 2);

        if (g_hash_table_contains(volcano->doomed, key))
                send(volcano, key,
                     &(KubeRequest){ .verb = KUBE_DELETE,
                                     .kind = &kube_pod_groups,
                                     .namespace = names[0],
                                     .name = names[1] });
}

static void look_at_group(Volcano *volcano, const char *key)
{
        const json_t *wanted = g_hash_table_lookup(volcano->wanted, key), *have;

        if (!wanted) {
                drop_if_doomed(volcano, key);
                return;
        }
        have = scope_get(volcano->groups, kube_namespace(wanted), kube_name(wanted));
        if (have)
                g_hash_table_remove(volcano->others, key);
        if (!have && !g_hash_table_contains(volcano->others, key))
                send(volcano, key,
                     &(KubeRequest){ .verb = KUBE_CREATE,
                                     .kind = &kube_pod_groups,
                                     .namespace = kube_namespace(wanted),
                                     .body = wanted });
        else if (have && volcano_group_waits(have) && !is_of_class(have, wanted))
                send_class(volcano, key, have, wanted);
        else
                g_hash_table_remove(volcano->wanted, key);
}

static void look_at(Volcano *volcano, const char *key)
{
        if (g_hash_table_contains(volcano->calls, key) || !volcano->groups ||
            !scope_is_synced(volcano->groups) || !kube_cache_is_synced(volcano->queues))
                return;
        if (*key == '/')
                look_at_queue(volcano, key);
        else
                look_at_group(volcano, key);
}

static void add_key(const json_t *object, void *arg)
{
        g_ptr_array_add(arg, key_of(object));
}

static void add_keys_of(GHashTable *table, GPtrArray *keys)
{
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, table);
        while (g_hash_table_iter_next(&iter, &key, NULL))
                g_ptr_array_add(keys, g_strdup(key));
}

static void look_at_all(Volcano *volcano)
{
        g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);

        add_keys_of(volcano->wanted, keys);
        add_keys_of(volcano->doomed, keys);
        if (volcano->queues)
                kube_cache_each(volcano->queues, add_key, keys);
        for (guint i = 0; i < keys->len; i++)
                look_at(volcano, keys->pdata[i]);
}

/* ---- what is there ---- */

static void on_object(Volcano *volcano, const json_t *object)
{
        g_autofree char *key = key_of(object);

        look_at(volcano, key);
        tell_changed(volcano, key);
}

static void on_group(const json_t *old, const json_t *new, void *arg)
{
        on_object(arg, new ? new : old);
}

static void on_queue(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        on_object(arg, new ? new : old);
}

static void on_groups_synced(void *arg)
{
        look_at_all(arg);
}

static void on_queues_synced(KubeCache *cache, void *arg)
{
        look_at_all(arg);
}

static void note_trouble(Volcano *volcano, const char *what, const GError *error)
{
        if (error)
                log_warning("Volcano's objects cannot be seen", "cluster", volcano->config.cluster, "kind",
                            what, "reason", error->message, NULL);
}

static void on_groups_trouble(const GError *error, void *arg)
{
        note_trouble(arg, "PodGroup", error);
}

static void on_queues_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        note_trouble(arg, "Queue", error);
}

static void open_caches(Volcano *volcano)
{
        const VolcanoConfig *config = &volcano->config;
        const ScopeEvents groups = {
                .changed = on_group, .synced = on_groups_synced, .trouble = on_groups_trouble, .arg = volcano
        };
        const KubeCacheEvents queues = {
                .changed = on_queue, .synced = on_queues_synced, .trouble = on_queues_trouble, .arg = volcano
        };

        volcano->queues = kube_cache_new(config->client,
                                         &(KubeCacheConfig){ .kind = kube_volcano_queues,
                                                             .label_selector = config->selector },
                                         &queues);
        volcano->groups = scope_new(config->client,
                                    &(ScopeConfig){ .context = config->context,
                                                    .kind = kube_pod_groups,
                                                    .label_selector = config->selector,
                                                    .namespaces = config->namespaces },
                                    &groups);
}

/* ---- is it there? ---- */

static void on_kind(const KubeKind *kind, const GError *error, void *arg)
{
        Volcano *volcano = arg;

        g_clear_pointer(&volcano->missing, g_free);
        if (kind) {
                open_caches(volcano);
                return;
        }
        volcano->missing = g_strdup_printf("there is no Volcano in cluster '%s', whose setting names it: %s",
                                           volcano->config.cluster, error->message);
        log_warning("there is no Volcano in a cluster whose setting names it", "cluster",
                    volcano->config.cluster, "reason", error->message, NULL);
        look_again(volcano, LOOK_MS);
}

static void find_kind(Volcano *volcano)
{
        kube_kind_find(volcano->config.client, "scheduling.volcano.sh/v1beta1", "PodGroup", on_kind, volcano);
}

static void on_timer(void *arg)
{
        Volcano *volcano = arg;

        if (volcano->groups)
                look_at_all(volcano);
        else
                find_kind(volcano);
}

static void look_again(Volcano *volcano, guint ms)
{
        if (!volcano->timer)
                timer_set(&volcano->timer, volcano->config.context, ms, on_timer, volcano);
}

/* ---- what is wanted ---- */

static gboolean is_queue(gpointer key, gpointer value, gpointer arg)
{
        return *(const char *)key == '/';
}

static void want(Volcano *volcano, const json_t *object)
{
        g_hash_table_insert(volcano->wanted, key_of(object), json_incref((json_t *)object));
}

void volcano_take_queues(Volcano *volcano, json_t *queues)
{
        const json_t *queue;
        size_t i;

        g_hash_table_foreach_remove(volcano->wanted, is_queue, NULL);
        json_array_foreach(queues, i, queue)
                want(volcano, queue);
        volcano->told = true;
        json_decref(queues);
        look_at_all(volcano);
}

void volcano_want_group(Volcano *volcano, json_t *group)
{
        g_autofree char *key = key_of(group);

        g_hash_table_remove(volcano->doomed, key);
        want(volcano, group);
        json_decref(group);
        look_at(volcano, key);
}

void volcano_drop_group(Volcano *volcano, const char *namespace, const char *name)
{
        g_autofree char *key = g_strdup_printf("%s/%s", namespace, name);

        g_hash_table_remove(volcano->wanted, key);
        g_hash_table_remove(volcano->says, key);
        g_hash_table_remove(volcano->others, key);
        g_hash_table_add(volcano->doomed, g_strdup(key));
        look_at(volcano, key);
}

bool volcano_is_served(const Volcano *volcano)
{
        return volcano->groups != NULL;
}

char *volcano_why(const Volcano *volcano, const char *namespace, const char *name)
{
        g_autofree char *key = g_strdup_printf("%s/%s", namespace, name);
        const char *says = g_hash_table_lookup(volcano->says, key);
        const json_t *group = volcano->groups ? scope_get(volcano->groups, namespace, name) : NULL;

        if (volcano->missing)
                return g_strdup(volcano->missing);
        if (says)
                return g_strdup(says);
        if (group) {
                g_autofree char *queue = g_strdup_printf("/%s", kube_get_text(group, "spec.queue"));

                says = g_hash_table_lookup(volcano->says, queue);
                return says ? g_strdup(says) : volcano_group_why(group);
        }
        return NULL;
}

/* ---- life ---- */

static void decref(gpointer object)
{
        json_decref(object);
}

Volcano *volcano_new(const VolcanoConfig *config)
{
        Volcano *volcano = g_new0(Volcano, 1);

        volcano->config = *config;
        volcano->wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, decref);
        volcano->doomed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        volcano->others = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        volcano->says = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        volcano->calls = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, call_free);
        find_kind(volcano);
        return volcano;
}

void volcano_free(Volcano *volcano)
{
        if (!volcano)
                return;
        timer_clear(&volcano->timer);
        scope_free(volcano->groups);
        kube_cache_free(volcano->queues);
        g_hash_table_unref(volcano->calls);
        g_hash_table_unref(volcano->says);
        g_hash_table_unref(volcano->others);
        g_hash_table_unref(volcano->doomed);
        g_hash_table_unref(volcano->wanted);
        g_free(volcano->missing);
        g_free(volcano);
}
