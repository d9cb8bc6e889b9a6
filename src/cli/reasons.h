/* Why a job waits: the reasons of `GET .../explain` and of a dry run as text, with bars for their figures.
 * Pure: from JSON to text; the caller's. */
#pragma once

#include "cli/cli.h"

/* Numbered sentences, each with its figures, indented by `indent` blanks. */
char *reasons_text(const json_t *reasons, int indent, const Terminal *terminal);

/* "at 14:20:05, in 12m 3s" (with the day if it is another day); "not known" for null. `now` in ms. */
char *start_text(const json_t *value, gint64 now);

/* The full answer of `paddle explain`. */
char *explain_text(const json_t *job, const json_t *answer, gint64 now, const Terminal *terminal);

/* The result of a dry run, as sentences. */
char *dry_run_text(const json_t *reply, gint64 now, const Terminal *terminal);
