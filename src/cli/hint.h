/* Reasons that end with a hint: "exited with status 1; see `paddle logs a --member worker-0`; last line:
 * ...". A truncated command is useless, so a line that is too narrow has the whole hint or none. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The reason without its hint, for a place that is too narrow for commands: "worker-0 exited with status 1",
 * or "worker-0: KeyError: 'lr'" if there is a last line; the caller's. */
char *hint_drop(const char *reason);

/* At most `max` columns (text_cut_columns): the words before the hint are cut, or the hint is removed; the
 * caller's. */
char *hint_cut(const char *text, int max, bool utf8);
