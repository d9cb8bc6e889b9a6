/* What clusters have, what runs there, and their objects (doc/reference/paddleflow-api.md, "Nodes and objects
 * of a cluster"). All but the refusals is answered on the thread pool of askers, since other clusters are asked for
 * it. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "podspec/census.h"

enum { FILTER_PAGE = 1000, INFO_PAGE = 100 };

#define STATUS_LABEL "paddleflow/node-status"

static json_t *part(const json_t *node, const char *name)
{
        return json_object_get(node, name);
}

static bool is_ready(const json_t *node)
{
        return json_is_true(part(node, "ready"));
}

static json_t *shown_labels(const json_t *node)
{
        json_t *labels = json_copy(part(node, "labels"));

        json_object_set_new(labels, STATUS_LABEL, json_string(is_ready(node) ? "Ready" : "NotReady"));
        return labels;
}

/* ---- amounts ---- */

static int compare_texts(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys in order; borrowed from the object. */
static GPtrArray *keys_of(const json_t *object)
{
        GPtrArray *keys = g_ptr_array_new();
        const char *key;
        json_t *value;

        json_object_foreach((json_t *)object, key, value)
                g_ptr_array_add(keys, (char *)key);
        g_ptr_array_sort(keys, compare_texts);
        return keys;
}

/* How amounts of this name are written. */
static int written_as(const char *name)
{
        static const struct {
                const char *prefix;
                int kind;
        } rows[] = {
                { "cpu", RESOURCE_CPU },
                { "memory", RESOURCE_MEMORY },
                { "storage", RESOURCE_STORAGE },
                { "ephemeral-storage", RESOURCE_STORAGE },
                { "hugepages-", RESOURCE_STORAGE },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (g_str_has_prefix(name, rows[i].prefix))
                        return rows[i].kind;
        return RESOURCE_GPU;
}

static json_t *quantity_of(const json_t *amounts, const char *name)
{
        g_autofree char *text = quantity_format(written_as(name), json_integer_value(part(amounts, name)));

        return json_string(text);
}

/* {"cpu", "memory", "storage"?, "scalarResources"?} (doc/reference/paddleflow-api.md, "Amounts of
 * resources"). */
static json_t *room_format(const json_t *amounts)
{
        static const char *const own[] = { "cpu", "memory", "storage", NULL };
        g_autoptr(GPtrArray) keys = keys_of(amounts);
        json_t *room = json_pack("{s:o, s:o}", "cpu", quantity_of(amounts, "cpu"), "memory",
                                 quantity_of(amounts, "memory")),
               *scalars = json_object();

        if (json_integer_value(part(amounts, "storage")))
                json_object_set_new(room, "storage", quantity_of(amounts, "storage"));
        for (guint i = 0; i < keys->len; i++)
                if (!g_strv_contains(own, keys->pdata[i]))
                        json_object_set_new(scalars, keys->pdata[i], quantity_of(amounts, keys->pdata[i]));
        if (json_object_size(scalars) > 0)
                json_object_set(room, "scalarResources", scalars);
        json_decref(scalars);
        return room;
}

static json_t *quantities_of(const json_t *amounts)
{
        g_autoptr(GPtrArray) keys = keys_of(amounts);
        json_t *quantities = json_object();

        for (guint i = 0; i < keys->len; i++)
                json_object_set_new(quantities, keys->pdata[i], quantity_of(amounts, keys->pdata[i]));
        return quantities;
}

/* What is left of a node; never less than nothing. */
static json_t *idle_of(const json_t *node)
{
        json_t *idle = json_copy(part(node, "allocatable")), *used = part(node, "used"), *value;
        const char *name;

        json_object_foreach(used, name, value) {
                gint64 has = json_integer_value(part(idle, name));

                if (part(idle, name))
                        json_object_set_new(idle, name,
                                            json_integer(MAX(0, has - json_integer_value(value))));
        }
        return idle;
}

/* ---- GET /cluster/resource ---- */

static json_t *room_of(const json_t *nodes, const char *trouble)
{
        g_autoptr(json_t) total = json_object(), idle = json_object();
        g_autoptr(GPtrArray) names = nodes ? keys_of(nodes) : g_ptr_array_new();
        json_t *list = json_array();

        for (guint i = 0; i < names->len; i++) {
                const json_t *node = part(nodes, names->pdata[i]);
                g_autoptr(json_t) left = idle_of(node);

                census_add(total, part(node, "allocatable"), 1);
                census_add(idle, left, 1);
                json_array_append_new(list, json_pack("{s:s, s:O, s:o, s:o}", "nodeName", names->pdata[i],
                                                      "schedulable", part(node, "schedulable"), "total",
                                                      room_format(part(node, "allocatable")), "idle",
                                                      room_format(left)));
        }
        return json_pack("{s:o, s:{s:o, s:o}, s:s}", "nodeList", list, "summary", "total", room_format(total),
                         "idle", room_format(idle), "errMsg", trouble);
}

/* NULL with why when none of them can be seen. */
static json_t *rooms_of(const Call *call, GError **error)
{
        g_auto(GStrv) names = call_query_list(call, "clusterNames");
        const GPtrArray *all = catalog_list(call->catalog, KIND_CLUSTER);
        g_autoptr(json_t) reply = json_object();
        bool any = false;

        for (guint i = 0; i < all->len; i++) {
                const Cluster *cluster = all->pdata[i];
                g_autoptr(json_t) nodes = NULL;
                g_autoptr(GError) why = NULL;

                if (cluster->offline ||
                    (names && !g_strv_contains((const char *const *)names, cluster->object.name)))
                        continue;
                nodes = cluster_node_list(call->flow, cluster, false, &why);
                any |= nodes != NULL;
                json_object_set_new(reply, cluster->object.name, room_of(nodes, why ? why->message : ""));
                if (why && !*error)
                        paddleflow_set(error, CODE_InternalError, "cluster '%s': %s", cluster->object.name,
                                       why->message);
        }
        if (json_object_size(reply) == 0)
                paddleflow_set(error, CODE_ClusterNotFound,
                               "clusterNames: no cluster of this name is online");
        if (!any)
                return NULL;
        g_clear_error(error);
        return g_steal_pointer(&reply);
}

static void show_rooms_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        json_t *reply = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (call_root(&call, CODE_OnlyRootAllowed, &error))
                reply = rooms_of(&call, &error);
        if (reply)
                call_reply(&call, reply);
        else
                call_fail(&call, error);
}

static void show_rooms(HttpRequest *request, void *arg)
{
        paddleflow_defer_ask(request, arg, show_rooms_now);
}

/* ---- POST /cluster/resource ---- */

/* "k=v" or "k!=v"; what is neither filters nothing. */
static bool labels_match(const json_t *labels, const char *filter)
{
        const char *equals = strchr(filter, '=');
        bool differs = equals && equals > filter && equals[-1] == '!';
        g_autofree char *key = equals ? g_strndup(filter, (gsize)(equals - filter) - differs) : NULL;

        if (!key || !*key || strchr(equals + 1, '='))
                return true;
        return (g_strcmp0(json_string_value(part(labels, key)), equals + 1) == 0) != differs;
}

static gint64 number_of(const json_t *body, const char *name, gint64 fallback)
{
        gint64 value = json_integer_value(json_object_get(body, name));

        return value > 0 ? value : fallback;
}

static bool shows_node(const json_t *node, const json_t *body)
{
        const char *status = go_text(body, "nodeStatus");

        return is_ready(node) && (!*status || strcmp(status, "Ready") == 0) &&
               labels_match(part(node, "labels"), go_text(body, "labels"));
}

static json_t *cluster_nodes(const Cluster *cluster, const json_t *nodes, const json_t *body)
{
        json_t *allocatable = json_object(), *capacity = json_object(), *labels = json_object();
        g_autoptr(GPtrArray) names = nodes ? keys_of(nodes) : g_ptr_array_new();
        gint64 size = number_of(body, "pageSize", FILTER_PAGE);
        gint64 at = 0, first = (MIN(number_of(body, "pageNo", 1), G_MAXINT32) - 1) * MIN(size, G_MAXINT32);

        for (guint i = 0; i < names->len; i++) {
                const json_t *node = part(nodes, names->pdata[i]);

                if (!shows_node(node, body) || at++ < first || at > first + size)
                        continue;
                json_object_set(allocatable, names->pdata[i], part(node, "allocatable"));
                json_object_set_new(capacity, names->pdata[i], quantities_of(part(node, "capacity")));
                json_object_set_new(labels, names->pdata[i], shown_labels(node));
        }
        return json_pack("{s:o, s:o, s:o, s:s, s:s, s:s}", "allocatable", allocatable, "capacity", capacity,
                         "labels", labels, "clusterName", cluster->object.name, "clusterSource",
                         cluster->source ? cluster->source : "", "queueName", go_text(body, "queueName"));
}

static bool is_named(const json_t *list, const char *name)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                if (strcmp(json_string_value(item), name) == 0)
                        return true;
        }
        return json_array_size(list) == 0;
}

static json_t *find_nodes(const Call *call, const json_t *body, GError **error)
{
        const GPtrArray *all = catalog_list(call->catalog, KIND_CLUSTER);
        const char *name = go_text(body, "queueName");
        const Queue *queue = catalog_queue(call->catalog, name);
        json_t *reply;

        if (*name && !queue) {
                paddleflow_set(error, CODE_QueueNameNotFound, "there is no queue '%.255s'", name);
                return NULL;
        }
        reply = json_object();
        for (guint i = 0; i < all->len; i++) {
                const Cluster *cluster = all->pdata[i];
                g_autoptr(json_t) nodes = NULL;

                if (cluster->offline ||
                    !is_named(json_object_get(body, "clusterNames"), cluster->object.name) ||
                    (queue && g_strcmp0(queue->cluster, cluster->object.name) != 0))
                        continue;
                nodes = cluster_node_list(call->flow, cluster, false, NULL); /* one that is away has none */
                json_object_set_new(reply, cluster->object.name, cluster_nodes(cluster, nodes, body));
        }
        return reply;
}

static void filter_nodes_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(json_t) body = NULL;
        json_t *reply = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        body = call_body(&call, cluster_filter_body, &error);
        if (body && call_root(&call, CODE_OnlyRootAllowed, &error))
                reply = find_nodes(&call, body, &error);
        if (reply)
                call_reply(&call, reply);
        else
                call_fail(&call, error);
}

static void filter_nodes(HttpRequest *request, void *arg)
{
        paddleflow_defer_ask(request, arg, filter_nodes_now);
}

/* ---- GET /cluster/{clusterName}/nodeInfos ---- */

static json_t *pods_of(const json_t *node)
{
        const json_t *all = part(node, "pods"), *pod;
        json_t *shown = json_array();
        size_t i;

        json_array_foreach(all, i, pod)
                json_array_append_new(shown, json_pack("{s:O, s:O, s:O, s:O}", "podName", part(pod, "name"),
                                                       "status", part(pod, "status"), "labels",
                                                       part(pod, "labels"), "resources", part(pod, "asks")));
        return shown;
}

static json_t *node_info(const json_t *node)
{
        return json_pack("{s:O, s:O, s:i, s:o, s:O, s:O, s:o}", "nodeName", part(node, "name"), "nodeIP",
                         part(node, "ip"), "podsCount", (int)json_array_size(part(node, "pods")), "labels",
                         shown_labels(node), "used", part(node, "used"), "capacity", part(node, "capacity"),
                         "pods", pods_of(node));
}

static json_t *infos_of(const json_t *nodes, gint64 page, gint64 size)
{
        g_autoptr(GPtrArray) names = nodes ? keys_of(nodes) : g_ptr_array_new();
        json_t *list = json_array();

        for (gint64 i = (page - 1) * size; i < MIN(page * size, names->len); i++)
                json_array_append_new(list, node_info(part(nodes, names->pdata[i])));
        if (json_array_size(list) == 0) {
                json_decref(list);
                list = json_null();
        }
        return json_pack("{s:i, s:o}", "totalCount", (int)names->len, "nodeList", list);
}

static void show_nodes_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Cluster *cluster;
        g_autoptr(json_t) nodes = NULL;
        g_autoptr(GError) why = NULL;
        gint64 page, size;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (!call_query_int(&call, "pageNo", 1, G_MAXINT32, 1, &page, &error) ||
            !call_query_int(&call, "pageSize", 1, INFO_PAGE, INFO_PAGE, &size, &error) ||
            !call_root(&call, CODE_OnlyRootAllowed, &error)) {
                call_fail(&call, error);
                return;
        }
        cluster = catalog_cluster(call.catalog, call_param(&call, "clusterName"));
        if (cluster && !cluster->offline)
                nodes = cluster_node_list(call.flow, cluster, true, &why);
        if (why)
                paddleflow_set(&error, CODE_InternalError, "cluster '%s': %s", cluster->object.name,
                               why->message);
        if (error)
                call_fail(&call, error);
        else
                call_reply(&call, infos_of(nodes, page, size));
}

static void show_nodes(HttpRequest *request, void *arg)
{
        paddleflow_defer_ask(request, arg, show_nodes_now);
}

/* ---- objects of Kubernetes ---- */

/* Whatever the API server says against it is one word on this face. */
static json_t *ask_object(const Call *call, const RuntimeAsk *ask, GError **error)
{
        g_autoptr(GError) why = NULL;
        json_t *object = paddleflow_ask(call->flow, call_param(call, "clusterName"), ask, &why);

        if (!object)
                paddleflow_set(error, CODE_InternalError, "%s", why->message);
        return object;
}

/* Where an object is named: a query, or a body. */
static bool name_object(const char *(*text)(const void *from, const char *name), const void *from,
                        RuntimeAsk *ask, GError **error)
{
        static const char *const needed[] = { "name", "kind", "apiVersion" };
        const char *namespace = text(from, "namespace");

        for (gsize i = 0; i < G_N_ELEMENTS(needed); i++)
                if (!*text(from, needed[i]))
                        return paddleflow_set(error, CODE_InvalidArguments, "%s is missing", needed[i]);
        ask->name = (char *)text(from, "name");
        ask->kind = (char *)text(from, "kind");
        ask->api_version = (char *)text(from, "apiVersion");
        ask->namespace = *namespace ? (char *)namespace : NULL;
        return true;
}

static const char *text_of_query(const void *call, const char *name)
{
        return call_query(call, name);
}

static const char *text_of_member(const void *object, const char *name)
{
        return go_text(object, name);
}

static bool take_object(const Call *call, GError **error)
{
        g_autoptr(json_t) known = call_body(call, object_body, error);

        return known &&
               (json_is_object(call->body) || paddleflow_set(error, CODE_MalformedJSON, "it is no object"));
}

static json_t *show_object(const Call *call, GError **error)
{
        RuntimeAsk ask = { .verb = ASK_GET };

        return name_object(text_of_query, call, &ask, error) ? ask_object(call, &ask, error) : NULL;
}

/* Answered by what was sent. */
static json_t *put_object(const Call *call, RuntimeAskVerb verb, GError **error)
{
        const json_t *about = part(call->body, "metadata");
        RuntimeAsk ask = { .verb = verb,
                           .kind = (char *)go_text(call->body, "kind"),
                           .api_version = (char *)go_text(call->body, "apiVersion"),
                           .namespace = (char *)json_string_value(part(about, "namespace")),
                           .name = verb == ASK_REPLACE ? (char *)go_text(about, "name") : NULL,
                           .body = call->body };
        g_autoptr(json_t) made = NULL;

        if (!*ask.kind || !*ask.api_version || !*go_text(about, "name")) {
                paddleflow_set(error, CODE_InvalidArguments, "kind, apiVersion or metadata.name is missing");
                return NULL;
        }
        made = ask_object(call, &ask, error);
        return made ? json_incref(call->body) : NULL;
}

static json_t *create_object(const Call *call, GError **error)
{
        return take_object(call, error) ? put_object(call, ASK_CREATE, error) : NULL;
}

static json_t *change_object(const Call *call, GError **error)
{
        return take_object(call, error) ? put_object(call, ASK_REPLACE, error) : NULL;
}

static json_t *drop_object(const Call *call, GError **error)
{
        RuntimeAsk ask = { .verb = ASK_DELETE };
        g_autoptr(json_t) gone = NULL;

        if (!take_object(call, error) || !name_object(text_of_member, call->body, &ask, error))
                return NULL;
        gone = ask_object(call, &ask, error);
        return gone ? json_null() : NULL;
}

static const struct {
        const char *method, *action;                      /* action NULL: any */
        json_t *(*run)(const Call *call, GError **error); /* NULL with the error; null: an empty answer */
} object_actions[] = {
        { "GET", NULL, show_object },        { "PUT", NULL, change_object },    { "POST", "", create_object },
        { "POST", "create", create_object }, { "POST", "delete", drop_object },
};

static json_t *run_action(const Call *call, GError **error)
{
        const char *method = http_request_route(call->request)->method, *action = call_query(call, "action");

        for (gsize i = 0; i < G_N_ELEMENTS(object_actions); i++)
                if (strcmp(object_actions[i].method, method) == 0 &&
                    (!object_actions[i].action || strcmp(object_actions[i].action, action) == 0))
                        return object_actions[i].run(call, error);
        paddleflow_set(error, CODE_ActionNotAllowed, "action '%.40s' is neither create nor delete", action);
        return NULL;
}

/* The query is judged before the cluster is looked for; a body after it. */
static bool check_query(const Call *call, GError **error)
{
        RuntimeAsk ask = { .verb = ASK_GET };

        return strcmp(http_request_route(call->request)->method, "GET") != 0 ||
               name_object(text_of_query, call, &ask, error);
}

static json_t *use_object(const Call *call, GError **error)
{
        const char *name = call_param(call, "clusterName");
        const Cluster *cluster = catalog_cluster(call->catalog, name);

        if (!call_root(call, CODE_OnlyRootAllowed, error) || !check_query(call, error))
                return NULL;
        if (!cluster)
                paddleflow_set(error, CODE_ClusterNameNotFound, "there is no cluster '%.255s'", name);
        else if (cluster->type != CLUSTER_KUBERNETES)
                paddleflow_set(error, CODE_ActionNotAllowed,
                               "cluster '%s' is of type %s, which has no objects of Kubernetes", name,
                               cluster_type_name(cluster->type));
        else
                return run_action(call, error);
        return NULL;
}

static void use_object_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        json_t *reply;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        reply = use_object(&call, &error);
        if (!reply)
                call_fail(&call, error);
        else if (json_is_null(reply))
                paddleflow_reply_empty(request);
        else
                call_reply(&call, reply);
}

static void use_objects(HttpRequest *request, void *arg)
{
        paddleflow_defer_ask(request, arg, use_object_now);
}

static const HttpParameter show_rooms_query[] = {
        { "clusterNames", HTTP_STRING, "Only these, separated by commas." },
        { 0 },
};

static const HttpParameter show_nodes_query[] = {
        { "pageNo", HTTP_INTEGER, "From 1." },
        { "pageSize", HTTP_INTEGER, "At most 100." },
        { 0 },
};

static const HttpParameter use_objects_query[] = {
        { "action", HTTP_STRING, "create or delete." },
        { 0 },
};

static const HttpParameter object_query[] = {
        { "name", HTTP_STRING, "Its name." },
        { "namespace", HTTP_STRING, "Its namespace." },
        { "kind", HTTP_STRING, "Its kind." },
        { "apiVersion", HTTP_STRING, "The version of its kind." },
        { 0 },
};

const HttpRoute node_rows[] = {
        { "GET", PADDLEFLOW_BASE "/cluster/resource", ACCESS_NODE, VERB_LIST, show_rooms,
          "Show the resources of clusters.", .query = show_rooms_query, .reply = "Rooms" },
        { "POST", PADDLEFLOW_BASE "/cluster/resource", ACCESS_NODE, VERB_LIST, filter_nodes,
          "Show the nodes of clusters by a filter.", .request = "NodeFilter", .reply = "Nodes" },
        { "GET", PADDLEFLOW_BASE "/cluster/{clusterName}/nodeInfos", ACCESS_NODE, VERB_LIST, show_nodes,
          "Show the nodes of a cluster with what runs on them.", .query = show_nodes_query,
          .reply = "NodeInfos" },
        { "POST", PADDLEFLOW_BASE "/cluster/{clusterName}/k8s/object", ACCESS_CLUSTER, VERB_UPDATE,
          use_objects, "Make or drop an object of Kubernetes.", .query = use_objects_query,
          .request = "K8sObject", .reply = "K8sObject" },
        { "GET", PADDLEFLOW_BASE "/cluster/{clusterName}/k8s/object", ACCESS_NODE, VERB_LIST, use_objects,
          "Show an object of Kubernetes.", .query = object_query, .reply = "K8sObject" },
        { "PUT", PADDLEFLOW_BASE "/cluster/{clusterName}/k8s/object", ACCESS_CLUSTER, VERB_UPDATE,
          use_objects, "Change an object of Kubernetes.", .request = "K8sObject", .reply = "K8sObject" },
        { 0 },
};
