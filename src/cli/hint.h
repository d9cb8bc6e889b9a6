/* Reasons that end in a hint: "exited with status 1; see `paddle logs a --member worker-0`; last line: ...".
 * Half a command is of no use, so a line that is too narrow has the hint whole or not at all. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* The reason without its hint, for a place that is too narrow for commands: "worker-0 exited with status 1",
 * or "worker-0: KeyError: 'lr'" where there is a last line; the caller's. */
char *hint_drop(const char *reason);

/* At most `max` columns (text_cut): the words before the hint are cut, or the hint is left out; the caller's.
 */
char *hint_cut(const char *text, int max, bool utf8);
