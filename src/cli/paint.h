/* Colours of job states, the same everywhere. Pure. */
#pragma once

#include <glib.h>

#define PAINT_END "\033[0m"

/* The escape sequence for a state ("failed"); "" for other words. PAINT_END follows the text. */
const char *state_paint(const char *state);

/* The state in its colour, or unchanged without `colour`; the caller's. */
char *state_text(const char *state, gboolean colour);
