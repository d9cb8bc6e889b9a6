/* The commands of the older client about logs (see command.h). */
#include "cli/paddleflow/commands.h"

#include "cli/paddleflow/print.h"

static const PaddleFlowParam run_word[] = { { "RUNID" }, { 0 } };
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

const PaddleFlowCommand paddleflow_log_commands[] = {
        { "run", "Show the logs of a run.", run_word, log_run_options, "GET", "/log/run/{0}",
          .print = print_run_log },
        { "show", "The same as 'run'.", run_word, log_run_options, "GET", "/log/run/{0}",
          .print = print_run_log },
        { "job", "Show the logs of a job.", NULL, log_job_options, "GET", "/log/job",
          .print = print_job_log },
        { "kube", "Show the logs of a pod or deployment.", NULL, log_kube_options, "GET", "/log/job",
          .print = print_job_log },
        { "showlimit", "Show logs within limits.", NULL, log_limit_options, "GET", "/log/job",
          .print = print_job_log },
        { 0 },
};
