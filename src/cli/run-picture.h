/* The picture of `paddle run show`: a run as a tree of its components. Pure: from the server's reply to lines. */
#pragma once

#include "cli/cli.h"

typedef struct {
        const json_t *run;   /* GET /v1/runs/{run}/tree */
        const char *trouble; /* why the picture is stale; NULL: it is current */
        gint64 now;          /* ms */
        bool all;            /* also the items of loops that have ended well */
} RunPicture;

/* At most `height` lines (0: all), none wider than a terminal, each ended by a newline; the caller's. With height 0 the
 * message of the run may be wider.
 *
 *      train (6rpyr77cvstaad5v)  failed  3.2 s  by ann
 *      step 'many-17' failed: worker-0 exited with status 3
 *      ├─ prepare     succeeded  1.1 s  job x3s2bxh0rpr1e7mz
 *      └─ many        failed     998 of 1000 succeeded, 2 failed
 *         ├─ many-17  failed     0.2 s  job q8yqg5ntw3e5kc1r  worker-0 exited with status 3
 *         └─ … 1 more failed */
char *run_draw(const RunPicture *picture, const Terminal *terminal, int height);
