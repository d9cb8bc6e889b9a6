/* Lines that have no end yet, at the bottom of a terminal: one for each member that has such a line, behind
 * its prefix, redrawn as it changes. Whatever else is printed goes above them. Pure: what it appends to `out`
 * moves the terminal's cursor and expects it where the last append left it.
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

/* What the unended line of `member` shows by now: `text` as a `partial` event has it. */
void live_lines_set(LiveLines *lines, const char *member, const char *text);
/* It has ended, or nothing is known of it any more. */
void live_lines_drop(LiveLines *lines, const char *member);
void live_lines_clear(LiveLines *lines);

/* Appends what takes the lines off the terminal, if they are there; the cursor is then where the first began.
 */
void live_lines_erase(LiveLines *lines, GString *out);

/* Appends the lines, at most LIVE_LINES_MAX and height - 1 of them, each less than `width` columns with its
 * prefix. The cursor is at the beginning of a line, and at the end of the last one afterwards. */
void live_lines_draw(LiveLines *lines, int width, int height, LogPrefixer *prefixer, GString *out);

/* `text` in at most `max` columns: harmless (tame.h), backspaces carried out, colours ended. Of a line that
 * is too long the start when it is redrawn (a bar), else the end, where it grows. The caller's. */
char *live_line_fit(const char *text, int max, bool redrawn);
