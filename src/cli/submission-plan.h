/* The effect of a submission, shown before the user decides (`paddle submit --plan`). Pure. */
#pragma once

#include <glib.h>

#include "base/json.h"
#include "cli/measure.h"

typedef struct {
        const json_t *spec;     /* as for POST /v1/jobs */
        const char *package;    /* its directory, or NULL ... */
        const Measure *measure; /* ... and its contents */
        const char *needs;      /* its requirements, or NULL */
        const json_t *dry;      /* the server's DryRun */
} Plan;

/* Lines "sends     5 files, ..."; without the server's expected start. The caller's. */
char *plan_text(const Plan *plan);

/* Which changes make the job's setup run again. NULL: no setup. The caller's. */
char *plan_setup_note(const Plan *plan);

/* For an array or a sweep: the number of jobs, the first values, and the requested resources; "" for one job.
 * The caller's. */
char *plan_array_text(const json_t *object, const json_t *dry);
