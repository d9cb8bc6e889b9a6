/* What members report of a job while it runs (agent/report.h): numbers by name, kept with the job as a list
 * of texts "NAME LAST MIN MAX MEMBER ATTEMPT MIN MAX", the last two of the attempts before. MIN and MAX are
 * "-" while no finite number was reported. Pure.
 *
 * The first member (in the order of roles and ranks) that reports a name speaks for the job. A later attempt
 * goes on where the one before was: its last number is the job's, and the least and the greatest are of both.
 */
#pragma once

#include "model/job.h"

enum { RESULTS_TEXT_MAX = 16384, RESULTS_NAMES_MAX = 32 };

/* `have` (may be NULL) with the lines NAME=VALUE that a member reported; the caller's. NULL: there is
 * nothing. What is no such line, and names beyond RESULTS_NAMES_MAX, are passed over. */
char **results_merge(char *const *have, const char *text, int member, int attempt);

/* {"loss": {"last": 0.1, "min": 0.1, "max": 2.3}}, null for what is no finite number. */
json_t *results_format(char *const *results);
