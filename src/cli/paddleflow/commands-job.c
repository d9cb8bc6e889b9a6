/* The commands of the older client about jobs (see command.h). */
#include "cli/paddleflow/commands.h"

#include "cli/paddleflow/job-file.h"

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

const PaddleFlowCommand paddleflow_job_commands[] = {
        { "create", "Create a job from a JSON file.", job_create_words, NULL, "POST", "/job/{0}",
          PADDLEFLOW_BODY, .prepare = job_body, .done = "job create success, job id[{id}]" },
        { "list", "List jobs.", NULL, job_list_options, "GET", "/job", .items = "jobList",
          .columns = job_list_columns, .marker = true, .fields_option = "fieldlist" },
        { "show", "Show a job.", job_word, NULL, "GET", "/job/{0}", .columns = job_show_columns,
          .rows = job_rows, .may_say_message = true },
        { "update", "Change a job.", job_word, job_update_options, "PUT", "/job/{0}?action=modify",
          PADDLEFLOW_BODY, .done = "job[{0}] update success" },
        { "stop", "Stop a job.", job_word, NULL, "PUT", "/job/{0}?action=stop",
          .done = "job[{0}] stop success" },
        { "delete", "Delete a job.", job_word, NULL, "DELETE", "/job/{0}",
          .done = "job[{0}] delete success" },
        { 0 },
};
