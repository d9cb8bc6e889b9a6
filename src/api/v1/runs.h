/* What the routes of runs share. */
#pragma once

#include "api/v1/internal.h"
#include "model/run-record.h"

/* The run that the route's {run} names, by its id or as the newest one of the caller with this name, if the caller may do
 * this with it. NULL: an error was already sent. The caller's. */
RunRecord *api_run(Api *api, HttpRequest *request);

/* For the changes of a run: `arg` of api_run_changed, which answers the request with this status and the run as
 * GET gives it (204: without a body; 200 for a repeat). */
void *api_run_change(Api *api, HttpRequest *request, int status);
void api_run_changed(const RunRecord *run, bool repeated, const GError *error, void *arg);
