/* The kinds that the server offers (kube_kind_find of client.h): the resources of one group and version
 * are requested once, and kept for a while. Questions that come meanwhile wait for the same answer. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "kube/internal.h"
#include "net/client.h"

enum { KEPT_MS = 180000 };

typedef struct {
        KubeDiscovery *discovery;
        char *version; /* "batch/v1" */
        gint64 until_ms;
        KubeCall *call;      /* being asked, or NULL */
        GHashTable *plurals; /* kind -> KubeKind of the intern table */
        GList *waiting;      /* Question */
} Group;

typedef struct {
        char *kind;
        KubeKindDone done;
        void *arg;
} Question;

struct KubeDiscovery {
        KubeClient *client;
        GHashTable *groups; /* version -> Group */
        GHashTable *kinds;  /* "version kind plural" -> KubeKind: for the client's life */
        bool *gone;         /* set when freed while answers are given */
};

static void question_free(Question *question)
{
        g_free(question->kind);
        g_free(question);
}

static void group_free(void *data)
{
        Group *group = data;

        kube_call_cancel(group->call);
        g_hash_table_unref(group->plurals);
        g_list_free_full(group->waiting, (GDestroyNotify)question_free);
        g_free(group->version);
        g_free(group);
}

static void kind_free(void *data)
{
        KubeKind *kind = data;

        g_free((char *)kind->group);
        g_free((char *)kind->version);
        g_free((char *)kind->kind);
        g_free((char *)kind->plural);
        g_free(kind);
}

/* ---- Reading ---- */

static const KubeKind *intern(KubeDiscovery *discovery, const char *version, const char *name,
                              const char *plural, bool namespaced)
{
        g_autofree char *key = g_strdup_printf("%s %s %s %d", version, name, plural, namespaced);
        KubeKind *kind = g_hash_table_lookup(discovery->kinds, key);
        const char *slash = strchr(version, '/');

        if (kind)
                return kind;
        kind = g_new0(KubeKind, 1);
        kind->group = slash ? g_strndup(version, (gsize)(slash - version)) : g_strdup("");
        kind->version = g_strdup(slash ? slash + 1 : version);
        kind->kind = g_strdup(name);
        kind->plural = g_strdup(plural);
        kind->cluster_scoped = !namespaced;
        g_hash_table_insert(discovery->kinds, g_steal_pointer(&key), kind);
        return kind;
}

static void take_resources(Group *group, const json_t *list)
{
        const json_t *items = json_object_get(list, "resources"), *item;
        size_t i;

        g_hash_table_remove_all(group->plurals);
        json_array_foreach(items, i, item) {
                const char *plural = json_string_value(json_object_get(item, "name"));
                const char *name = json_string_value(json_object_get(item, "kind"));
                bool namespaced = json_is_true(json_object_get(item, "namespaced"));

                if (!plural || !name || strchr(plural, '/') || g_hash_table_contains(group->plurals, name))
                        continue;
                g_hash_table_insert(group->plurals, g_strdup(name),
                                    (void *)intern(group->discovery, group->version, name, plural,
                                                   namespaced));
        }
}

/* ---- Answers ---- */

static void give(Question *question, const Group *group, const GError *failed)
{
        const KubeKind *kind = failed ? NULL : g_hash_table_lookup(group->plurals, question->kind);
        g_autoptr(GError) error = NULL;

        if (failed && !err_is(failed, ERR_NOT_FOUND))
                error = g_error_copy(failed);
        else if (!kind)
                err_set(&error, ERR_NOT_FOUND, "the cluster serves no '%s' of '%s'", question->kind,
                        group->version);
        question->done(kind, error, question->arg);
        question_free(question);
}

static void answer(Group *group, const GError *failed)
{
        GList *questions = g_steal_pointer(&group->waiting);
        KubeDiscovery *discovery = group->discovery;
        bool gone = false;

        discovery->gone = &gone;
        while (questions) {
                Question *question = questions->data;

                questions = g_list_delete_link(questions, questions);
                if (gone)
                        question_free(question);
                else
                        give(question, group, failed); /* may free the client */
        }
        if (!gone)
                discovery->gone = NULL;
}

static void on_resources(const KubeReply *reply, void *arg)
{
        Group *group = arg;

        group->call = NULL;
        if (!reply->error) {
                take_resources(group, reply->object);
                group->until_ms = clock_monotonic_ms() + KEPT_MS;
        }
        answer(group, reply->error);
}

static Group *group_of(KubeDiscovery *discovery, const char *version)
{
        Group *group = g_hash_table_lookup(discovery->groups, version);

        if (group)
                return group;
        group = g_new0(Group, 1);
        group->discovery = discovery;
        group->version = g_strdup(version);
        group->plurals = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_hash_table_insert(discovery->groups, group->version, group);
        return group;
}

static void ask(Group *group)
{
        g_auto(GStrv) parts = g_strsplit(group->version, "/", 2);
        g_autoptr(GString) path = g_string_new(parts[1] ? "/apis" : "/api");

        for (char **part = parts; *part; part++) {
                g_autofree char *escaped = url_escape(*part);

                g_string_append_printf(path, "/%s", escaped);
        }
        KubeRequest request = { .verb = KUBE_GET, .path = path->str };
        group->call = kube_send(group->discovery->client, &request, on_resources, group);
}

void kube_kind_find(KubeClient *client, const char *api_version, const char *kind, KubeKindDone done,
                    void *arg)
{
        Group *group = group_of(kube_client_discovery(client), api_version);
        Question *question = g_new0(Question, 1);

        question->kind = g_strdup(kind);
        question->done = done;
        question->arg = arg;
        group->waiting = g_list_append(group->waiting, question);
        if (group->call)
                return;
        if (clock_monotonic_ms() < group->until_ms)
                answer(group, NULL);
        else
                ask(group);
}

KubeDiscovery *kube_discovery_new(KubeClient *client)
{
        KubeDiscovery *discovery = g_new0(KubeDiscovery, 1);

        discovery->client = client;
        discovery->groups = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, group_free);
        discovery->kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, kind_free);
        return discovery;
}

void kube_discovery_free(KubeDiscovery *discovery)
{
        if (!discovery)
                return;
        if (discovery->gone)
                *discovery->gone = true;
        g_hash_table_unref(discovery->groups);
        g_hash_table_unref(discovery->kinds);
        g_free(discovery);
}
