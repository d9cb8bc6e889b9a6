/* The logs of many members as one text: each line begins with its member, `trainer-0 | text`, in a colour of
 * its own. A redrawn line, which has a CR in front (doc/guide/rest.md, "The log stream"), has `trainer-0 ~ text`;
 * one without a name keeps its CR. Pieces of a line that come one after the other stay one line; another
 * member's piece ends it, and when the first goes on it begins anew. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct LogPrefixer LogPrefixer;

/* `width`: columns of the longest member name; names that are longer push their text to the right. */
LogPrefixer *log_prefixer_new(int width, bool colour);
/* For a terminal: what members wrote is made harmless (tame.h). Before the first text. */
void log_prefixer_tame(LogPrefixer *prefixer);
/* Carriage returns are the job's, and stay. Before the first text. */
void log_prefixer_raw(LogPrefixer *prefixer);
void log_prefixer_free(LogPrefixer *prefixer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LogPrefixer, log_prefixer_free)

/* Appends `text` of `member` to `out`. Without a name ("") lines get no prefix. */
void log_prefixer_add(LogPrefixer *prefixer, const char *member, const char *text, GString *out);

/* `stamp` stands in front of the lines that begin from now on; NULL: nothing does. */
void log_prefixer_stamp(LogPrefixer *prefixer, const char *stamp);

/* Appends what stands in front of a line of `member`, without a stamp; returns its columns. A name that takes
 * more than `max` columns is cut; without a name nothing is appended. */
int log_prefixer_begin(LogPrefixer *prefixer, const char *member, int max, bool redrawn, GString *out);
/* A line is open. */
bool log_prefixer_is_open(const LogPrefixer *prefixer);

/* Ends a line that is still open, so that something else can be printed. */
void log_prefixer_break(LogPrefixer *prefixer, GString *out);
