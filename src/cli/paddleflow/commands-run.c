/* The commands of the older client about runs, their artifacts and the cache of steps (see command.h). */
#include "cli/paddleflow/commands.h"

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

const PaddleFlowCommand paddleflow_run_commands[] = {
        { "create", "Run a pipeline.", NULL, run_create_options, "POST", "/run", PADDLEFLOW_BODY,
          .done = "run create success, run id[{runID}]" },
        { "list", "List runs.", NULL, run_list_options, "GET", "/run", .prepare = paddleflow_expand_states,
          .items = "runList", .columns = run_list_columns, .marker = true },
        { "show", "Show a run.", run_word, NULL, "GET", "/run/{0}", .columns = run_show_columns },
        { "stop", "Stop a run.", run_word, run_stop_options, "PUT", "/run/{0}?action=stop", PADDLEFLOW_BODY,
          .prepare = say_force, .done = "run[{0}] stop success" },
        { "retry", "Retry a run that has ended, as a new run.", run_word, NULL, "PUT",
          "/run/{0}?action=retry", .done = "run[{0}] retry success, new run id[{runID}]" },
        { "delete", "Delete a run that has ended.", run_word, run_delete_options, "DELETE", "/run/{0}",
          PADDLEFLOW_BODY, .prepare = say_check, .done = "run[{0}] delete success" },
        { "listcache", "List entries of the cache of steps.", NULL, cache_options, "GET", "/runCache",
          .items = "runCacheList", .columns = cache_columns, .marker = true },
        { "showcache", "Show an entry of the cache of steps.", cache_word, NULL, "GET", "/runCache/{0}",
          .columns = cache_show_columns },
        { "deletecache", "Delete an entry of the cache of steps.", cache_word, NULL, "DELETE",
          "/runCache/{0}", .done = "run cache[{0}] delete success" },
        { "listartifact", "List what steps have written and read.", NULL, artifact_options, "GET",
          "/artifact", .items = "artifactEventList", .columns = artifact_columns, .marker = true },
        { 0 },
};
