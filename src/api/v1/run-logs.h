/* The logs of all steps of a run as one resumable stream of server-sent events (doc/guide/rest.md, "The log of a run"). */
#pragma once

#include "api/v1/internal.h"

typedef struct {
        const char *step;   /* only this component; NULL: all */
        const char *cursor; /* where an earlier stream ended; NULL: none */
        bool follow;        /* until the run has ended */
        bool raw, times;    /* as in LogStreamOptions */
} RunLogOptions;

/* False with ERR_INVALID: the cursor is none. Borrows all but what it keeps a copy of. */
bool run_logs_start(Api *api, HttpRequest *request, const RunRecord *run, RunText *text,
                    const RunLogOptions *options, GError **error);
