/* The text of jobs that were shown lately, so that a job that many look at is written once and not for each.
 * Small and fixed: 256 places, found by the id. A text holds for one revision of the job and, since it counts
 * times up to now, for at most 100 ms. Jobs that wait are not kept: their reason depends on others. Any
 * thread. */
#pragma once

#include <glib.h>

#include "model/job.h"

typedef struct Rendered Rendered;

Rendered *rendered_new(void);
void rendered_free(Rendered *rendered);

/* The text of this very view, or NULL; a reference. */
GBytes *rendered_find(Rendered *rendered, const Job *job);
void rendered_keep(Rendered *rendered, const Job *job, GBytes *text);
