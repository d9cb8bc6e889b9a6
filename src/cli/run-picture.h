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

/* The longest chain of a run and where its time went, in a few lines; "" if no step has begun. The caller's.
 *
 *      longest chain: 4m 10s of 4m 30s in steps
 *        prep 20 s > train-3 3m 40s > ... 2 more 300 ms > score 10 s
 *        running 3m 50s, waiting for a slot 10 s, in the queue 10 s, being prepared 20 s
 *
 * `chain`: of GET /v1/runs/{run}/critical-path. `breaks`: the wait for a slot may have been one at a breakpoint. */
char *run_chain_draw(const json_t *chain, bool breaks, const Terminal *terminal);
/* The run has breakpoints, or is paused. */
bool run_has_breaks(const json_t *run);
