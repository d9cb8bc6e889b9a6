/* States and lines of a run that several verbs print. */
#pragma once

#include "cli/cli.h"

/* "/v1/runs/<id, encoded><suffix>"; the caller's. */
char *run_path(const char *run, const char *suffix);

/* Between the reasons in the message of a run that failed. */
extern const char run_between_reasons[];

bool run_is_final(const json_t *run);
/* "fetch: its file ... is gone, so it runs again": of `lost_outputs`; the caller's. */
char *run_lost_line(const json_t *lost);
/* A step, or a node, whose job waits: its state is running, since it holds a slot of the run. */
bool run_step_is_queued(const json_t *step);
/* Its state; "queued" if its job waits. Borrowed from it. */
const char *run_step_word(const json_t *step);
/* Its state; "paused" if it runs and waits at a breakpoint, since it needs its owner then. Borrowed from the run. */
const char *run_state_word(const json_t *run);
/* "3.2 s": the time from `from` to `to`, two keys of a run or of a step; the caller's. NULL: it has not ended. */
char *run_took(const json_t *item, const char *from, const char *to);
