/* What the routes of runs share. */
#pragma once

#include "api/v1/internal.h"
#include "model/run-record.h"

/* The run that the route's {run} names, by its id or as the newest one of the caller with this name, if the caller may do
 * this with it. NULL: an error was already sent. The caller's. */
RunRecord *api_run(Api *api, HttpRequest *request);
