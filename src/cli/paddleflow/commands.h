/* The groups of the older client's commands: a file and a row of commands.c each. Internal. */
#pragma once

#include "cli/paddleflow/command.h"

extern const PaddleFlowCommand paddleflow_user_commands[];
extern const PaddleFlowCommand paddleflow_queue_commands[];
extern const PaddleFlowCommand paddleflow_flavour_commands[];
extern const PaddleFlowCommand paddleflow_cluster_commands[];
extern const PaddleFlowCommand paddleflow_fs_commands[];
extern const PaddleFlowCommand paddleflow_job_commands[];
extern const PaddleFlowCommand paddleflow_run_commands[];
extern const PaddleFlowCommand paddleflow_pipeline_commands[];
extern const PaddleFlowCommand paddleflow_schedule_commands[];
extern const PaddleFlowCommand paddleflow_log_commands[];
extern const PaddleFlowCommand paddleflow_statistics_commands[];

/* For the query of runs: "active" and "final" stand for several states. */
bool paddleflow_expand_states(json_t *query, char *const *words, GError **error);

/* ---- options of several groups ---- */

/* clang-format off */
#define MAXSIZE                                                                                              \
        { "maxsize", "-m", PADDLEFLOW_INT, "maxKeys", "max size of the listed items", .fallback = "100" }
#define MAXKEYS                                                                                              \
        { "maxkeys", "-m", PADDLEFLOW_INT, "maxKeys", "max size of the listed items", .fallback = "100" }
#define MARKER                                                                                               \
        { "marker", "-mk", PADDLEFLOW_TEXT, "marker", "next page: the marker of the one before" }
/* clang-format on */
