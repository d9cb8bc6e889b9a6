/* The logs of many members as one text: each line begins with its member, `trainer-0 | text`, in a colour of
 * its own. Pieces of a line that come one after the other stay one line; another member's piece ends it, and
 * when the first goes on it begins anew. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct LogPrefixer LogPrefixer;

/* `width`: columns of the longest member name; names that are longer push their text to the right. */
LogPrefixer *log_prefixer_new(int width, bool colour);
/* For a terminal: what members wrote is made harmless (tame.h). Before the first text. */
void log_prefixer_tame(LogPrefixer *prefixer);
void log_prefixer_free(LogPrefixer *prefixer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LogPrefixer, log_prefixer_free)

/* Appends `text` of `member` to `out`. Without a name ("") lines get no prefix. */
void log_prefixer_add(LogPrefixer *prefixer, const char *member, const char *text, GString *out);

/* Ends a line that is still open, so that something else can be printed. */
void log_prefixer_break(LogPrefixer *prefixer, GString *out);
