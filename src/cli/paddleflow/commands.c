/* The groups of the older client's commands (doc/reference/paddleflow-api.md, "The command line"). Commands of parts that do not
 * exist yet (links and caches of file systems) come with them. */
#include "cli/paddleflow/commands.h"

#include <string.h>

#include "cli/paddleflow/print.h"

static const PaddleFlowCommand front_commands[] = {
        { "version", "Show the versions of client and server.", NULL, NULL, "GET", "/version",
          .print = print_version },
        { 0 },
};

const PaddleFlowGroup paddleflow_groups[] = {
        { "user", "Manage users.", paddleflow_user_commands },
        { "queue", "Manage queues, and who may use them.", paddleflow_queue_commands },
        { "flavour", "Manage flavours: named sizes.", paddleflow_flavour_commands },
        { "cluster", "Manage clusters, and see what they have.", paddleflow_cluster_commands },
        { "fs", "Manage file systems: names for directories.", paddleflow_fs_commands },
        { "job", "Create, watch and stop jobs.", paddleflow_job_commands },
        { "run", "Run pipelines, watch, stop and retry runs.", paddleflow_run_commands },
        { "pipeline", "Manage stored pipelines.", paddleflow_pipeline_commands },
        { "schedule", "Run stored pipelines at given times.", paddleflow_schedule_commands },
        { "log", "Show logs.", paddleflow_log_commands },
        { "statistics", "Show the usage of jobs.", paddleflow_statistics_commands },
        { "", "", front_commands },
        { 0 },
};

bool paddleflow_expand_states(json_t *query, char *const *words, GError **error)
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
