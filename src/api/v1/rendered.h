/* The text of jobs that were shown lately, so that a job that is read again and again is formatted once. A text belongs
 * to one Job object: published jobs do not change, a change publishes another object. It holds a reference to the job.
 * Bounded: 1,024 jobs and 4 MB of text, the oldest are dropped first. Any thread. */
#pragma once

#include <glib.h>

#include "model/job.h"

typedef struct Rendered Rendered;

Rendered *rendered_new(void);
void rendered_free(Rendered *rendered); /* NULL is a no-op */

/* The text kept for this very object, or NULL; a reference. */
GBytes *rendered_find(Rendered *rendered, const Job *job);
/* Replaces the text that was kept for the job's id. */
void rendered_keep(Rendered *rendered, const Job *job, GBytes *text);
