/* Queues (doc/reference/paddleflow-api.md, "Queues"). */
#include <string.h>

#include "api/paddleflow/internal.h"

#define PARENT_ROOT "root"

static const CodeMap codes[] = { { ERR_EXISTS, CODE_QueueNameDuplicated },
                                 { ERR_NOT_FOUND, CODE_QueueResourceNotMatch },
                                 { ERR_INVALID, CODE_QueueResourceNotMatch },
                                 { ERR_CONFLICT, CODE_QueueResourceNotMatch },
                                 CODE_MAP_END };

/* ---- shown ---- */

static json_t *list_of(char *const *texts)
{
        json_t *list = json_array();

        for (; texts && *texts; texts++)
                json_array_append_new(list, json_string(*texts));
        return list;
}

static json_t *show_queue(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        const Queue *queue = (const Queue *)object;
        const Cluster *cluster = catalog_cluster(catalog, queue->cluster);
        gint64 open = engine_queue_open(flow->engine, object->name);
        bool usable = cluster && !cluster->offline;
        g_autofree char *created = time_text(object->created), *updated = time_text(object->updated);
        json_t *shown =
                json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:s, s:s}", "id", object->id, "name",
                          object->name, "namespace", text_or_blank(queue->namespace), "clusterName",
                          text_or_blank(queue->cluster), "quotaType", quota_type_name(queue->quota_type),
                          "minResources", amounts_format(&queue->min.amount, queue->min.said), "maxResources",
                          amounts_format(&queue->max.amount, queue->max.said), "location",
                          labels_format(queue->location), "status",
                          queue_state_name(queue_state(queue, open, usable)), "createTime", created,
                          "updateTime", updated);

        if (queue->policies)
                json_object_set_new(shown, "schedulingPolicy", list_of(queue->policies));
        return shown;
}

/* With what is used, and what is left of its max. */
static json_t *show_in_full(PaddleFlow *flow, const Catalog *catalog, const Object *object)
{
        const Queue *queue = (const Queue *)object;
        json_t *shown = show_queue(flow, catalog, object);
        Resources used = queue_used(flow, object->name), idle = queue->max.amount;

        for (int kind = 0; kind < resource_kinds(); kind++)
                idle.amount[kind] = MAX(0, idle.amount[kind] - used.amount[kind]);
        json_object_set_new(shown, "usedResources", amounts_format(&used, amounts_kinds(&used)));
        json_object_set_new(shown, "idleResources", amounts_format(&idle, queue->max.said));
        return shown;
}

/* ---- what a body says ---- */

static bool take_limits(const char *name, const json_t *body, bool merge, ResourceLimits *limits,
                        GError **error)
{
        GError *why = NULL;

        if (amounts_take(name, json_object_get(body, name), merge, limits, &why))
                return true;
        paddleflow_set(error, CODE_InvalidComputeResource, "%s", why->message);
        g_error_free(why);
        return false;
}

/* The queue's own three, before the engine looks at its neighbours. */
static bool check_order(const Queue *queue, GError **error)
{
        for (int kind = 0; kind < resource_kinds(); kind++) {
                gint64 min = queue->min.amount.amount[kind], max = queue->max.amount.amount[kind];
                g_autofree char *its = quantity_format(kind, min), *most = quantity_format(kind, max);

                if (min > max && (queue->only_listed || queue->max.said & 1u << kind))
                        return paddleflow_set(error, CODE_InvalidComputeResource,
                                              "minResources: %s of %s are more than the %s of maxResources",
                                              its, resource_name(kind), most);
        }
        return true;
}

/* A Volcano queue without any capacity has no limit; in any other what is not named may not be used. */
static void settle_limits(Queue *queue)
{
        bool unlimited = queue->quota_type == QUOTA_CAPABILITY && resources_is_zero(&queue->max.amount);

        queue->only_listed = !unlimited;
        if (unlimited)
                queue->max = (ResourceLimits){ 0 };
        else
                queue->max.said |= 1u << RESOURCE_CPU | 1u << RESOURCE_MEMORY;
}

/* Isolation is said among the labels of an elastic queue; a logical one has a parent. */
static bool settle_location(Queue *queue, json_t *location, GError **error)
{
        const char *isolation = json_string_value(json_object_get(location, QUEUE_ISOLATION_LABEL));
        const char *parent = json_string_value(json_object_get(location, QUEUE_PARENT_LABEL));
        GError *why = NULL;
        char **labels = NULL;

        if (queue->quota_type == QUOTA_ELASTIC) {
                isolation = isolation && *isolation ? isolation : "logical";
                if (strcmp(isolation, "logical") != 0 && strcmp(isolation, "physical") != 0)
                        return paddleflow_set(error, CODE_InvalidArguments,
                                              "location: %s '%.60s' is neither logical nor physical",
                                              QUEUE_ISOLATION_LABEL, isolation);
                json_object_set_new(location, QUEUE_ISOLATION_LABEL, json_string(isolation));
                if (strcmp(isolation, "physical") == 0)
                        parent = NULL;
                else if (!parent || !*parent)
                        parent = PARENT_ROOT;
                if (parent)
                        json_object_set_new(location, QUEUE_PARENT_LABEL, json_string(parent));
        }
        set_text(&queue->parent, parent && strcmp(parent, PARENT_ROOT) != 0 ? parent : NULL);
        if (!labels_parse("location", location, &labels, &why)) {
                paddleflow_set(error, CODE_InvalidArguments, "%s", why->message);
                g_error_free(why);
                return false;
        }
        g_strfreev(queue->location);
        queue->location = labels;
        return true;
}

/* An entry with '-' behind it takes that one away. */
static void settle_policies(Queue *queue, const json_t *said)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new();
        const json_t *item;
        size_t i;

        for (char **at = queue->policies; at && *at; at++)
                g_ptr_array_add(list, g_strdup(*at));
        json_array_foreach(said, i, item) {
                const char *text = json_string_value(item);
                g_autofree char *name = g_strndup(text, strlen(text) - (g_str_has_suffix(text, "-") ? 1 : 0));
                guint at = 0;
                bool there = g_ptr_array_find_with_equal_func(list, name, g_str_equal, &at);

                if (there && g_str_has_suffix(text, "-"))
                        g_free(g_ptr_array_remove_index(list, at));
                else if (!there && *text && !g_str_has_suffix(text, "-"))
                        g_ptr_array_add(list, g_strdup(text));
        }
        g_strfreev(queue->policies);
        queue->policies = NULL;
        if (list->len == 0)
                return;
        g_ptr_array_add(list, NULL);
        queue->policies = (char **)g_ptr_array_steal(list, NULL);
}

/* ---- create ---- */

static bool check_cluster(const Call *call, const char *name, const Cluster **ret, GError **error)
{
        *ret = catalog_cluster(call->catalog, name);
        if (!*ret)
                return paddleflow_set(error, CODE_ClusterNotFound, "there is no cluster '%.255s'", name);
        return !(*ret)->offline || paddleflow_set(error, CODE_InvalidClusterStatus,
                                                  "cluster '%s' is offline\nSet it online first.", name);
}

static bool check_namespace(const Cluster *cluster, const char *name, GError **error)
{
        if (!name_is_valid(name))
                return paddleflow_set(error, CODE_NamespaceNotFound,
                                      "namespace '%.80s' is not a label of at most 63 of a-z, 0-9 and '-'",
                                      name);
        return !cluster->namespaces || g_strv_contains((const char *const *)cluster->namespaces, name) ||
               paddleflow_set(error, CODE_NamespaceNotFound,
                              "namespace '%s' is not in the list of cluster '%s'", name,
                              cluster->object.name);
}

static bool check_name(const Call *call, const char *name, GError **error)
{
        if (!name_is_valid(name))
                return paddleflow_set(error, CODE_InvalidNamePattern,
                                      "name '%.80s' is not a label of at most 63 of a-z, 0-9 and '-'", name);
        return (strcmp(name, QUEUE_DEFAULT) != 0 && !catalog_queue(call->catalog, name)) ||
               paddleflow_set(error, CODE_QueueNameDuplicated, "queue '%s' is there already", name);
}

static const char *cluster_of(const json_t *body)
{
        const char *name = go_text(body, "clusterName");

        return *name ? name : CLUSTER_DEFAULT;
}

static bool check_new(const Call *call, const json_t *body, GError **error)
{
        const char *name = go_text(body, "name");
        const Cluster *cluster;

        return call_root(call, CODE_OnlyRootAllowed, error) &&
               (*name || paddleflow_set(error, CODE_QueueNameNotFound, "name is missing")) &&
               check_cluster(call, cluster_of(body), &cluster, error) &&
               check_namespace(cluster, go_text(body, "namespace"), error) && check_name(call, name, error);
}

static bool fill_new(const Call *call, Object *draft, const json_t *body, GError **error)
{
        Queue *queue = (Queue *)draft;
        const char *type = go_text(body, "quotaType");
        g_autoptr(json_t) location = json_object();

        if (*type && !quota_type_parse(type, &queue->quota_type))
                return paddleflow_set(error, CODE_QueueQuotaTypeIsNotSupported,
                                      "quotaType '%.60s' is not one of %s, %s", type,
                                      quota_type_name(QUOTA_ELASTIC), quota_type_name(QUOTA_CAPABILITY));
        set_text(&queue->cluster, cluster_of(body));
        set_text(&queue->namespace, go_text(body, "namespace"));
        json_object_update(location, json_object_get(body, "location"));
        if (!take_limits("maxResources", body, false, &queue->max, error))
                return false;
        if (queue->quota_type == QUOTA_ELASTIC &&
            !take_limits("minResources", body, false, &queue->min, error))
                return false;
        settle_limits(queue);
        settle_policies(queue, json_object_get(body, "schedulingPolicy"));
        return check_order(queue, error) && settle_location(queue, location, error);
}

/* ---- change ---- */

static bool merge_location(Queue *queue, const json_t *said, GError **error)
{
        g_autoptr(json_t) location = labels_format(queue->location);
        g_autofree char *was = g_strdup(labels_get(queue->location, QUEUE_ISOLATION_LABEL));
        const char *key, *now;
        json_t *value;

        if (!said)
                return true;
        json_object_foreach((json_t *)said, key, value) {
                if (json_string_length(value) == 0)
                        json_object_del(location, key);
                else
                        json_object_set(location, key, value);
        }
        now = json_string_value(json_object_get(location, QUEUE_ISOLATION_LABEL));
        if (queue->quota_type == QUOTA_ELASTIC && now && g_strcmp0(now, was ? was : "logical") != 0)
                return paddleflow_set(error, CODE_InvalidArguments,
                                      "location: %s cannot be changed from '%s'", QUEUE_ISOLATION_LABEL,
                                      was ? was : "logical");
        if (queue->quota_type == QUOTA_ELASTIC && !now && was)
                json_object_set_new(location, QUEUE_ISOLATION_LABEL, json_string(was));
        return settle_location(queue, location, error);
}

static bool apply(const PaddleFlow *flow, const Catalog *catalog, Object *draft, const json_t *body,
                  GError **error)
{
        Queue *queue = (Queue *)draft;

        if (!take_limits("maxResources", body, true, &queue->max, error) ||
            (queue->quota_type == QUOTA_ELASTIC &&
             !take_limits("minResources", body, true, &queue->min, error)))
                return false;
        if (queue->only_listed || queue->max.said)
                settle_limits(queue);
        settle_policies(queue, json_object_get(body, "schedulingPolicy"));
        return check_order(queue, error) && merge_location(queue, json_object_get(body, "location"), error);
}

static bool check_change(const Call *call, const char *name, const json_t *body, GError **error)
{
        const Queue *queue = catalog_queue(call->catalog, name);
        const Cluster *cluster;

        if (!call_root(call, CODE_OnlyRootAllowed, error))
                return false;
        if (!queue)
                return paddleflow_set(error, CODE_RecordNotFound, "there is no queue '%.255s'", name);
        return check_cluster(call, queue->cluster, &cluster, error);
}

/* ---- drop, show, list ---- */

static bool check_drop(const Call *call, const char *name, GError **error)
{
        return call_root(call, CODE_OnlyRootAllowed, error);
}

static const CodeMap in_use[] = { { ERR_NOT_FOUND, CODE_QueueNameNotFound },
                                  { ERR_CONFLICT, CODE_QueueIsInUse },
                                  CODE_MAP_END };

static const EditKind queues = {
        .member = "name",
        .param = "queueName",
        .body = queue_body,
        .check_new = check_new,
        .fill = fill_new,
        .check_change = check_change,
        .check_drop = check_drop,
        .made = { KIND_QUEUE, NULL, NULL, codes, CODE_QueueNameNotFound },
        .changed = { KIND_QUEUE, apply, show_in_full, codes, CODE_RecordNotFound },
        .dropped = { KIND_QUEUE, NULL, NULL, in_use, CODE_QueueNameNotFound },
        .answer = "name",
};

static void create_queue(HttpRequest *request, void *arg)
{
        edit_create(request, arg, &queues);
}

static void change_queue(HttpRequest *request, void *arg)
{
        edit_update(request, arg, &queues);
}

static void drop_queue(HttpRequest *request, void *arg)
{
        edit_delete(request, arg, &queues);
}

static void show_one(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Queue *queue;
        const char *name;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        name = call_param(&call, "queueName");
        queue = catalog_queue(call.catalog, name);
        if (queue && queue_is_granted(&call, queue)) {
                call_reply(&call, show_in_full(call.flow, call.catalog, &queue->object));
                return;
        }
        if (call.root)
                paddleflow_set(&error, CODE_QueueNameNotFound, "there is no queue '%.255s'", name);
        else
                paddleflow_set(&error, CODE_ActionNotAllowed, "'%s' has no grant on a queue '%.255s'",
                               call.user, name);
        call_fail(&call, error);
}

/* The built-in queue of `/v1` is open to all users; clients of this interface do not expect it in lists. */
static bool is_listed(const Call *call, const Object *object, void *arg)
{
        const char *name = arg;

        if (*name && strcmp(object->name, name) != 0)
                return false;
        return call->root ||
               (strcmp(object->name, QUEUE_DEFAULT) != 0 && queue_is_granted(call, (const Queue *)object));
}

static void list_queues(HttpRequest *request, void *arg)
{
        g_auto(Call) call;

        if (call_begin(&call, request, arg))
                page_reply(&call, KIND_QUEUE, "queueList", is_listed, (char *)call_query(&call, "name"),
                           show_queue);
}

static const HttpParameter list_queues_query[] = {
        { "name", HTTP_STRING, "Only this one." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};

const HttpRoute queue_rows[] = {
        { "POST", PADDLEFLOW_BASE "/queue", ACCESS_QUEUE, VERB_CREATE, create_queue, "Make a queue.",
          .request = "Queue", .reply = "Named" },
        { "GET", PADDLEFLOW_BASE "/queue", ACCESS_QUEUE, VERB_LIST, list_queues,
          "List the queues that the caller may use.", .query = list_queues_query, .reply = "QueueList" },
        { "GET", PADDLEFLOW_BASE "/queue/{queueName}", ACCESS_QUEUE, VERB_SHOW, show_one,
          "Show a queue with what is used and idle.", .reply = "QueueShown" },
        { "PUT", PADDLEFLOW_BASE "/queue/{queueName}", ACCESS_QUEUE, VERB_UPDATE, change_queue,
          "Change a queue; what is not said stays.", .request = "QueueChange", .reply = "QueueShown" },
        { "DELETE", PADDLEFLOW_BASE "/queue/{queueName}", ACCESS_QUEUE, VERB_DELETE, drop_queue,
          "Drop a queue that no job uses." },
        { 0 },
};
