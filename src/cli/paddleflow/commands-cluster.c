/* The commands of the older client about clusters (see command.h). */
#include "cli/paddleflow/commands.h"

static const PaddleFlowParam cluster_word[] = { { "CLUSTERNAME" }, { 0 } };
static const PaddleFlowParam cluster_create_words[] = {
        { "CLUSTERNAME", .key = "clusterName" },
        { "ENDPOINT", .key = "endpoint" },
        { "CLUSTERTYPE", .key = "clusterType" },
        { 0 },
};
/* clang-format off */
#define CLUSTER_OPTIONS                                                                                      \
        { "credential", "-c", PADDLEFLOW_CREDENTIAL, "credential", "text, or the absolute path of a file" },       \
        { "description", "-d", PADDLEFLOW_TEXT, "description", "description of the cluster" },                     \
        { "source", NULL, PADDLEFLOW_TEXT, "source", "source of the cluster" },                                    \
        { "setting", NULL, PADDLEFLOW_TEXT, "setting", "setting of the cluster" },                                 \
        { "status", NULL, PADDLEFLOW_TEXT, "status", "online or offline" },                                        \
        { "namespacelist", "-ns", PADDLEFLOW_WORDS, "namespaceList", "namespaces: a,b" },                          \
        { "version", NULL, PADDLEFLOW_TEXT, "version", "version of the cluster" }
/* clang-format on */
static const PaddleFlowParam cluster_create_options[] = { CLUSTER_OPTIONS, { 0 } };
static const PaddleFlowParam cluster_update_options[] = {
        { "endpoint", "-e", PADDLEFLOW_TEXT, "endpoint", "endpoint of the cluster" },
        { "clustertype", "-t", PADDLEFLOW_TEXT, "clusterType", "Kubernetes, Local or K3S" },
        CLUSTER_OPTIONS,
        { 0 },
};
static const PaddleFlowParam cluster_list_options[] = {
        MAXKEYS,
        MARKER,
        { "clusternames", "-cn", PADDLEFLOW_TEXT, "clusterNames", "only these: a,b" },
        { "clusterstatus", "-cs", PADDLEFLOW_TEXT, "clusterStatus", "only online or offline ones" },
        { 0 },
};
static const PaddleFlowColumn cluster_columns[] = {
        { "cluster id", "id" },
        { "cluster name", "clusterName" },
        { "description", "description" },
        { "endpoint", "endpoint" },
        { "source", "source" },
        { "cluster type", "clusterType" },
        { "version", "version" },
        { "status", "status" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};
static const PaddleFlowColumn cluster_show_columns[] = {
        { "cluster id", "id" },
        { "cluster name", "clusterName" },
        { "description", "description" },
        { "endpoint", "endpoint" },
        { "source", "source" },
        { "cluster type", "clusterType" },
        { "version", "version" },
        { "status", "status" },
        { "setting", "setting" },
        { "namespace list", "namespaceList" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { "credential", "credential", false, true },
        { 0 },
};
static const PaddleFlowParam cluster_resource_options[] = {
        { "clustername", "-cn", PADDLEFLOW_TEXT, "clusterNames", "only these: a,b" },
        { 0 },
};
static const PaddleFlowParam cluster_statistic_options[] = {
        { "pageno", NULL, PADDLEFLOW_INT, "pageNo", "number of the page", .fallback = "0" },
        { "pagesize", NULL, PADDLEFLOW_INT, "pageSize", "nodes on a page", .fallback = "1000" },
        { "clustername", "-cn", PADDLEFLOW_WORDS, "clusterNames", "only these: a,b" },
        { "queuename", "-q", PADDLEFLOW_TEXT, "queueName", "nodes of this queue" },
        { "labels", "-l", PADDLEFLOW_TEXT, "labels", "nodes with (k=v) or without (k!=v) a label" },
        { 0 },
};
static const PaddleFlowColumn cluster_resource_columns[] = { { "cluster name", "cluster" },
                                                             { "node", "nodeName" },
                                                             { "schedulable", "schedulable" },
                                                             { "total", "total" },
                                                             { "idle", "idle" },
                                                             { "error", "errMsg" },
                                                             { 0 } };
static const PaddleFlowColumn cluster_statistic_columns[] = {
        { "cluster name", "cluster" },    { "node", "node" },     { "capacity", "capacity" },
        { "allocatable", "allocatable" }, { "labels", "labels" }, { 0 }
};

/* {cluster: {"nodeList": [node...], "summary": {...}}}: a row for each node, and one for all. */
static json_t *resource_rows(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *about;
        const char *cluster;

        json_object_foreach(reply, cluster, about) {
                json_t *all = json_deep_copy(json_object_get(about, "summary")), *node;
                gsize i;

                json_array_foreach(json_object_get(about, "nodeList"), i, node) {
                        json_t *row = json_deep_copy(node);

                        json_object_set_new(row, "cluster", json_string(cluster));
                        json_array_append_new(rows, row);
                }
                all = json_is_object(all) ? all : (json_decref(all), json_object());
                json_object_set_new(all, "cluster", json_string(cluster));
                json_object_set_new(all, "nodeName", json_string("(all)"));
                json_object_set(all, "errMsg", json_object_get(about, "errMsg"));
                json_array_append_new(rows, all);
        }
        return rows;
}

/* {cluster: {"allocatable": {node: ...}, "capacity": {node: ...}, "labels": {node: ...}}}: a row for each
 * node. */
static json_t *statistic_rows(json_t *reply, GError **error)
{
        static const char *const members[] = { "capacity", "allocatable", "labels" };
        json_t *rows = json_array(), *about, *unused;
        const char *cluster, *node;

        json_object_foreach(reply, cluster, about) {
                if (json_object_size(json_object_get(about, "capacity")) == 0)
                        json_array_append_new(rows,
                                              json_pack("{s:s, s:s}", "cluster", cluster, "node", "(none)"));
                json_object_foreach(json_object_get(about, "capacity"), node, unused) {
                        json_t *row = json_pack("{s:s, s:s}", "cluster", cluster, "node", node);

                        for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
                                json_object_set(row, members[i],
                                                json_object_get(json_object_get(about, members[i]), node));
                        json_array_append_new(rows, row);
                }
        }
        return rows;
}

const PaddleFlowCommand paddleflow_cluster_commands[] = {
        { "list", "List clusters.", NULL, cluster_list_options, "GET", "/cluster", .items = "clusterList",
          .columns = cluster_columns, .marker = true },
        { "show", "Show a cluster.", cluster_word, NULL, "GET", "/cluster/{0}",
          .columns = cluster_show_columns },
        { "create", "Create a cluster.", cluster_create_words, cluster_create_options, "POST", "/cluster",
          PADDLEFLOW_BODY, .done = "cluster[{0}] create success, cluster id[{id}]" },
        { "update", "Change a cluster.", cluster_word, cluster_update_options, "PUT", "/cluster/{0}",
          PADDLEFLOW_BODY, .done = "cluster[{0}] update success, cluster id[{id}]" },
        { "delete", "Delete a cluster.", cluster_word, NULL, "DELETE", "/cluster/{0}",
          .done = "cluster[{0}] delete success" },
        { "resource", "Show the resources of clusters.", NULL, cluster_resource_options, "GET",
          "/cluster/resource", .rows = resource_rows, .columns = cluster_resource_columns },
        { "statistic", "Show the resources of the nodes of clusters.", NULL, cluster_statistic_options,
          "POST", "/cluster/resource", PADDLEFLOW_BODY, .rows = statistic_rows,
          .columns = cluster_statistic_columns },
        { 0 },
};
