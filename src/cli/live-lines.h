/* Unfinished lines at the bottom of a terminal: one for each member with such a line, after its prefix,
 * redrawn when it changes. Other output is printed above them. Pure: the appended text moves the terminal's
 * cursor, and expects it where the last append left it.
 *
 *     live_lines_erase ─▶ other output, whole lines ─▶ live_lines_draw          all in one write */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "cli/prefix.h"

enum { LIVE_LINES_MAX = 8 };

typedef struct LiveLines LiveLines;

LiveLines *live_lines_new(void);
void live_lines_free(LiveLines *lines);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LiveLines, live_lines_free)

/* Sets the current text of the unfinished line of `member`: `text` as in a `partial` event. */
void live_lines_set(LiveLines *lines, const char *member, const char *text);
/* The line has ended, or is no longer known. */
void live_lines_drop(LiveLines *lines, const char *member);
void live_lines_clear(LiveLines *lines);

/* Appends text that removes the lines from the terminal, if they are shown; the cursor is then where the
 * first began. */
void live_lines_erase(LiveLines *lines, GString *out);

/* Appends the lines, at most LIVE_LINES_MAX and height - 1 of them, each less than `width` columns with its
 * prefix. The cursor must be at the beginning of a line; afterwards it is at the end of the last one. */
void live_lines_draw(LiveLines *lines, int width, int height, LogPrefixer *prefixer, GString *out);

/* `text` in at most `max` columns: sanitized (tame.h), with backspaces applied and colours ended. If it is
 * too long, the start of a line that is redrawn (a progress bar), else the end, where it grows. The
 * caller's. */
char *live_line_fit(const char *text, int max, bool redrawn);
