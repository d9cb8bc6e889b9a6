/* What a submission would do, for a person who decides (`paddle submit --plan`). Pure. */
#pragma once

#include <glib.h>

#include "base/json.h"
#include "cli/measure.h"

typedef struct {
        const json_t *spec;     /* as for POST /v1/jobs */
        const char *package;    /* its directory, or NULL ... */
        const Measure *measure; /* ... and what it holds */
        const char *needs;      /* its requirements, or NULL */
        const json_t *dry;      /* the server's DryRun */
} Plan;

/* Lines "sends     5 files, ..."; what follows from the server (when it would start) is not among them. The
 * caller's. */
char *plan_text(const Plan *plan);

/* Of a job with a setup: which changes make it run again. NULL: it has none. The caller's. */
char *plan_setup_note(const Plan *plan);

/* Of an array or a sweep: how many jobs it makes, their values (the first few) and what they ask for; "" of
 * one job. The caller's. */
char *plan_array_text(const json_t *object, const json_t *dry);
