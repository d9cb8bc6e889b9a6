/* What of a reply the older client shows: tables, JSON keyed by the heads, or lines of text. */
#pragma once

#include "cli/paddleflow/args.h"

bool paddleflow_print(const PaddleFlowArgs *args, json_t *reply, GError **error);

bool print_version(json_t *reply, GError **error);
bool print_job_log(json_t *reply, GError **error);
bool print_run_log(json_t *reply, GError **error);
