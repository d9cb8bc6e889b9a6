/* What clusters have, and what runs there (paddleflow-api.md 2.6): this machine is the one node of its
 * cluster. Objects of Kubernetes are for clusters that are connected to one. */
#include <string.h>

#include "api/paddleflow/internal.h"

enum { PODS_MAX = 10000, PAGE = 1000, FILTER_PAGE = 1000, INFO_PAGE = 100 };

#define STATUS_LABEL "paddleflow/node-status"

/* The clusters of type Local are this machine; all others have no nodes here. */
static bool has_node(const Cluster *cluster)
{
        return cluster && cluster->type == CLUSTER_LOCAL && !cluster->offline;
}

static void room(Flow *flow, Resources *ret_total, Resources *ret_free)
{
        EngineMetrics metrics;

        engine_metrics(flow->engine, &metrics);
        *ret_total = metrics.total;
        *ret_free = metrics.free;
}

static json_t *node_labels(Flow *flow)
{
        json_t *labels = labels_format(flow->node_labels);

        json_object_set_new(labels, STATUS_LABEL,
                            json_string(engine_is_ready(flow->engine) ? "Ready" : "NotReady"));
        return labels;
}

/* ---- GET /cluster/resource ---- */

static json_t *cluster_room(Flow *flow, const Cluster *cluster)
{
        const char *trouble = cluster_trouble(flow, cluster);
        json_t *nodes = json_array();
        Resources total = { 0 }, left = { 0 };
        guint32 kinds;

        if (has_node(cluster)) {
                room(flow, &total, &left);
                kinds = amounts_kinds(&total);
                json_array_append_new(nodes, json_pack("{s:s, s:b, s:o, s:o}", "nodeName", flow->node_name,
                                                       "schedulable", trouble == NULL, "total",
                                                       amounts_format(&total, kinds), "idle",
                                                       amounts_format(&left, kinds)));
        }
        kinds = amounts_kinds(&total);
        return json_pack("{s:o, s:{s:o, s:o}, s:s}", "nodeList", nodes, "summary", "total",
                         amounts_format(&total, kinds), "idle", amounts_format(&left, kinds), "errMsg",
                         trouble ? trouble : "");
}

static void show_rooms(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(GStrv) names = NULL;
        const GPtrArray *all;
        json_t *reply;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (!call_root(&call, CODE_OnlyRootAllowed, &error)) {
                call_fail(&call, error);
                return;
        }
        names = call_query_list(&call, "clusterNames");
        all = catalog_list(call.catalog, KIND_CLUSTER);
        reply = json_object();
        for (guint i = 0; i < all->len; i++) {
                const Cluster *cluster = all->pdata[i];

                if (!cluster->offline &&
                    (!names || g_strv_contains((const char *const *)names, cluster->object.name)))
                        json_object_set_new(reply, cluster->object.name, cluster_room(call.flow, cluster));
        }
        if (json_object_size(reply) > 0) {
                call_reply(&call, reply);
                return;
        }
        json_decref(reply);
        flow_set(&error, CODE_ClusterNotFound, "clusterNames: no cluster of this name is online");
        call_fail(&call, error);
}

/* ---- POST /cluster/resource ---- */

/* "k=v" or "k!=v"; what is neither filters nothing. */
static bool labels_match(Flow *flow, const char *filter)
{
        const char *equals = strchr(filter, '=');
        bool differs = equals && equals > filter && equals[-1] == '!';
        g_autofree char *key = equals ? g_strndup(filter, (gsize)(equals - filter) - differs) : NULL;
        const char *value = key ? labels_get(flow->node_labels, key) : NULL;

        if (!key || !*key || strchr(equals + 1, '='))
                return true;
        return (g_strcmp0(value, equals + 1) == 0) != differs;
}

static gint64 number_of(const json_t *body, const char *name, gint64 fallback)
{
        gint64 value = json_integer_value(json_object_get(body, name));

        return value > 0 ? value : fallback;
}

/* Is this machine on the page that is asked for? */
static bool shows_node(Flow *flow, const json_t *body)
{
        const char *status = go_text(body, "nodeStatus");

        return number_of(body, "pageNo", 1) == 1 && engine_is_ready(flow->engine) &&
               (!*status || strcmp(status, "Ready") == 0) &&
               (!*go_text(body, "labels") || labels_match(flow, go_text(body, "labels")));
}

static json_t *raw_amounts(const Resources *amounts, bool text)
{
        json_t *object = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *shown = quantity_format(kind, amounts->amount[kind]);

                if (amounts->amount[kind] > 0 || kind == RESOURCE_CPU || kind == RESOURCE_MEMORY)
                        json_object_set_new(object, resource_name(kind),
                                            text ? json_string(shown) : json_integer(amounts->amount[kind]));
        }
        return object;
}

static json_t *cluster_nodes(Flow *flow, const Cluster *cluster, const json_t *body)
{
        json_t *allocatable = json_object(), *capacity = json_object(), *labels = json_object();
        Resources total, left;

        if (has_node(cluster) && shows_node(flow, body)) {
                room(flow, &total, &left);
                json_object_set_new(allocatable, flow->node_name, raw_amounts(&total, false));
                json_object_set_new(capacity, flow->node_name, raw_amounts(&total, true));
                json_object_set_new(labels, flow->node_name, node_labels(flow));
        }
        return json_pack("{s:o, s:o, s:o, s:s, s:s, s:s}", "allocatable", allocatable, "capacity", capacity,
                         "labels", labels, "clusterName", cluster->object.name, "clusterSource",
                         cluster->source ? cluster->source : "", "queueName", go_text(body, "queueName"));
}

static bool is_named(const json_t *list, const char *name)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item)
        {
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
                flow_set(error, CODE_QueueNameNotFound, "there is no queue '%.255s'", name);
                return NULL;
        }
        reply = json_object();
        for (guint i = 0; i < all->len; i++) {
                const Cluster *cluster = all->pdata[i];

                if (!cluster->offline &&
                    is_named(json_object_get(body, "clusterNames"), cluster->object.name) &&
                    (!queue || g_strcmp0(queue->cluster, cluster->object.name) == 0))
                        json_object_set_new(reply, cluster->object.name,
                                            cluster_nodes(call->flow, cluster, body));
        }
        return reply;
}

static void filter_nodes(HttpRequest *request, void *arg)
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

/* ---- GET /cluster/{clusterName}/nodeInfos ---- */

/* What a member's process is to those who know pods. */
static int pod_status(const Member *member)
{
        switch (member->state) {
        case MEMBER_RUNNING:
        case MEMBER_READY: return 1;
        case MEMBER_STOPPING: return 2;
        case MEMBER_EXITED:
        case MEMBER_LOST:
        case MEMBER_SURPLUS: return 3;
        default: return 0;
        }
}

static void add_pods(const Job *job, const Resources *total, Resources *used, json_t *pods)
{
        for (int i = 0; i < job->n_members && json_array_size(pods) < PODS_MAX; i++) {
                int status = pod_status(&job->members[i]);
                g_autofree char *name = job_task_name(job, i);
                Resources asked;

                if (status == 3)
                        continue;
                spec_member_wants(job->spec, job->members[i].role, total, &asked);
                (void)resources_add(used, &asked, 1);
                json_array_append_new(pods, json_pack("{s:s, s:i, s:o, s:o}", "podName", name, "status",
                                                      status, "labels", labels_format(job_labels(job)),
                                                      "resources", raw_amounts(&asked, false)));
        }
}

static json_t *running_pods(Flow *flow, const Resources *total, Resources *used)
{
        JobQuery query = { .states = 1u << JOB_STARTING | 1u << JOB_RUNNING | 1u << JOB_STOPPING |
                                     1u << JOB_PREEMPTING,
                           .limit = PAGE };
        json_t *pods = json_array();

        do {
                g_autoptr(GPtrArray) jobs = store_jobs(flow->store, &query, &query.before_seq, NULL);

                if (!jobs)
                        break;
                for (guint i = 0; i < jobs->len; i++)
                        add_pods(jobs->pdata[i], total, used, pods);
        } while (query.before_seq && json_array_size(pods) < PODS_MAX);
        return pods;
}

static json_t *node_info(Flow *flow)
{
        Resources total, left, used = { 0 };
        json_t *pods;

        room(flow, &total, &left);
        pods = running_pods(flow, &total, &used);
        return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o}", "nodeName", flow->node_name, "nodeIP",
                         "127.0.0.1", "podsCount", (int)json_array_size(pods), "labels", node_labels(flow),
                         "used", raw_amounts(&used, false), "capacity", raw_amounts(&total, false), "pods",
                         pods);
}

static void show_nodes_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        gint64 page, size;
        bool has;
        json_t *nodes;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (!call_query_int(&call, "pageNo", 1, G_MAXINT32, 1, &page, &error) ||
            !call_query_int(&call, "pageSize", 1, INFO_PAGE, INFO_PAGE, &size, &error) ||
            !call_root(&call, CODE_OnlyRootAllowed, &error)) {
                call_fail(&call, error);
                return;
        }
        has = has_node(catalog_cluster(call.catalog, call_param(&call, "clusterName")));
        nodes = has && page == 1 ? json_array() : json_null();
        if (has && page == 1)
                json_array_append_new(nodes, node_info(call.flow));
        call_reply(&call, json_pack("{s:i, s:o}", "totalCount", has ? 1 : 0, "nodeList", nodes));
}

static void show_nodes(HttpRequest *request, void *arg)
{
        flow_defer(request, arg, show_nodes_now);
}

/* ---- objects of Kubernetes ---- */

static bool check_action(const Call *call, GError **error)
{
        const char *action = call_query(call, "action");

        return strcmp(http_request_route(call->request)->method, "POST") != 0 || !*action ||
               strcmp(action, "create") == 0 || strcmp(action, "delete") == 0 ||
               flow_set(error, CODE_ActionNotAllowed, "action '%.40s' is neither create nor delete", action);
}

static void use_object(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        const Cluster *cluster;
        const char *name;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        name = call_param(&call, "clusterName");
        cluster = catalog_cluster(call.catalog, name);
        if (!call_root(&call, CODE_OnlyRootAllowed, &error))
                ;
        else if (!cluster)
                flow_set(&error, CODE_ClusterNameNotFound, "there is no cluster '%.255s'", name);
        else if (cluster->type != CLUSTER_KUBERNETES)
                flow_set(&error, CODE_ActionNotAllowed,
                         "cluster '%s' is of type %s, which has no objects of "
                         "Kubernetes",
                         name, cluster_type_name(cluster->type));
        else if (check_action(&call, &error))
                flow_set(&error, CODE_InternalError, "cluster '%s' is not connected: %s", name,
                         "this server has no runtime for Kubernetes yet");
        call_fail(&call, error);
}

#define AT(path) FLOW_BASE path
#define OBJECT                                                                                               \
        "name:string:Its name.;namespace:string:Its namespace.;kind:string:Its kind.;apiVersion:string:The " \
        "version of its kind."

const HttpRoute node_rows[] = {
        { "GET", AT("/cluster/resource"), ACCESS_NODE, VERB_LIST, HTTP_BODY_MEMORY, FLOW_BODY_MAX, show_rooms,
          "Show what clusters have.", "clusterNames:string:Only these, separated by commas.", NULL, "Rooms",
          0, NULL },
        { "POST", AT("/cluster/resource"), ACCESS_NODE, VERB_LIST, HTTP_BODY_MEMORY, FLOW_BODY_MAX,
          filter_nodes, "Show the nodes of clusters by a filter.", NULL, "NodeFilter", "Nodes", 0, NULL },
        { "GET", AT("/cluster/{clusterName}/nodeInfos"), ACCESS_NODE, VERB_LIST, HTTP_BODY_MEMORY,
          FLOW_BODY_MAX, show_nodes, "Show the nodes of a cluster with what runs on them.",
          "pageNo:integer:From 1.;pageSize:integer:At most 100.", NULL, "NodeInfos", 0, NULL },
        { "POST", AT("/cluster/{clusterName}/k8s/object"), ACCESS_NODE, VERB_LIST, HTTP_BODY_MEMORY,
          FLOW_BODY_MAX, use_object, "Make or drop an object of Kubernetes.",
          "action:string:create or delete.", "K8sObject", "K8sObject", 0, NULL },
        { "GET", AT("/cluster/{clusterName}/k8s/object"), ACCESS_NODE, VERB_LIST, HTTP_BODY_MEMORY,
          FLOW_BODY_MAX, use_object, "Show an object of Kubernetes.", OBJECT, NULL, "K8sObject", 0, NULL },
        { "PUT", AT("/cluster/{clusterName}/k8s/object"), ACCESS_NODE, VERB_LIST, HTTP_BODY_MEMORY,
          FLOW_BODY_MAX, use_object, "Change an object of Kubernetes.", NULL, "K8sObject", "K8sObject", 0,
          NULL },
        { 0 },
};
