/* Texts of jobs that were shown lately, so that a job that is read again and again is formatted once. They belong to one
 * Job object: published jobs do not change, a change publishes another object. Two texts of each: of its fixed part
 * (job_put_fixed), and of the whole, which counts times up to now and therefore holds for 100 ms only.
 * A reference to the job is held. Bounded: 1,024 jobs and 4 MB of text, the oldest are dropped first. Any thread. */
#pragma once

#include <glib.h>

#include "model/job.h"

typedef struct Rendered Rendered;

Rendered *rendered_new(void);
void rendered_free(Rendered *rendered); /* NULL is a no-op */

typedef enum {
        TEXT_FIXED,
        TEXT_WHOLE,
        RENDERED_TEXTS,
} RenderedText;

/* The text kept for this very object, or NULL; a reference. `now` is monotonic, in ms. */
GBytes *rendered_find(Rendered *rendered, const Job *job, RenderedText which, gint64 now);
/* Replaces what was kept for an older object of the job. */
void rendered_keep(Rendered *rendered, const Job *job, RenderedText which, GBytes *text, gint64 now);
