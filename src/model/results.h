/* Numbers that members report while a job runs (agent/report.h). The job keeps them by name, as texts "NAME
 * LAST MIN MAX MEMBER ATTEMPT MIN MAX". The last two are from earlier attempts. MIN and MAX are "-" until a
 * finite number was reported. Pure.
 *
 * If several members report a name, the first one counts, in the order of roles and ranks. After a retry LAST
 * is from the new attempt; the minimum and maximum are over all attempts. */
#pragma once

#include "model/job.h"

enum { RESULTS_TEXT_MAX = 16384, RESULTS_NAMES_MAX = 32 };

/* Adds the lines NAME=VALUE that a member reported to `have` (may be NULL); the caller frees the result.
 * NULL: no results. Other lines, and names beyond RESULTS_NAMES_MAX, are ignored. */
char **results_merge(char *const *have, const char *text, int member, int attempt);

/* {"loss": {"last": 0.1, "min": 0.1, "max": 2.3}}, null for a number that is not finite. */
json_t *results_format(char *const *results);
