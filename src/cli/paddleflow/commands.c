/* The rows of command.h (doc/reference/paddleflow-api.md, "The command line"). Groups of parts that do not
 * exist yet (schedule; cache of runs; links and caches of file systems) come with them. */
#include "cli/paddleflow/command.h"

#include <string.h>

#include "base/err.h"
#include "cli/paddleflow/job-file.h"
#include "cli/paddleflow/print.h"

const PaddleFlowGroup paddleflow_groups[] = {
        { "user", "Manage users." },
        { "queue", "Manage queues, and who may use them." },
        { "flavour", "Manage flavours: named sizes." },
        { "cluster", "Manage clusters, and see what they have." },
        { "fs", "Manage file systems: names for directories." },
        { "job", "Create, watch and stop jobs." },
        { "run", "Run pipelines, watch, stop and retry runs." },
        { "pipeline", "Manage stored pipelines." },
        { "schedule", "Run stored pipelines at given times." },
        { "log", "Show logs." },
        { "statistics", "Show the usage of jobs." },
        { 0 },
};

/* clang-format off */
#define MAXSIZE                                                                                              \
        { "maxsize", "-m", PADDLEFLOW_INT, "maxKeys", "max size of the listed items", .fallback = "100" }
#define MAXKEYS                                                                                              \
        { "maxkeys", "-m", PADDLEFLOW_INT, "maxKeys", "max size of the listed items", .fallback = "100" }
#define MARKER                                                                                               \
        { "marker", "-mk", PADDLEFLOW_TEXT, "marker", "next page: the marker of the one before" }
/* clang-format on */

/* ---- user ---- */

static const PaddleFlowParam user_words[] = {
        { "USERNAME", .key = "username" },
        { "PASSWORD", .key = "password" },
        { 0 },
};
static const PaddleFlowParam user_set_words[] = {
        { "USERNAME" },
        { "PASSWORD", .key = "password" },
        { 0 },
};
static const PaddleFlowParam username_word[] = { { "USERNAME" }, { 0 } };
static const PaddleFlowParam user_list_options[] = { MAXSIZE, { 0 } };
static const PaddleFlowColumn user_columns[] = { { "name", "name" }, { "create time", "createTime" }, { 0 } };

/* ---- queue ---- */

static const PaddleFlowParam queue_word[] = { { "QUEUENAME" }, { 0 } };
static const PaddleFlowParam queue_list_options[] = {
        MAXSIZE,
        MARKER,
        { 0 },
};
static const PaddleFlowParam queue_create_words[] = {
        { "NAME", .key = "name" },
        { "NAMESPACE", .key = "namespace" },
        { "MAXCPU", .key = "maxResources.cpu" },
        { "MAXMEM", .key = "maxResources.mem" },
        { 0 },
};
/* clang-format off */
#define QUEUE_OPTIONS                                                                                        \
        { "maxscalar", NULL, PADDLEFLOW_MAP, "maxResources.scalarResources", "max of other resources: a=1,b=2" },  \
        { "mincpu", NULL, PADDLEFLOW_TEXT, "minResources.cpu", "min of cpu" },                                     \
        { "minmem", NULL, PADDLEFLOW_TEXT, "minResources.mem", "min of memory" },                                  \
        { "minscalar", NULL, PADDLEFLOW_MAP, "minResources.scalarResources", "min of other resources" },           \
        { "policy", NULL, PADDLEFLOW_WORDS, "schedulingPolicy", "scheduling policies: a,b" },                      \
        { "location", NULL, PADDLEFLOW_MAP, "location", "node labels: a=1,b=2" }
/* clang-format on */
static const PaddleFlowParam queue_create_options[] = {
        QUEUE_OPTIONS,
        { "quota", NULL, PADDLEFLOW_TEXT, "quotaType", "elasticQuota or volcanoCapabilityQuota" },
        { "clustername", NULL, PADDLEFLOW_TEXT, "clusterName", "cluster of the queue" },
        { 0 },
};
static const PaddleFlowParam queue_update_options[] = {
        { "maxcpu", NULL, PADDLEFLOW_TEXT, "maxResources.cpu", "max of cpu" },
        { "maxmem", NULL, PADDLEFLOW_TEXT, "maxResources.mem", "max of memory" },
        QUEUE_OPTIONS,
        { 0 },
};
static const PaddleFlowColumn queue_list_columns[] = {
        { "name", "name" },
        { "status", "status" },
        { "namespace", "namespace" },
        { "cluster name", "clusterName" },
        { "quota type", "quotaType" },
        { "max resources", "maxResources" },
        { "min resources", "minResources" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};
static const PaddleFlowColumn queue_show_columns[] = {
        { "name", "name" },
        { "status", "status" },
        { "namespace", "namespace" },
        { "cluster name", "clusterName" },
        { "quota type", "quotaType" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { "max resources", "maxResources" },
        { "min resources", "minResources" },
        { "used resources", "usedResources" },
        { "idle resources", "idleResources" },
        { "location", "location" },
        { "scheduling policy", "schedulingPolicy" },
        { 0 },
};
static const PaddleFlowParam grant_words[] = {
        { "USERNAME", .key = "username" },
        { "QUEUENAME", .key = "resourceID" },
        { 0 },
};
static const PaddleFlowParam grant_list_options[] = {
        MAXSIZE,
        { "username", "-u", PADDLEFLOW_TEXT, "username", "grants of this user" },
        { 0 },
};
static const PaddleFlowColumn grant_columns[] = { { "user name", "userName" },
                                                  { "resource type", "resourceType" },
                                                  { "resource id", "resourceID" },
                                                  { 0 } };

/* The older server forgets a min that lacks one of the two. */
static bool need_whole_min(json_t *body, char *const *words, GError **error)
{
        const json_t *min = json_object_get(body, "minResources");

        if (!json_object_get(min, "cpu") || !json_object_get(min, "mem"))
                json_object_del(body, "minResources");
        if (!json_object_get(body, "clusterName"))
                json_object_set_new(body, "clusterName", json_null());
        return true;
}

/* Only the queues' are this group's. */
static json_t *queue_grants(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *grant;
        gsize i;

        json_array_foreach(json_object_get(reply, "grantList"), i, grant) {
                const char *type = json_string_value(json_object_get(grant, "resourceType"));

                if (type && strcmp(type, "queue") == 0)
                        json_array_append(rows, grant);
        }
        return rows;
}

/* ---- flavour ---- */

static const PaddleFlowParam flavour_word[] = { { "NAME" }, { 0 } };
static const PaddleFlowParam flavour_create_words[] = { { "NAME", .key = "name" }, { 0 } };
static const PaddleFlowParam flavour_list_options[] = {
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowParam flavour_create_options[] = {
        { "cpu", "-c", PADDLEFLOW_TEXT, "cpu", "cpu of the flavour", .required = true },
        { "memory", "-m", PADDLEFLOW_TEXT, "mem", "memory of the flavour", .required = true },
        { "scalar", "-s", PADDLEFLOW_MAP, "scalarResources", "other resources: a=1,b=2" },
        { 0 },
};
static const PaddleFlowParam flavour_update_options[] = {
        { "cpu", "-c", PADDLEFLOW_TEXT, "cpu", "cpu of the flavour" },
        { "memory", "-m", PADDLEFLOW_TEXT, "mem", "memory of the flavour" },
        { "scalar", "-s", PADDLEFLOW_MAP, "scalarResources", "other resources: a=1,b=2" },
        { 0 },
};
static const PaddleFlowColumn flavour_columns[] = {
        { "name", "name" },
        { "cpu", "cpu" },
        { "mem", "mem" },
        { "scalar resources", "scalarResources" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};

/* ---- fs ---- */

static const PaddleFlowParam fs_word[] = { { "FSNAME" }, { 0 } };
static const PaddleFlowParam fs_create_words[] = { { "FSNAME", .key = "name" },
                                                   { "URL", .key = "url" },
                                                   { 0 } };
/* clang-format off */
#define FS_USER { "username", "-u", PADDLEFLOW_TEXT, "username", "of this user; only root may name another one" }
/* clang-format on */
static const PaddleFlowParam fs_options[] = { FS_USER, { 0 } };
static const PaddleFlowParam fs_list_options[] = { FS_USER, MAXSIZE, { 0 } };
static const PaddleFlowParam fs_create_options[] = {
        FS_USER,
        { "option", "-o", PADDLEFLOW_PAIRS, "properties", "a property: a=1; may be repeated" },
        { 0 },
};
static const PaddleFlowColumn fs_columns[] = {
        { "name", "name" },
        { "owner", "username" },
        { "type", "type" },
        { "server address", "serverAddress" },
        { "sub path", "subPath" },
        { "properties", "properties" },
        { 0 },
};

/* ---- cluster ---- */

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

/* ---- job ---- */

static const PaddleFlowParam job_word[] = { { "JOBID" }, { 0 } };
static const PaddleFlowParam job_create_words[] = {
        { "JOBTYPE", .choices = "single|distributed|workflow" },
        { "JSONPATH" },
        { 0 },
};
static const PaddleFlowParam job_list_options[] = {
        { "status", "-s", PADDLEFLOW_TEXT, "status", "jobs in this state" },
        { "timestamp", "-t", PADDLEFLOW_TEXT, "timestamp", "jobs that changed since (unix time)" },
        { "starttime", "-st", PADDLEFLOW_TEXT, "startTime", "jobs that started since: 2024-01-01 00:00:00" },
        { "queue", "-q", PADDLEFLOW_TEXT, "queue", "jobs of this queue" },
        { "labels", "-l", PADDLEFLOW_MAP_TEXT, "labels", "jobs with these labels: k=v,..." },
        { "maxkeys", "-m", PADDLEFLOW_INT, "maxKeys", "max size of the listed items" },
        MARKER,
        { "fieldlist", "-fl", PADDLEFLOW_TEXT, NULL, "show these fields: id,name" },
        { 0 },
};
static const PaddleFlowParam job_update_options[] = {
        { "priority", "-p", PADDLEFLOW_TEXT, "priority", "very_low, low, normal, high or very_high" },
        { "labels", "-l", PADDLEFLOW_MAP, "labels", "labels: k=v,..." },
        { "annotations", "-a", PADDLEFLOW_MAP, "annotations", "annotations: k=v,..." },
        { 0 },
};
static const PaddleFlowColumn job_list_columns[] = {
        { "job id", "id" },
        { "job name", "name" },
        { "status", "status" },
        { "queue", "schedulingPolicy.queue" },
        { "priority", "schedulingPolicy.priority" },
        { "accept time", "acceptTime" },
        { "start time", "startTime" },
        { "finish time", "finishTime" },
        { "message", "message" },
        { 0 },
};
static const PaddleFlowColumn job_show_columns[] = {
        { "job id", "id" },
        { "job name", "name" },
        { "status", "status" },
        { "framework", "framework" },
        { "queue", "schedulingPolicy.queue" },
        { "priority", "schedulingPolicy.priority" },
        { "accept time", "acceptTime" },
        { "start time", "startTime" },
        { "finish time", "finishTime" },
        { "message", "message", true },
        { "image", "image", true },
        { "command", "command" },
        { "args", "args" },
        { "port", "port" },
        { "flavour", "flavour", true },
        { "env", "env" },
        { "fs", "fs", true },
        { "extra fs", "extraFS" },
        { "labels", "labels" },
        { "annotations", "annotations" },
        { "extension template", "extensionTemplate", true },
        { "runtime", "tasks", true },
        { 0 },
};

/* ---- run ---- */

static const PaddleFlowParam run_word[] = { { "RUNID" }, { 0 } };
static const PaddleFlowParam run_create_options[] = {
        { "fsname", "-f", PADDLEFLOW_TEXT, "fsname", "the main file system" },
        { "name", "-n", PADDLEFLOW_TEXT, "name", "name of the run" },
        { "desc", "-d", PADDLEFLOW_TEXT, "desc", "what the run is for" },
        { "username", "-u", PADDLEFLOW_TEXT, "username",
          "run for this user; only root may name another one" },
        { "param", "-p", PADDLEFLOW_PAIRS, "parameters", "a parameter: a=1; may be repeated" },
        { "runyamlpath", "-yp", PADDLEFLOW_TEXT, "runYamlPath", "the definition on the main file system" },
        { "runyamlraw", "-yr", PADDLEFLOW_FILE, "runYamlRaw", "the definition in a local file" },
        { "pipelineid", "-pplid", PADDLEFLOW_TEXT, "pipelineID", "a stored pipeline" },
        { "pipelineversionid", "-pplver", PADDLEFLOW_TEXT, "pipelineVersionID",
          "its version; else the newest" },
        { "disabled", NULL, PADDLEFLOW_REPEATED, "disabled", "a step to skip; may be repeated" },
        { "dockerenv", "-de", PADDLEFLOW_TEXT, "dockerEnv", "image of steps that have none" },
        { 0 },
};
static const PaddleFlowParam run_list_options[] = {
        { "fsname", "-f", PADDLEFLOW_TEXT, "fsFilter", "only of these file systems: a,b" },
        { "username", "-u", PADDLEFLOW_TEXT, "userFilter", "only of these users: a,b" },
        { "runid", "-r", PADDLEFLOW_TEXT, "runFilter", "only these: a,b" },
        { "name", "-n", PADDLEFLOW_TEXT, "nameFilter", "only of these names: a,b" },
        { "status", "-s", PADDLEFLOW_TEXT, "statusFilter", "only in these states: a,b; active, final" },
        MAXSIZE,
        MARKER,
        { 0 },
};
static const PaddleFlowParam artifact_options[] = {
        { "userfilter", "-u", PADDLEFLOW_TEXT, "userFilter", "only of these users: a,b" },
        { "fsfilter", "-f", PADDLEFLOW_TEXT, "fsFilter", "only on these file systems: a,b" },
        { "runfilter", "-r", PADDLEFLOW_TEXT, "runFilter", "only of these runs: a,b" },
        { "typefilter", "-t", PADDLEFLOW_TEXT, "typeFilter", "only 'input' or 'output'" },
        { "pathfilter", "-p", PADDLEFLOW_TEXT, "pathFilter", "only at these paths, and below them: a,b" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowColumn artifact_columns[] = { { "run id", "runID" },
                                                     { "fs name", "fsname" },
                                                     { "username", "username" },
                                                     { "artifact path", "artifactPath" },
                                                     { "type", "type" },
                                                     { "step", "step" },
                                                     { "artifact name", "artifactName" },
                                                     { "meta", "meta" },
                                                     { "create time", "createTime" },
                                                     { "update time", "updateTime" },
                                                     { 0 } };
static const PaddleFlowParam cache_word[] = { { "CACHE_ID" }, { 0 } };
static const PaddleFlowParam cache_options[] = {
        { "userfilter", "-u", PADDLEFLOW_TEXT, "userFilter", "only of these users: a,b" },
        { "fsfilter", "-f", PADDLEFLOW_TEXT, "fsFilter", "only with these file systems: a,b" },
        { "runfilter", "-r", PADDLEFLOW_TEXT, "runFilter", "only of these runs: a,b" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowColumn cache_columns[] = {
        { "cache id", "cacheID" },       { "run id", "runID" },           { "job id", "jobID" },
        { "fs name", "fsname" },         { "username", "username" },      { "expired time", "expiredTime" },
        { "create time", "createTime" }, { "update time", "updateTime" }, { 0 }
};
static const PaddleFlowColumn cache_show_columns[] = {
        { "cache id", "cacheID" },       { "run id", "runID" },
        { "job id", "jobID" },           { "fs name", "fsname" },
        { "username", "username" },      { "expired time", "expiredTime" },
        { "strategy", "strategy" },      { "custom", "custom" },
        { "create time", "createTime" }, { "first fp", "firstFp" },
        { "second fp", "secondFp" },     { "source", "source" },
        { "update time", "updateTime" }, { 0 }
};
static const PaddleFlowParam run_stop_options[] = {
        { "force", "-f", PADDLEFLOW_FLAG, "stopForce", "also stop post_process" },
        { 0 },
};
static const PaddleFlowParam run_delete_options[] = {
        { "notcheckcache", "-not-cc", PADDLEFLOW_FLAG, "notCheckCache",
          "delete it even if others use its results" },
        { 0 },
};
static const PaddleFlowColumn run_list_columns[] = {
        { "run id", "runID" },
        { "fs name", "fsName" },
        { "username", "username" },
        { "status", "status" },
        { "name", "name" },
        { "description", "description" },
        { "run msg", "runMsg" },
        { "source", "source" },
        { "schedule id", "scheduleID" },
        { "scheduled time", "scheduledTime" },
        { "create time", "createTime" },
        { "activate time", "activateTime" },
        { "update time", "updateTime" },
        { 0 },
};
static const PaddleFlowColumn run_show_columns[] = {
        { "run id", "runID" },
        { "status", "status" },
        { "name", "name" },
        { "fs name", "fsName" },
        { "username", "username" },
        { "description", "description" },
        { "source", "source" },
        { "run msg", "runMsg" },
        { "parameters", "parameters", true },
        { "failure options", "failureOptions" },
        { "docker env", "dockerEnv" },
        { "disabled", "disabled" },
        { "fs options", "fsOptions" },
        { "create time", "createTime", true },
        { "activate time", "activateTime" },
        { "update time", "updateTime" },
        { "schedule id", "scheduleID" },
        { "run cached ids", "runCachedIDs" },
        { "run yaml", "runYaml", true },
        { "runtime", "runtime", true },
        { "post process", "postProcess", true },
        { 0 },
};

/* Two words stand for several states. */
static bool expand_states(json_t *query, char *const *words, GError **error)
{
        const char *said = json_string_value(json_object_get(query, "statusFilter"));

        if (said && strcmp(said, "active") == 0)
                json_object_set_new(query, "statusFilter",
                                    json_string("running,pending,terminating,initiating"));
        else if (said && strcmp(said, "final") == 0)
                json_object_set_new(query, "statusFilter",
                                    json_string("failed,succeeded,terminated,skipped"));
        return true;
}

/* The flag is always sent. */
static bool say_force(json_t *body, char *const *words, GError **error)
{
        if (!json_object_get(body, "stopForce"))
                json_object_set_new(body, "stopForce", json_false());
        return true;
}

static bool say_check(json_t *body, char *const *words, GError **error)
{
        json_object_set_new(body, "checkCache", json_boolean(!json_object_get(body, "notCheckCache")));
        json_object_del(body, "notCheckCache");
        return true;
}

/* ---- pipeline ---- */

static const PaddleFlowParam pipeline_word[] = { { "PIPELINE_ID" }, { 0 } };
static const PaddleFlowParam version_words[] = { { "PIPELINE_ID" }, { "VERSION_ID" }, { 0 } };
static const PaddleFlowParam pipeline_create_words[] = { { "FS_NAME", .key = "fsname" }, { 0 } };
static const PaddleFlowParam pipeline_create_options[] = {
        { "yamlpath", "-yp", PADDLEFLOW_TEXT, "yamlPath", "the definition on the file system" },
        { "desc", "-d", PADDLEFLOW_TEXT, "desc", "what the pipeline is for" },
        { "username", "-u", PADDLEFLOW_TEXT, "username",
          "whose file system; only root may name another user" },
        { 0 },
};
static const PaddleFlowParam pipeline_update_words[] = {
        { "PIPELINE_ID" }, { "FS_NAME", .key = "fsName" }, { "YAML_PATH", .key = "yamlPath" }, { 0 }
};
static const PaddleFlowParam pipeline_update_options[] = {
        { "username", "-u", PADDLEFLOW_TEXT, "username",
          "whose file system; only root may name another user" },
        { "desc", "-d", PADDLEFLOW_TEXT, "desc", "what the pipeline is for" },
        { 0 },
};
static const PaddleFlowParam pipeline_list_options[] = {
        { "userfilter", "-u", PADDLEFLOW_TEXT, "userFilter", "only of these users: a,b" },
        { "namefilter", "-n", PADDLEFLOW_TEXT, "nameFilter", "only of these names: a,b" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowParam pipeline_show_options[] = {
        { "fsfilter", "-f", PADDLEFLOW_TEXT, "fsFilter", "only versions of these file systems: a,b" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowColumn pipeline_columns[] = {
        { "pipeline id", "pipelineID" },
        { "name", "name" },
        { "username", "username" },
        { "desc", "desc" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};
/* Of a version, with what its pipeline has. */
static const PaddleFlowColumn version_columns[] = {
        { "pipeline id", "pipeline.pipelineID" },
        { "name", "pipeline.name" },
        { "desc", "pipeline.desc" },
        { "pipeline version id", "pipelineVersionID" },
        { "fs name", "fsName" },
        { "yaml path", "yamlPath" },
        { "username", "username" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { "pipeline yaml", "pipelineYaml", true },
        { 0 },
};

static json_t *version_row(const json_t *reply, json_t *version)
{
        json_t *row = json_copy(version);

        json_object_set(row, "pipeline", json_object_get(reply, "pipeline"));
        return row;
}

static json_t *pipeline_versions(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *version;
        gsize i;

        json_array_foreach(json_object_get(json_object_get(reply, "pplVersions"), "pplVersionList"), i,
                           version)
                json_array_append_new(rows, version_row(reply, version));
        json_object_set(reply, "nextMarker",
                        json_object_get(json_object_get(reply, "pplVersions"), "nextMarker"));
        return rows;
}

static json_t *pipeline_version(json_t *reply, GError **error)
{
        return json_pack("[o]", version_row(reply, json_object_get(reply, "pipelineVersion")));
}

/* ---- schedule ---- */

static const PaddleFlowParam schedule_word[] = { { "SCHEDULE_ID" }, { 0 } };
static const PaddleFlowParam schedule_create_words[] = { { "NAME", .key = "name" },
                                                         { "PPL_ID", .key = "pipelineID" },
                                                         { "PPL_VER_ID", .key = "pipelineVersionID" },
                                                         { "CRONTAB", .key = "crontab" },
                                                         { 0 } };
static const PaddleFlowParam schedule_create_options[] = {
        { "desc", "-d", PADDLEFLOW_TEXT, "desc", "what the schedule is for" },
        { "starttime", "-s", PADDLEFLOW_TEXT, "startTime", "not before: 2026-03-01 22:00:00" },
        { "endtime", "-e", PADDLEFLOW_TEXT, "endTime", "not after: 2026-03-02 22:00:00" },
        { "concurrency", "-c", PADDLEFLOW_TEXT, "concurrency", "runs at a time; 0: any number" },
        { "concurrencypolicy", "-cp", PADDLEFLOW_TEXT, "concurrencyPolicy", "suspend, replace or skip" },
        { "expireinterval", "-ei", PADDLEFLOW_TEXT, "expireInterval",
          "skip a run that is later by more seconds" },
        { "catchup", NULL, PADDLEFLOW_FLAG, "catchup", "make up for runs that were missed" },
        { "username", "-u", PADDLEFLOW_TEXT, "username",
          "whose file system; only root may name another user" },
        { 0 },
};
static const PaddleFlowParam schedule_list_options[] = {
        { "userfilter", "-u", PADDLEFLOW_TEXT, "userFilter", "only of these users: a,b" },
        { "namefilter", "-n", PADDLEFLOW_TEXT, "nameFilter", "only of these names: a,b" },
        { "pplfilter", "-p", PADDLEFLOW_TEXT, "pplFilter", "only of these pipelines: a,b" },
        { "pplverfilter", "-pv", PADDLEFLOW_TEXT, "pplVersionFilter", "only of these versions: a,b" },
        { "statusfilter", "-s", PADDLEFLOW_TEXT, "statusFilter", "only in these states: a,b; active, final" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowParam schedule_show_options[] = {
        { "runfilter", "-r", PADDLEFLOW_TEXT, "runFilter", "only these runs: a,b" },
        { "statusfilter", "-s", PADDLEFLOW_TEXT, "statusFilter",
          "only runs in these states: a,b; active, final" },
        MAXKEYS,
        MARKER,
        { 0 },
};
/* clang-format off */
#define SCHEDULE_COLUMNS                                                                                     \
        { "schedule id", "scheduleID" }, { "name", "name" }, { "desc", "desc" },                             \
        { "pipeline id", "pipelineID" }, { "pipeline version id", "pipelineVersionID" },                     \
        { "username", "username" }, { "fs config", "fsConfig" }, { "crontab", "crontab" },                   \
        { "options", "options" }, { "start time", "startTime" }, { "end time", "endTime" },                  \
        { "create time", "createTime" }, { "update time", "updateTime" },                                    \
        { "next run time", "nextRunTime" }, { "message", "scheduleMsg" }, { "status", "status" }
/* clang-format on */
static const PaddleFlowColumn schedule_columns[] = { SCHEDULE_COLUMNS, { 0 } };
static const PaddleFlowColumn schedule_show_columns[] = { SCHEDULE_COLUMNS,
                                                          { "runs", "runs.runList", true },
                                                          { 0 } };

/* Only true is ever sent. */
static bool say_catchup(json_t *body, char *const *words, GError **error)
{
        if (json_object_get(body, "catchup"))
                json_object_set_new(body, "catchup", json_true());
        return true;
}

/* The states of schedules, where the older client names those of runs, which no schedule has. */
static bool expand_schedule_states(json_t *query, char *const *words, GError **error)
{
        const char *said = json_string_value(json_object_get(query, "statusFilter"));

        if (said && strcmp(said, "active") == 0)
                json_object_set_new(query, "statusFilter", json_string("running"));
        else if (said && strcmp(said, "final") == 0)
                json_object_set_new(query, "statusFilter", json_string("success,failed,terminated"));
        return true;
}

/* ---- log ---- */

/* clang-format off */
#define LOG_LIMITS                                                                                           \
        { "readfromtail", "-r", PADDLEFLOW_TEXT, "readFromTail", "true: from the end" },                           \
        { "line_limit", "-l", PADDLEFLOW_TEXT, "lineLimit", "at most this many lines" },                           \
        { "size_limit", "-s", PADDLEFLOW_TEXT, "sizeLimit", "at most this size: 100M" }
/* clang-format on */
static const PaddleFlowParam log_run_options[] = {
        { "jobid", "-j", PADDLEFLOW_TEXT, "jobID", "only this job" },
        { "pagesize", "-ps", PADDLEFLOW_TEXT, "pageSize", "lines on a page" },
        { "pageno", "-pn", PADDLEFLOW_TEXT, "pageNo", "number of the page" },
        { "logfileposition", "-fp", PADDLEFLOW_TEXT, "logFilePosition", "begin or end" },
        { 0 },
};
static const PaddleFlowParam log_job_options[] = {
        { "jobid", "-j", PADDLEFLOW_TEXT, "jobID", "the job", .required = true },
        { "framework", "-f", PADDLEFLOW_TEXT, "framework", "its framework", .required = true },
        LOG_LIMITS,
        { 0 },
};
static const PaddleFlowParam log_kube_options[] = {
        { "name", "-n", PADDLEFLOW_TEXT, "name", "name of the resource", .required = true },
        { "namespace", "-ns", PADDLEFLOW_TEXT, "namespace", "its namespace", .required = true },
        { "clustername", "-c", PADDLEFLOW_TEXT, "clusterName", "its cluster", .required = true },
        { "type", "-t", PADDLEFLOW_TEXT, "type", "pod or deployment", .required = true },
        LOG_LIMITS,
        { 0 },
};
static const PaddleFlowParam log_limit_options[] = {
        { "jobid", "-j", PADDLEFLOW_TEXT, "jobID", "the job" },
        { "framework", "-f", PADDLEFLOW_TEXT, "framework", "its framework" },
        { "name", "-n", PADDLEFLOW_TEXT, "name", "name of the resource" },
        { "namespace", "-ns", PADDLEFLOW_TEXT, "namespace", "its namespace" },
        { "clustername", "-c", PADDLEFLOW_TEXT, "clusterName", "its cluster" },
        { "type", "-t", PADDLEFLOW_TEXT, "type", "pod or deployment" },
        LOG_LIMITS,
        { 0 },
};

/* ---- statistics ---- */

static const PaddleFlowParam statistics_options[] = {
        { "detail", "-d", PADDLEFLOW_FLAG, NULL, "values over time" },
        { "start", "-s", PADDLEFLOW_INT, "start", "from (unix time)" },
        { "end", "-e", PADDLEFLOW_INT, "end", "to (unix time)" },
        { "step", "-st", PADDLEFLOW_INT, "step", "seconds between two values" },
        { 0 },
};
static const PaddleFlowParam card_options[] = {
        { "queuename", "-q", PADDLEFLOW_WORDS, "queueNames", "queues: a,b", .required = true },
        { "starttime", "-s", PADDLEFLOW_TEXT, "startTime", "from: 2024-01-01 00:00:00", .required = true },
        { "endtime", "-e", PADDLEFLOW_TEXT, "endTime", "to", .required = true },
        { 0 },
};
static const PaddleFlowColumn metric_columns[] = {
        { "task", "task" }, { "metric", "metric" }, { "value", "value" }, { 0 }
};
static const PaddleFlowColumn card_columns[] = { { "queue name", "queue" },
                                                 { "device type", "device" },
                                                 { "card time", "queueTime" },
                                                 { "user name", "user" },
                                                 { "job count", "jobs" },
                                                 { "user card time", "userTime" },
                                                 { 0 } };

static json_t *series_rows(const json_t *reply)
{
        json_t *rows = json_array(), *task, *info;
        gsize i, j;

        json_array_foreach(json_object_get(reply, "result"), i, task) {
                json_array_foreach(json_object_get(task, "taskInfo"), j, info)
                        json_array_append_new(rows, json_pack("{s:O?, s:O?, s:O?}", "task",
                                                              json_object_get(task, "taskName"), "metric",
                                                              json_object_get(info, "metric"), "value",
                                                              json_object_get(info, "values")));
        }
        return rows;
}

static json_t *metric_rows(json_t *reply, GError **error)
{
        json_t *rows, *value;
        const char *metric;

        if (json_object_get(reply, "result"))
                return series_rows(reply);
        rows = json_array();
        json_object_foreach(json_object_get(reply, "metricsInfo"), metric, value)
                json_array_append_new(rows, json_pack("{s:s, s:s, s:O}", "task", "", "metric", metric,
                                                      "value", value));
        return rows;
}

static json_t *card_rows(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *queue, *user;
        gsize i, j;

        json_array_foreach(json_object_get(reply, "data"), i, queue) {
                json_t *row = json_pack("{s:O?, s:O?, s:O?}", "queue", json_object_get(queue, "queueName"),
                                        "device", json_object_get(queue, "deviceType"), "queueTime",
                                        json_object_get(queue, "cardTime"));

                json_array_append_new(rows, row);
                json_array_foreach(json_object_get(queue, "detail"), j, user)
                        json_array_append_new(rows, json_pack("{s:O?, s:O?, s:O?, s:O?}", "queue",
                                                              json_object_get(queue, "queueName"), "user",
                                                              json_object_get(user, "userName"), "jobs",
                                                              json_object_get(user, "jobCount"), "userTime",
                                                              json_object_get(user, "totalCardTime")));
        }
        return rows;
}

/* ---- all ---- */

const PaddleFlowCommand paddleflow_commands[] = {
        { "", "version", "Show the versions of client and server.", NULL, NULL, "GET", "/version",
          .print = print_version },

        { "user", "list", "List users.", NULL, user_list_options, "GET", "/user", .items = "userList",
          .columns = user_columns },
        { "user", "add", "Add a user.", user_words, NULL, "POST", "/user", PADDLEFLOW_BODY,
          .done = "user[{0}] add success" },
        { "user", "set", "Change a user's password.", user_set_words, NULL, "PUT", "/user/{0}",
          PADDLEFLOW_BODY, .done = "user[{0}] set success" },
        { "user", "delete", "Delete a user.", username_word, NULL, "DELETE", "/user/{0}",
          .done = "user[{0}] delete success" },

        { "queue", "list", "List queues.", NULL, queue_list_options, "GET", "/queue", .items = "queueList",
          .columns = queue_list_columns, .marker = true },
        { "queue", "show", "Show a queue.", queue_word, NULL, "GET", "/queue/{0}",
          .columns = queue_show_columns },
        { "queue", "create", "Create a queue.", queue_create_words, queue_create_options, "POST", "/queue",
          PADDLEFLOW_BODY, .prepare = need_whole_min, .done = "queue[{0}] create success" },
        { "queue", "update", "Change a queue.", queue_word, queue_update_options, "PUT", "/queue/{0}",
          PADDLEFLOW_BODY, .done = "queue[{0}] update success" },
        { "queue", "delete", "Delete a queue.", queue_word, NULL, "DELETE", "/queue/{0}",
          .done = "queue[{0}] delete success" },
        { "queue", "grant", "Let a user use a queue.", grant_words, NULL, "POST", "/grant", PADDLEFLOW_BODY,
          .fixed = "{\"resourceType\": \"queue\"}", .done = "user[{0}] is granted queue[{1}]" },
        { "queue", "ungrant", "Revoke a grant.", grant_words, NULL, "DELETE", "/grant", PADDLEFLOW_QUERY,
          .fixed = "{\"resourceType\": \"queue\"}", .done = "user[{0}] is ungranted queue[{1}]" },
        { "queue", "grantlist", "List grants on queues.", NULL, grant_list_options, "GET", "/grant",
          .rows = queue_grants, .columns = grant_columns },

        { "flavour", "list", "List flavours.", NULL, flavour_list_options, "GET", "/flavour",
          .items = "flavourList", .columns = flavour_columns, .marker = true },
        { "flavour", "show", "Show a flavour.", flavour_word, NULL, "GET", "/flavour/{0}",
          .columns = flavour_columns },
        { "flavour", "create", "Create a flavour.", flavour_create_words, flavour_create_options, "POST",
          "/flavour", PADDLEFLOW_BODY, .done = "flavour[{0}] create success" },
        { "flavour", "update", "Change a flavour.", flavour_word, flavour_update_options, "PUT",
          "/flavour/{0}", PADDLEFLOW_BODY, .done = "flavour[{0}] update success" },
        { "flavour", "delete", "Delete a flavour.", flavour_word, NULL, "DELETE", "/flavour/{0}",
          .done = "flavour[{0}] delete success" },

        { "cluster", "list", "List clusters.", NULL, cluster_list_options, "GET", "/cluster",
          .items = "clusterList", .columns = cluster_columns, .marker = true },
        { "cluster", "show", "Show a cluster.", cluster_word, NULL, "GET", "/cluster/{0}",
          .columns = cluster_show_columns },
        { "cluster", "create", "Create a cluster.", cluster_create_words, cluster_create_options, "POST",
          "/cluster", PADDLEFLOW_BODY, .done = "cluster[{0}] create success, cluster id[{id}]" },
        { "cluster", "update", "Change a cluster.", cluster_word, cluster_update_options, "PUT",
          "/cluster/{0}", PADDLEFLOW_BODY, .done = "cluster[{0}] update success, cluster id[{id}]" },
        { "cluster", "delete", "Delete a cluster.", cluster_word, NULL, "DELETE", "/cluster/{0}",
          .done = "cluster[{0}] delete success" },
        { "cluster", "resource", "Show the resources of clusters.", NULL, cluster_resource_options, "GET",
          "/cluster/resource", .rows = resource_rows, .columns = cluster_resource_columns },
        { "cluster", "statistic", "Show the resources of the nodes of clusters.", NULL,
          cluster_statistic_options, "POST", "/cluster/resource", PADDLEFLOW_BODY, .rows = statistic_rows,
          .columns = cluster_statistic_columns },

        { "fs", "list", "List file systems.", NULL, fs_list_options, "GET", "/fs", .items = "fsList",
          .columns = fs_columns },
        { "fs", "show", "Show a file system.", fs_word, fs_options, "GET", "/fs/{0}", .columns = fs_columns },
        { "fs", "create", "Create a file system.", fs_create_words, fs_create_options, "POST", "/fs",
          PADDLEFLOW_BODY, .done = "fs[{0}] create success" },
        { "fs", "delete", "Delete a file system; its files stay.", fs_word, fs_options, "DELETE", "/fs/{0}",
          .done = "fs[{0}] delete success" },

        { "job", "create", "Create a job from a JSON file.", job_create_words, NULL, "POST", "/job/{0}",
          PADDLEFLOW_BODY, .prepare = job_body, .done = "job create success, job id[{id}]" },
        { "job", "list", "List jobs.", NULL, job_list_options, "GET", "/job", .items = "jobList",
          .columns = job_list_columns, .marker = true, .fields_option = "fieldlist" },
        { "job", "show", "Show a job.", job_word, NULL, "GET", "/job/{0}", .columns = job_show_columns,
          .rows = job_rows, .may_say_message = true },
        { "job", "update", "Change a job.", job_word, job_update_options, "PUT", "/job/{0}?action=modify",
          PADDLEFLOW_BODY, .done = "job[{0}] update success" },
        { "job", "stop", "Stop a job.", job_word, NULL, "PUT", "/job/{0}?action=stop",
          .done = "job[{0}] stop success" },
        { "job", "delete", "Delete a job.", job_word, NULL, "DELETE", "/job/{0}",
          .done = "job[{0}] delete success" },

        { "run", "create", "Run a pipeline.", NULL, run_create_options, "POST", "/run", PADDLEFLOW_BODY,
          .done = "run create success, run id[{runID}]" },
        { "run", "list", "List runs.", NULL, run_list_options, "GET", "/run", .prepare = expand_states,
          .items = "runList", .columns = run_list_columns, .marker = true },
        { "run", "show", "Show a run.", run_word, NULL, "GET", "/run/{0}", .columns = run_show_columns },
        { "run", "stop", "Stop a run.", run_word, run_stop_options, "PUT", "/run/{0}?action=stop",
          PADDLEFLOW_BODY, .prepare = say_force, .done = "run[{0}] stop success" },
        { "run", "retry", "Retry a run that has ended, as a new run.", run_word, NULL, "PUT",
          "/run/{0}?action=retry", .done = "run[{0}] retry success, new run id[{runID}]" },
        { "run", "delete", "Delete a run that has ended.", run_word, run_delete_options, "DELETE", "/run/{0}",
          PADDLEFLOW_BODY, .prepare = say_check, .done = "run[{0}] delete success" },
        { "run", "listcache", "List entries of the cache of steps.", NULL, cache_options, "GET", "/runCache",
          .items = "runCacheList", .columns = cache_columns, .marker = true },
        { "run", "showcache", "Show an entry of the cache of steps.", cache_word, NULL, "GET",
          "/runCache/{0}", .columns = cache_show_columns },
        { "run", "deletecache", "Delete an entry of the cache of steps.", cache_word, NULL, "DELETE",
          "/runCache/{0}", .done = "run cache[{0}] delete success" },
        { "run", "listartifact", "List what steps have written and read.", NULL, artifact_options, "GET",
          "/artifact", .items = "artifactEventList", .columns = artifact_columns, .marker = true },

        { "pipeline", "create", "Store a pipeline.", pipeline_create_words, pipeline_create_options, "POST",
          "/pipeline", PADDLEFLOW_BODY,
          .done = "pipeline[{name}] create success, id[{pipelineID}], version id[{pipelineVersionID}]" },
        { "pipeline", "list", "List stored pipelines.", NULL, pipeline_list_options, "GET", "/pipeline",
          .items = "pipelineList", .columns = pipeline_columns, .marker = true },
        { "pipeline", "show", "Show a pipeline with its versions.", pipeline_word, pipeline_show_options,
          "GET", "/pipeline/{0}", .rows = pipeline_versions, .columns = version_columns, .marker = true },
        { "pipeline", "update", "Store a new version of a pipeline.", pipeline_update_words,
          pipeline_update_options, "POST", "/pipeline/{0}", PADDLEFLOW_BODY,
          .done = "pipeline[{pipelineID}] update success, new version id[{pipelineVersionID}]" },
        { "pipeline", "delete", "Delete a pipeline.", pipeline_word, NULL, "DELETE", "/pipeline/{0}",
          .done = "pipeline[{0}] delete success" },
        { "pipeline", "showversion", "Show a version of a pipeline.", version_words, NULL, "GET",
          "/pipeline/{0}/{1}", .rows = pipeline_version, .columns = version_columns },
        { "pipeline", "deleteversion", "Delete a version of a pipeline.", version_words, NULL, "DELETE",
          "/pipeline/{0}/{1}", .done = "pipeline[{0}] version[{1}] delete success" },

        { "schedule", "create", "Create a schedule of a stored pipeline.", schedule_create_words,
          schedule_create_options, "POST", "/schedule", PADDLEFLOW_BODY, .prepare = say_catchup,
          .done = "schedule[{0}] create success, schedule id[{scheduleID}]" },
        { "schedule", "list", "List schedules.", NULL, schedule_list_options, "GET", "/schedule",
          .prepare = expand_schedule_states, .items = "scheduleList", .columns = schedule_columns,
          .marker = true },
        { "schedule", "show", "Show a schedule.", schedule_word, schedule_show_options, "GET",
          "/schedule/{0}", .prepare = expand_states, .columns = schedule_show_columns, .marker = true },
        { "schedule", "stop", "Stop a schedule; its runs go on.", schedule_word, NULL, "PUT", "/schedule/{0}",
          .done = "schedule[{0}] stop success" },
        { "schedule", "delete", "Delete a schedule that is over.", schedule_word, NULL, "DELETE",
          "/schedule/{0}", .done = "schedule[{0}] delete success" },

        { "log", "run", "Show the logs of a run.", run_word, log_run_options, "GET", "/log/run/{0}",
          .print = print_run_log },
        { "log", "show", "The same as 'run'.", run_word, log_run_options, "GET", "/log/run/{0}",
          .print = print_run_log },
        { "log", "job", "Show the logs of a job.", NULL, log_job_options, "GET", "/log/job",
          .print = print_job_log },
        { "log", "kube", "Show the logs of a pod or deployment.", NULL, log_kube_options, "GET", "/log/job",
          .print = print_job_log },
        { "log", "showlimit", "Show logs within limits.", NULL, log_limit_options, "GET", "/log/job",
          .print = print_job_log },

        { "statistics", "job", "Show the usage of a job.", job_word, statistics_options, "GET",
          "/statistics/job/{0}", .detail_path = "/statistics/jobDetail/{0}", .rows = metric_rows,
          .columns = metric_columns },
        { "statistics", "card-time", "Show the GPU hours of queues.", NULL, card_options, "POST",
          "/statistics/cardTime", PADDLEFLOW_BODY, .rows = card_rows, .columns = card_columns },
        { 0 },
};
