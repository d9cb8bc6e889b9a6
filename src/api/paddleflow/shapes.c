/* The bodies of requests and replies as tables: what go.h decodes by, and what the description says. */
#include "api/paddleflow/internal.h"

#define END                                                                                                  \
        {                                                                                                    \
                NULL                                                                                         \
        }

/* ---- requests ---- */

const GoField login_body[] = { { "username", GO_STRING, NULL, true },
                               { "password", GO_STRING, NULL, true },
                               END };
const GoField user_body[] = { { "username", GO_STRING, NULL, true },
                              { "password", GO_STRING, NULL, true },
                              END };
const GoField password_body[] = { { "password", GO_STRING, NULL, true }, END };
const GoField grant_body[] = { { "userName", GO_STRING, NULL, true },
                               { "resourceType", GO_STRING, NULL, true },
                               { "resourceID", GO_STRING, NULL, true },
                               END };

static const GoField amounts[] = { { "cpu", GO_STRING },          { "mem", GO_STRING },
                                   { "memory", GO_STRING },       { "storage", GO_STRING },
                                   { "scalarResources", GO_MAP }, END };

const GoField queue_body[] = { { "name", GO_STRING, NULL, true },
                               { "namespace", GO_STRING, NULL, true },
                               { "clusterName", GO_STRING },
                               { "quotaType", GO_STRING },
                               { "maxResources", GO_STRUCT, amounts },
                               { "minResources", GO_STRUCT, amounts },
                               { "location", GO_MAP },
                               { "schedulingPolicy", GO_LIST },
                               END };

const GoField flavour_body[] = { { "name", GO_STRING, NULL, true }, { "clusterName", GO_STRING },
                                 { "cpu", GO_STRING, NULL, true },  { "mem", GO_STRING, NULL, true },
                                 { "scalarResources", GO_MAP },     END };

const GoField cluster_body[] = { { "clusterName", GO_STRING, NULL, true },
                                 { "endpoint", GO_STRING, NULL, true },
                                 { "clusterType", GO_STRING, NULL, true },
                                 { "version", GO_STRING },
                                 { "status", GO_STRING },
                                 { "source", GO_STRING },
                                 { "credential", GO_STRING },
                                 { "description", GO_STRING },
                                 { "setting", GO_STRING },
                                 { "namespaceList", GO_LIST },
                                 END };

const GoField cluster_filter_body[] = { { "clusterNames", GO_LIST },
                                        { "queueName", GO_STRING },
                                        { "labels", GO_STRING },
                                        { "nodeStatus", GO_STRING },
                                        { "pageNo", GO_INT },
                                        { "pageSize", GO_INT },
                                        END };

const GoField object_body[] = {
        { "apiVersion", GO_STRING }, { "kind", GO_STRING }, { "metadata", GO_OBJECT }, END
};

const GoField pool_body[] = { { "name", GO_STRING, NULL, true },
                              { "namespace", GO_STRING, NULL, true },
                              { "type", GO_STRING },
                              { "provider", GO_STRING },
                              { "orgID", GO_STRING },
                              { "clusterName", GO_STRING },
                              { "description", GO_STRING },
                              { "quotaType", GO_STRING },
                              { "totalResources", GO_STRUCT, amounts },
                              { "minResources", GO_STRUCT, amounts },
                              { "annotations", GO_MAP },
                              { "labels", GO_MAP },
                              { "isHybrid", GO_BOOL },
                              { "status", GO_STRING },
                              END };

const GoField fs_body[] = {
        { "name", GO_STRING, NULL, true }, { "url", GO_STRING, NULL, true },       { "properties", GO_MAP },
        { "username", GO_STRING },         { "independentMountProcess", GO_BOOL }, END
};
const GoField fs_cache_body[] = { { "fsName", GO_STRING, NULL, true }, { "username", GO_STRING }, END };
const GoField link_body[] = { { "fsName", GO_STRING, NULL, true }, { "fsPath", GO_STRING, NULL, true },
                              { "url", GO_STRING, NULL, true },    { "properties", GO_MAP },
                              { "username", GO_STRING },           END };

static const GoField policy[] = { { "queue", GO_STRING }, { "priority", GO_STRING }, END };
static const GoField job_flavour[] = {
        { "name", GO_STRING }, { "cpu", GO_STRING }, { "mem", GO_STRING }, { "scalarResources", GO_MAP }, END
};
static const GoField job_fs[] = { { "id", GO_STRING },        { "name", GO_STRING },
                                  { "mountPath", GO_STRING }, { "subPath", GO_STRING },
                                  { "readOnly", GO_BOOL },    END };

#define JOB_COMMON                                                                                           \
        { "id", GO_STRING }, { "name", GO_STRING }, { "labels", GO_MAP }, { "annotations", GO_MAP },         \
        {                                                                                                    \
                "schedulingPolicy", GO_STRUCT, policy                                                        \
        }
#define JOB_SPEC                                                                                             \
        { "flavour", GO_STRUCT, job_flavour }, { "limitFlavour", GO_STRUCT, job_flavour },                   \
                { "fs", GO_STRUCT, job_fs }, { "extraFS", GO_STRUCTS, job_fs }, { "image", GO_STRING },      \
                { "env", GO_MAP }, { "command", GO_STRING }, { "args", GO_LIST }, { "port", GO_INT },        \
        {                                                                                                    \
                "extensionTemplate", GO_OBJECT                                                               \
        }

const GoField single_body[] = { JOB_COMMON, JOB_SPEC, END };
static const GoField member_body[] = {
        JOB_COMMON, JOB_SPEC, { "role", GO_STRING, NULL, true }, { "replicas", GO_INT, NULL, true }, END
};
const GoField distributed_body[] = { JOB_COMMON,
                                     { "framework", GO_STRING, NULL, true },
                                     { "members", GO_STRUCTS, member_body },
                                     { "extensionTemplate", GO_OBJECT },
                                     END };
const GoField workflow_body[] = { JOB_COMMON, { "extensionTemplate", GO_OBJECT, NULL, true }, END };
const GoField modify_body[] = {
        { "priority", GO_STRING }, { "labels", GO_MAP }, { "annotations", GO_MAP }, END
};
const GoField card_time_body[] = { { "queueNames", GO_LIST },
                                   { "startTime", GO_STRING, NULL, true },
                                   { "endTime", GO_STRING, NULL, true },
                                   END };

static const GoField failure_options[] = { { "strategy", GO_STRING }, END };
const GoField run_create_body[] = { { "fsName", GO_STRING },
                                    { "username", GO_STRING },
                                    { "name", GO_STRING },
                                    { "desc", GO_STRING },
                                    { "parameters", GO_OBJECT },
                                    { "dockerEnv", GO_STRING },
                                    { "disabled", GO_STRING },
                                    { "failureOptions", GO_STRUCT, failure_options },
                                    { "runYamlRaw", GO_STRING },
                                    { "pipelineID", GO_STRING },
                                    { "pipelineVersionID", GO_STRING },
                                    { "runYamlPath", GO_STRING },
                                    { "scheduleID", GO_STRING },
                                    { "scheduledAt", GO_STRING },
                                    END };
/* The client sends both numbers as texts. */
const GoField schedule_body[] = { { "name", GO_STRING },
                                  { "pipelineID", GO_STRING },
                                  { "pipelineVersionID", GO_STRING },
                                  { "crontab", GO_STRING },
                                  { "desc", GO_STRING },
                                  { "startTime", GO_STRING },
                                  { "endTime", GO_STRING },
                                  { "concurrency", GO_ANY },
                                  { "concurrencyPolicy", GO_STRING },
                                  { "expireInterval", GO_ANY },
                                  { "catchup", GO_BOOL },
                                  { "username", GO_STRING },
                                  END };
const GoField run_stop_body[] = { { "stopForce", GO_BOOL }, END };
const GoField run_delete_body[] = { { "checkCache", GO_BOOL }, END };
const GoField pipeline_body[] = { { "fsName", GO_STRING },  { "yamlPath", GO_STRING },
                                  { "yamlRaw", GO_STRING }, { "username", GO_STRING },
                                  { "desc", GO_STRING },    END };

/* ---- replies ---- */

#define TEXT(name)                                                                                           \
        {                                                                                                    \
                name, GO_STRING, NULL, true                                                                  \
        }
#define PAGE                                                                                                 \
        { "maxKeys", GO_INT, NULL, true }, { "isTruncated", GO_BOOL, NULL, true },                           \
        {                                                                                                    \
                "nextMarker", GO_STRING                                                                      \
        }

static const GoField error_shown[] = { TEXT("requestID"), TEXT("code"), TEXT("message"), END };
static const GoField logged_in[] = { TEXT("authorization"), END };
static const GoField user_made[] = { TEXT("username"), END };
static const GoField user_shown[] = { TEXT("name"), TEXT("createTime"), END };
static const GoField version_shown[] = { TEXT("gitVersion"), TEXT("gitCommit"),
                                         TEXT("gitBranch"),  TEXT("buildDate"),
                                         TEXT("goVersion"),  TEXT("compiler"),
                                         TEXT("platform"),   END };
static const GoField grant_made[] = { TEXT("grantID"), END };
static const GoField grant_shown[] = { TEXT("grantID"),
                                       TEXT("userName"),
                                       TEXT("resourceType"),
                                       TEXT("resourceID"),
                                       TEXT("createTime"),
                                       TEXT("updateTime"),
                                       END };
static const GoField named[] = { TEXT("name"), END };
static const GoField amounts_shown[] = {
        TEXT("cpu"), TEXT("memory"), { "storage", GO_STRING }, { "scalarResources", GO_MAP }, END
};

#define QUEUE_SHOWN                                                                                          \
        TEXT("id"), TEXT("name"), TEXT("namespace"), TEXT("clusterName"), TEXT("quotaType"),                 \
                { "minResources", GO_STRUCT, amounts_shown, true },                                          \
                { "maxResources", GO_STRUCT, amounts_shown, true }, { "location", GO_MAP, NULL, true },      \
                { "schedulingPolicy", GO_LIST }, TEXT("status"), TEXT("createTime"), TEXT("updateTime")
static const GoField queue_listed[] = { QUEUE_SHOWN, END };
static const GoField queue_shown[] = { QUEUE_SHOWN,
                                       { "usedResources", GO_STRUCT, amounts_shown, true },
                                       { "idleResources", GO_STRUCT, amounts_shown, true },
                                       END };
static const GoField flavour_shown[] = { TEXT("id"),
                                         TEXT("name"),
                                         TEXT("cpu"),
                                         TEXT("mem"),
                                         { "scalarResources", GO_MAP, NULL, true },
                                         TEXT("createTime"),
                                         TEXT("updateTime"),
                                         END };
static const GoField cluster_shown[] = { TEXT("id"),
                                         TEXT("clusterName"),
                                         TEXT("description"),
                                         TEXT("endpoint"),
                                         TEXT("source"),
                                         TEXT("clusterType"),
                                         TEXT("version"),
                                         TEXT("status"),
                                         TEXT("credential"),
                                         TEXT("setting"),
                                         { "namespaceList", GO_ANY, NULL, true },
                                         TEXT("createTime"),
                                         TEXT("updateTime"),
                                         END };
static const GoField pool_shown[] = { TEXT("id"),
                                      TEXT("name"),
                                      TEXT("namespace"),
                                      TEXT("type"),
                                      TEXT("provider"),
                                      TEXT("orgID"),
                                      TEXT("creator"),
                                      TEXT("description"),
                                      TEXT("clusterName"),
                                      TEXT("quotaType"),
                                      { "minResources", GO_STRUCT, amounts_shown, true },
                                      { "totalResources", GO_STRUCT, amounts_shown, true },
                                      { "labels", GO_MAP, NULL, true },
                                      { "annotations", GO_MAP, NULL, true },
                                      TEXT("status"),
                                      { "isHybrid", GO_INT, NULL, true },
                                      TEXT("createTime"),
                                      TEXT("updateTime"),
                                      END };
static const GoField fs_made[] = { TEXT("fsName"), TEXT("fsID"), END };
static const GoField fs_shown[] = { TEXT("id"),
                                    TEXT("name"),
                                    TEXT("serverAddress"),
                                    TEXT("type"),
                                    TEXT("subPath"),
                                    TEXT("username"),
                                    { "properties", GO_MAP, NULL, true },
                                    { "independentMountProcess", GO_BOOL },
                                    END };
/* Their pages have words of their own. */
#define FS_PAGE TEXT("marker"), { "truncated", GO_BOOL, NULL, true }, TEXT("nextMarker")
static const GoField fs_list[] = { FS_PAGE, { "fsList", GO_STRUCTS, fs_shown, true }, END };
static const GoField link_list[] = { FS_PAGE, { "linkList", GO_ANY, NULL, true }, END };
static const GoField node_infos[] = { { "totalCount", GO_INT, NULL, true },
                                      { "nodeList", GO_ANY, NULL, true },
                                      END };
static const GoField job_made[] = { TEXT("id"), END };

static const GoField runtime_shown[] = { { "name", GO_STRING },
                                         { "namespace", GO_STRING },
                                         { "id", GO_STRING },
                                         { "status", GO_STRING },
                                         TEXT("nodeName"),
                                         TEXT("role"),
                                         { "index", GO_INT, NULL, true },
                                         { "acceleratorCards", GO_STRING },
                                         END };
static const GoField runtimes_shown[] = { { "name", GO_STRING },
                                          { "namespace", GO_STRING },
                                          { "id", GO_STRING },
                                          { "status", GO_STRING },
                                          { "runtimes", GO_STRUCTS, runtime_shown },
                                          END };
static const GoField job_shown[] = { TEXT("id"),
                                     TEXT("name"),
                                     { "labels", GO_MAP, NULL, true },
                                     { "annotations", GO_MAP, NULL, true },
                                     { "schedulingPolicy", GO_STRUCT, policy, true },
                                     { "UserName", GO_STRING },
                                     { "flavour", GO_OBJECT, NULL, true },
                                     { "limitFlavour", GO_OBJECT, NULL, true },
                                     { "fs", GO_OBJECT, NULL, true },
                                     { "extraFS", GO_ANY, NULL, true },
                                     TEXT("image"),
                                     { "env", GO_ANY, NULL, true },
                                     TEXT("command"),
                                     { "args", GO_ANY, NULL, true },
                                     { "port", GO_INT, NULL, true },
                                     { "extensionTemplate", GO_ANY, NULL, true },
                                     { "framework", GO_STRING },
                                     { "members", GO_ANY },
                                     TEXT("status"),
                                     TEXT("message"),
                                     TEXT("acceptTime"),
                                     TEXT("startTime"),
                                     TEXT("finishTime"),
                                     { "runtime", GO_STRUCT, runtime_shown },
                                     { "distributedRuntime", GO_STRUCT, runtimes_shown },
                                     END };

#define LIST(name, member, item)                                                                             \
        static const GoField name[] = { PAGE, { member, GO_STRUCTS, item, true }, END }
LIST(user_list, "userList", user_shown);
LIST(grant_list, "grantList", grant_shown);
LIST(queue_list, "queueList", queue_listed);
LIST(flavour_list, "flavourList", flavour_shown);
LIST(cluster_list, "clusterList", cluster_shown);
LIST(pool_list, "resourcePoolList", pool_shown);
LIST(job_list, "jobList", job_shown);

static const GoField log_text[] = {
        TEXT("logContent"), { "hasNextPage", GO_BOOL, NULL, true }, { "truncated", GO_BOOL, NULL, true }, END
};
static const GoField task_log[] = { TEXT("taskID"), { "logInfo", GO_STRUCT, log_text, true }, END };
static const GoField job_log[] = { TEXT("jobID"), { "taskList", GO_STRUCTS, task_log, true }, TEXT("name"),
                                   TEXT("type"),  { "eventList", GO_ANY, NULL, true },        END };
static const GoField job_statistics[] = { { "metricsInfo", GO_MAP, NULL, true }, END };
static const GoField metric_shown[] = { TEXT("metric"), { "values", GO_ANY, NULL, true }, END };
static const GoField task_shown[] = { TEXT("taskName"), { "taskInfo", GO_STRUCTS, metric_shown, true }, END };
static const GoField job_series[] = { { "result", GO_STRUCTS, task_shown, true },
                                      { "truncated", GO_BOOL, NULL, true },
                                      END };
static const GoField card_times[] = { { "data", GO_ANY, NULL, true }, END };
static const GoField anything[] = { END };

static const GoField run_made[] = { TEXT("runID"), END };
static const GoField run_brief[] = { TEXT("runID"),      TEXT("name"),
                                     TEXT("source"),     TEXT("username"),
                                     TEXT("fsName"),     TEXT("description"),
                                     TEXT("scheduleID"), TEXT("runMsg"),
                                     TEXT("status"),     TEXT("scheduledTime"),
                                     TEXT("createTime"), TEXT("activateTime"),
                                     TEXT("updateTime"), END };
static const GoField run_list[] = { PAGE, { "runList", GO_STRUCTS, run_brief, true }, END };
static const GoField run_shown[] = { TEXT("runID"),
                                     TEXT("name"),
                                     TEXT("source"),
                                     TEXT("username"),
                                     TEXT("fsName"),
                                     { "fsOptions", GO_ANY, NULL, true },
                                     TEXT("description"),
                                     { "parameters", GO_ANY, NULL, true },
                                     TEXT("runYaml"),
                                     { "runtime", GO_ANY, NULL, true },
                                     { "postProcess", GO_ANY, NULL, true },
                                     { "failureOptions", GO_STRUCT, failure_options, true },
                                     TEXT("dockerEnv"),
                                     TEXT("disabled"),
                                     TEXT("scheduleID"),
                                     TEXT("runMsg"),
                                     TEXT("status"),
                                     TEXT("runCachedIDs"),
                                     TEXT("createTime"),
                                     TEXT("activateTime"),
                                     TEXT("updateTime"),
                                     END };
static const GoField cache_shown[] = { TEXT("cacheID"),     TEXT("firstFp"),
                                       TEXT("secondFp"),    TEXT("runID"),
                                       TEXT("source"),      TEXT("jobID"),
                                       TEXT("fsname"),      TEXT("username"),
                                       TEXT("expiredTime"), TEXT("strategy"),
                                       TEXT("custom"),      TEXT("createTime"),
                                       TEXT("updateTime"),  END };
static const GoField cache_list[] = { PAGE, { "runCacheList", GO_STRUCTS, cache_shown, true }, END };
static const GoField artifact_shown[] = { TEXT("runID"),
                                          TEXT("fsname"),
                                          TEXT("username"),
                                          TEXT("artifactPath"),
                                          TEXT("step"),
                                          TEXT("jobID"),
                                          TEXT("type"),
                                          TEXT("artifactName"),
                                          TEXT("md5"),
                                          TEXT("meta"),
                                          TEXT("createTime"),
                                          TEXT("updateTime"),
                                          END };
static const GoField artifact_list[] = { PAGE,
                                         { "artifactEventList", GO_STRUCTS, artifact_shown, true },
                                         END };
static const GoField run_log[] = {
        TEXT("submitLog"), { "runLog", GO_STRUCTS, job_log, true }, TEXT("runID"), END
};
static const GoField pipeline_made[] = {
        TEXT("pipelineID"), TEXT("pipelineVersionID"), { "name", GO_STRING }, END
};
static const GoField pipeline_shown[] = {
        TEXT("pipelineID"), TEXT("name"),       TEXT("desc"), TEXT("username"),
        TEXT("createTime"), TEXT("updateTime"), END
};
static const GoField version_listed[] = { TEXT("pipelineVersionID"), TEXT("pipelineID"),   TEXT("fsName"),
                                          TEXT("yamlPath"),          TEXT("pipelineYaml"), TEXT("username"),
                                          TEXT("createTime"),        TEXT("updateTime"),   END };
static const GoField pipeline_list[] = { PAGE, { "pipelineList", GO_STRUCTS, pipeline_shown, true }, END };
static const GoField version_list[] = { PAGE, { "pplVersionList", GO_STRUCTS, version_listed, true }, END };
static const GoField pipeline_whole[] = { { "pipeline", GO_STRUCT, pipeline_shown, true },
                                          { "pplVersions", GO_STRUCT, version_list, true },
                                          END };
static const GoField version_whole[] = { { "pipeline", GO_STRUCT, pipeline_shown, true },
                                         { "pipelineVersion", GO_STRUCT, version_listed, true },
                                         END };

static const GoField schedule_made[] = { TEXT("scheduleID"), END };
static const GoField schedule_options[] = { { "catchup", GO_BOOL, NULL, true },
                                            { "expireInterval", GO_INT, NULL, true },
                                            { "concurrency", GO_INT, NULL, true },
                                            TEXT("concurrencyPolicy"),
                                            END };
static const GoField fs_config[] = { TEXT("username"), END };
#define SCHEDULE                                                                                             \
        TEXT("scheduleID"), TEXT("name"), TEXT("desc"), TEXT("pipelineID"), TEXT("pipelineVersionID"),       \
                TEXT("username"), { "fsConfig", GO_STRUCT, fs_config, true }, TEXT("crontab"),               \
                { "options", GO_STRUCT, schedule_options, true }, TEXT("startTime"), TEXT("endTime"),        \
                TEXT("createTime"), TEXT("updateTime"), TEXT("nextRunTime"), TEXT("scheduleMsg"),            \
                TEXT("status")
static const GoField schedule_listed[] = { SCHEDULE, END };
static const GoField schedule_list[] = { PAGE, { "scheduleList", GO_STRUCTS, schedule_listed, true }, END };
static const GoField schedule_shown[] = {
        SCHEDULE, { "runs", GO_STRUCT, run_list, true }, { "nextMarker", GO_STRING }, END
};

const Shape shapes[] = {
        { "Error", error_shown },
        { "LogIn", login_body },
        { "LoggedIn", logged_in },
        { "NewUser", user_body },
        { "UserMade", user_made },
        { "UserList", user_list },
        { "Password", password_body },
        { "Version", version_shown },
        { "NewGrant", grant_body },
        { "GrantMade", grant_made },
        { "GrantList", grant_list },
        { "Named", named },
        { "Queue", queue_body },
        { "QueueChange", queue_body, true },
        { "QueueShown", queue_shown },
        { "QueueList", queue_list },
        { "Flavour", flavour_body },
        { "FlavourChange", flavour_body, true },
        { "FlavourShown", flavour_shown },
        { "FlavourList", flavour_list },
        { "Cluster", cluster_body },
        { "ClusterChange", cluster_body, true },
        { "ClusterShown", cluster_shown },
        { "ClusterList", cluster_list },
        { "Rooms", anything },
        { "NodeFilter", cluster_filter_body },
        { "Nodes", anything },
        { "NodeInfos", node_infos },
        { "K8sObject", object_body },
        { "Pool", pool_body },
        { "PoolChange", pool_body, true },
        { "PoolShown", pool_shown },
        { "PoolList", pool_list },
        { "FileSystem", fs_body },
        { "FileSystemMade", fs_made },
        { "FileSystemShown", fs_shown },
        { "FileSystemList", fs_list },
        { "FileSystemCache", fs_cache_body },
        { "Link", link_body },
        { "LinkList", link_list },
        { "SingleJob", single_body },
        { "DistributedJob", distributed_body },
        { "WorkflowJob", workflow_body },
        { "JobMade", job_made },
        { "JobList", job_list },
        { "Job", job_shown },
        { "JobChange", modify_body },
        { "JobLog", job_log },
        { "JobStatistics", job_statistics },
        { "JobSeries", job_series },
        { "CardTimeQuery", card_time_body },
        { "CardTimes", card_times },
        { "NewRun", run_create_body },
        { "NewRunJson", anything },
        { "RunMade", run_made },
        { "RunList", run_list },
        { "RunShown", run_shown },
        { "RunStop", run_stop_body },
        { "RunLog", run_log },
        { "ArtifactList", artifact_list },
        { "RunCacheList", cache_list },
        { "RunCache", cache_shown },
        { "NewPipeline", pipeline_body },
        { "PipelineMade", pipeline_made },
        { "PipelineList", pipeline_list },
        { "PipelineShown", pipeline_whole },
        { "PipelineVersion", version_whole },
        { "NewSchedule", schedule_body },
        { "ScheduleMade", schedule_made },
        { "ScheduleList", schedule_list },
        { "ScheduleShown", schedule_shown },
        { 0 },
};
