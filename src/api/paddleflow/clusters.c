/* Clusters (doc/reference/paddleflow-api.md, "Clusters"). */
#include <string.h>

#include "api/paddleflow/internal.h"

enum { NAME_MAX_BYTES = 255 };

static const CodeMap codes[] = { { ERR_EXISTS, CODE_DuplicatedName },
                                 { ERR_NOT_FOUND, CODE_ClusterNameNotFound },
                                 { ERR_INVALID, CODE_InvalidClusterProperties },
                                 { ERR_CONFLICT, CODE_InvalidClusterProperties },
                                 CODE_MAP_END };

static json_t *show_cluster(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        const Cluster *cluster = (const Cluster *)object;
        g_autofree char *created = time_text(object->created), *updated = time_text(object->updated);
        g_autofree char *setting = cluster->setting ? cluster_setting_show(cluster->setting) : NULL;
        json_t *namespaces = json_array(), *shown;

        for (char **at = cluster->namespaces; at && *at; at++)
                json_array_append_new(namespaces, json_string(*at));
        shown = json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:s}", "id",
                          object->id, "clusterName", object->name, "description",
                          text_or_blank(cluster->description), "endpoint", text_or_blank(cluster->endpoint),
                          "source", text_or_blank(cluster->source), "clusterType",
                          cluster_type_name(cluster->type), "version", text_or_blank(cluster->version),
                          "status", cluster->offline ? "offline" : "online", "credential",
                          text_or_blank(cluster->credential), "setting", text_or_blank(setting),
                          "namespaceList", namespaces, "createTime", created, "updateTime", updated);
        return shown;
}

/* ---- what a body says ---- */

static bool check_name(const char *name, GError **error)
{
        size_t len = strlen(name);
        bool good = len >= 2 && len <= NAME_MAX_BYTES && name[0] != '-' && name[len - 1] != '-';

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || *at == '_' || *at == '-';
        return good ||
               paddleflow_set(error, CODE_InvalidNamePattern,
                              "clusterName '%.80s' is not 2 to %d letters, digits, '_' and '-' that neither "
                              "begins nor ends with '-'",
                              name, NAME_MAX_BYTES);
}

/* Base64, and what a client can be made of. */
static bool check_credential(const PaddleFlow *flow, const Cluster *cluster, const char *credential,
                             GError **error)
{
        gsize n = strlen(credential);
        Cluster probe = { .object.name = cluster->object.name,
                          .object.id = (char *)"",
                          .type = cluster->type,
                          .credential = (char *)credential };

        if (n % 4 != 0 ||
            strspn(credential, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != n)
                return err_set(error, ERR_INVALID, "credential is not the base64 text of a kubeconfig");
        return flow->check_cluster(&probe, error);
}

static bool take_type(Cluster *cluster, const json_t *body, Code code, GError **error)
{
        const char *type = go_text(body, "clusterType");

        if (!json_object_get(body, "clusterType"))
                return true;
        if (!cluster_type_parse(type, &cluster->type))
                return paddleflow_set(error, code, "clusterType '%.40s' is not one of Kubernetes, Local, K3S",
                                      type);
        return cluster->type != CLUSTER_KUBERNETES || *go_text(body, "version") ||
               paddleflow_set(error, code, "version is missing: a Kubernetes cluster has one, such as v1.16");
}

static bool take_credential(const PaddleFlow *flow, Cluster *cluster, const json_t *body, Code code,
                            GError **error)
{
        const char *credential = go_text(body, "credential");

        g_autoptr(GError) why = NULL;

        return !*credential || cluster->type == CLUSTER_LOCAL ||
               check_credential(flow, cluster, credential, &why) ||
               paddleflow_set(error, code, "%s", why->message);
}

/* The members that have the same meaning in /v1, checked there. */
static bool take_others(Cluster *cluster, const json_t *body, Code code, GError **error)
{
        static const char *const names[][2] = {
                { "description", "description" }, { "endpoint", "endpoint" },        { "source", "source" },
                { "version", "version" },         { "setting", "setting" },          { "status", "status" },
                { "credential", "credential" },   { "namespaceList", "namespaces" },
        };
        g_autoptr(json_t) patch = json_object();
        GError *why = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                json_t *value = json_object_get(body, names[i][0]);

                if (value && !(json_is_string(value) && json_string_length(value) == 0))
                        json_object_set(patch, names[i][1], value);
        }
        if (object_patch(&cluster->object, patch, &why))
                return true;
        paddleflow_set(error, code, "%s", why->message);
        g_error_free(why);
        return false;
}

static bool fill(const PaddleFlow *flow, Cluster *cluster, const json_t *body, Code credential, Code others,
                 GError **error)
{
        return take_type(cluster, body, others, error) &&
               take_credential(flow, cluster, body, credential, error) &&
               take_others(cluster, body, others, error);
}

/* ---- create ---- */

static bool check_new(const Call *call, const json_t *body, GError **error)
{
        const char *name = go_text(body, "clusterName");

        return check_name(name, error) && call_root(call, CODE_OnlyRootAllowed, error) &&
               (*go_text(body, "endpoint") ||
                paddleflow_set(error, CODE_InvalidClusterProperties, "endpoint is missing")) &&
               (*go_text(body, "clusterType") ||
                paddleflow_set(error, CODE_InvalidClusterProperties,
                               "clusterType is missing: one of Kubernetes, Local, K3S")) &&
               (!catalog_cluster(call->catalog, name) ||
                paddleflow_set(error, CODE_DuplicatedName, "cluster '%s' is there already", name));
}

static bool fill_new(const Call *call, Object *draft, const json_t *body, GError **error)
{
        return fill(call->flow, (Cluster *)draft, body, CODE_InvalidClusterCredential,
                    CODE_InvalidClusterProperties, error);
}

/* ---- change, drop ---- */

static bool apply(const PaddleFlow *flow, const Catalog *catalog, Object *draft, const json_t *body,
                  GError **error)
{
        return fill(flow, (Cluster *)draft, body, CODE_InvalidClusterProperties,
                    CODE_InvalidClusterProperties, error);
}

static bool check_change(const Call *call, const char *name, const json_t *body, GError **error)
{
        return call_root(call, CODE_OnlyRootAllowed, error);
}

static bool has_jobs(const Call *call, const char *cluster)
{
        const GPtrArray *queues = catalog_list(call->catalog, KIND_QUEUE);

        for (guint i = 0; i < queues->len; i++) {
                const Queue *queue = queues->pdata[i];

                if (g_strcmp0(queue->cluster, cluster) == 0 &&
                    engine_queue_open(call->flow->engine, queue->object.name) > 0)
                        return true;
        }
        return false;
}

static bool check_drop(const Call *call, const char *name, GError **error)
{
        return call_root(call, CODE_OnlyRootAllowed, error) &&
               (strcmp(name, CLUSTER_DEFAULT) != 0 || has_jobs(call, name) ||
                paddleflow_set(error, CODE_ActionNotAllowed, "cluster '%s' is built in and stays", name));
}

static const CodeMap in_use[] = { { ERR_NOT_FOUND, CODE_ClusterNotFound },
                                  { ERR_CONFLICT, CODE_QueueIsInUse },
                                  CODE_MAP_END };

static const EditKind clusters = {
        .member = "clusterName",
        .param = "clusterName",
        .body = cluster_body,
        .trims = true,
        .check_new = check_new,
        .fill = fill_new,
        .check_change = check_change,
        .check_drop = check_drop,
        .made = { KIND_CLUSTER, NULL, show_cluster, codes, CODE_ClusterNotFound },
        .changed = { KIND_CLUSTER, apply, show_cluster, codes, CODE_ClusterNameNotFound },
        .dropped = { KIND_CLUSTER, NULL, NULL, in_use, CODE_ClusterNotFound },
};

static void create_cluster(HttpRequest *request, void *arg)
{
        edit_create(request, arg, &clusters);
}

static void change_cluster(HttpRequest *request, void *arg)
{
        edit_update(request, arg, &clusters);
}

static void drop_cluster(HttpRequest *request, void *arg)
{
        edit_delete(request, arg, &clusters);
}

/* ---- show, list ---- */

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Cluster *cluster;
        const char *name;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        name = call_param(&call, "clusterName");
        cluster = catalog_cluster(call.catalog, name);
        if (!call_root(&call, CODE_AccessDenied, &error)) {
                call_fail(&call, error);
        } else if (!cluster) {
                paddleflow_set(&error, CODE_ClusterNotFound, "there is no cluster '%.255s'", name);
                call_fail(&call, error);
        } else {
                call_reply(&call, show_cluster(call.flow, call.catalog, &cluster->object));
        }
}

static bool is_listed(const Call *call, const Object *object, void *names)
{
        const char *status = call_query(call, "clusterStatus");
        bool offline = ((const Cluster *)object)->offline;

        return (!names || g_strv_contains(names, object->name)) &&
               (!*status || strcmp(status, offline ? "offline" : "online") == 0);
}

static void list_clusters(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(GStrv) names = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        names = call_query_list(&call, "clusterNames");
        if (call_root(&call, CODE_OnlyRootAllowed, &error))
                page_reply(&call, KIND_CLUSTER, "clusterList", is_listed, names, show_cluster);
        else
                call_fail(&call, error);
}

static const HttpParameter list_clusters_query[] = {
        { "clusterNames", HTTP_STRING, "Only these, separated by commas." },
        { "clusterStatus", HTTP_STRING, "online or offline." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute cluster_rows[] = {
        { "POST", PADDLEFLOW_BASE "/cluster", ACCESS_CLUSTER, VERB_CREATE, create_cluster, "Make a cluster.",
          .request = "Cluster", .reply = "ClusterShown" },
        { "GET", PADDLEFLOW_BASE "/cluster", ACCESS_CLUSTER, VERB_LIST, list_clusters, "List clusters.",
          .query = list_clusters_query, .reply = "ClusterList" },
        { "GET", PADDLEFLOW_BASE "/cluster/{clusterName}", ACCESS_CLUSTER, VERB_SHOW, show_one,
          "Show a cluster.", .reply = "ClusterShown" },
        { "PUT", PADDLEFLOW_BASE "/cluster/{clusterName}", ACCESS_CLUSTER, VERB_UPDATE, change_cluster,
          "Change a cluster; what is not said stays.", .request = "ClusterChange", .reply = "ClusterShown" },
        { "DELETE", PADDLEFLOW_BASE "/cluster/{clusterName}", ACCESS_CLUSTER, VERB_DELETE, drop_cluster,
          "Drop a cluster with its queues." },
        { 0 },
};
