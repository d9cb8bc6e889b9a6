/* What the verbs share that make runs with breakpoints. */
#pragma once

#include "cli/cli.h"

/* `steps` (char *, or NULL) as the member `name` of a request, if there are some. */
void run_pause_put(json_t *body, const char *name, const GPtrArray *steps);

#define RUN_BREAK_OPTIONS(type)                                                                              \
        { "break-before",         0,      OPTION_LIST,                                                       \
          offsetof(type, before), "STEP", "pause before STEP, DAG.STEP, or STEP-3 of a loop" },              \
        {                                                                                                    \
                "break-after", 0, OPTION_LIST, offsetof(type, after), "STEP", "pause after STEP or DAG.STEP" \
        }
