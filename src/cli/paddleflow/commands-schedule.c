/* The commands of the older client about schedules (see command.h). */
#include "cli/paddleflow/commands.h"

#include <string.h>

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

const PaddleFlowCommand paddleflow_schedule_commands[] = {
        { "create", "Create a schedule of a stored pipeline.", schedule_create_words, schedule_create_options,
          "POST", "/schedule", PADDLEFLOW_BODY, .prepare = say_catchup,
          .done = "schedule[{0}] create success, schedule id[{scheduleID}]" },
        { "list", "List schedules.", NULL, schedule_list_options, "GET", "/schedule",
          .prepare = expand_schedule_states, .items = "scheduleList", .columns = schedule_columns,
          .marker = true },
        { "show", "Show a schedule.", schedule_word, schedule_show_options, "GET", "/schedule/{0}",
          .prepare = paddleflow_expand_states, .columns = schedule_show_columns, .marker = true },
        { "stop", "Stop a schedule; its runs go on.", schedule_word, NULL, "PUT", "/schedule/{0}",
          .done = "schedule[{0}] stop success" },
        { "delete", "Delete a schedule that is over.", schedule_word, NULL, "DELETE", "/schedule/{0}",
          .done = "schedule[{0}] delete success" },
        { 0 },
};
