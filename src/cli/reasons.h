/* Why a job waits, for a person: the reasons of `GET .../explain` and of a dry run with their figures as
 * bars. Pure: from JSON to text; the caller's. */
#pragma once

#include "cli/cli.h"

/* Numbered sentences, each with the figures that it speaks of, `indent` blanks in front. */
char *reasons_text(const json_t *reasons, int indent, const Terminal *terminal);

/* "at 14:20:05, in 12m 3s" (with the day when it is another one); "not known" for null. `now` in ms. */
char *start_text(const json_t *value, gint64 now);

/* The whole answer of `paddle explain`. */
char *explain_text(const json_t *job, const json_t *answer, gint64 now, const Terminal *terminal);

/* What a dry run said, in sentences. */
char *dry_run_text(const json_t *reply, gint64 now, const Terminal *terminal);
