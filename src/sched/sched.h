/* First come, first served over declared CPU, memory and GPUs; a job starts whole or not at all. Pure: a
 * snapshot in, decisions out. No I/O, no clock of its own, integers only. The full scheduler replaces the
 * body, not the callers. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "model/resources.h"

typedef struct {
        gint64 seq;        /* order of submission; equal for no two jobs */
        Resources want;    /* of all members together */
        gint64 not_before; /* ms; earlier the job is not considered and does not hold up others */
        bool ready;        /* its environment is there; when not, it does not hold up others */
} SchedJob;

typedef struct {
        Resources total, free;
        gint64 now;           /* ms */
        const SchedJob *jobs; /* in order of seq */
        int n_jobs;
} SchedSnapshot;

/* Appends to `ret_admitted` (GArray of int) the indices of the jobs to start now, in order. The first job
 * that is ready, due and does not fit stops the pass: nothing behind it starts (no backfill yet). *ret_head
 * is its index, or -1. A job larger than `total` is skipped, as it could never start. */
void sched_pass(const SchedSnapshot *snapshot, GArray *ret_admitted, int *ret_head);

/* Why a job waits, in one sentence with numbers, for example
 * "waits for 2 cores: asks for 4, 2 of 8 are free; 3 jobs are ahead of it". `ahead`: pending jobs before it.
 * The caller's. */
char *sched_explain(const SchedJob *job, const Resources *total, const Resources *have, int ahead,
                    gint64 now);
