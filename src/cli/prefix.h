/* The logs of several members as one text: each line starts with the member's name, `trainer-0 | text`, in
 * the member's colour. A redrawn line, which starts with a CR (doc/guide/rest.md, "The log stream"), has
 * `trainer-0 ~ text`; without a name it keeps its CR. Consecutive pieces of a line stay one line. A piece of
 * another member ends the line; when the first continues, it starts a new one. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct LogPrefixer LogPrefixer;

/* `width`: columns of the longest member name; longer names move their text to the right. */
LogPrefixer *log_prefixer_new(int width, bool colour);
/* For a terminal: filters the members' output (tame.h). Call it before the first text. */
void log_prefixer_tame(LogPrefixer *prefixer);
/* Keeps carriage returns. Call it before the first text. */
void log_prefixer_raw(LogPrefixer *prefixer);
void log_prefixer_free(LogPrefixer *prefixer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LogPrefixer, log_prefixer_free)

/* Appends `text` of `member` to `out`. Without a name ("") lines get no prefix. */
void log_prefixer_add(LogPrefixer *prefixer, const char *member, const char *text, GString *out);

/* `stamp` precedes lines that start from now on; NULL: none. */
void log_prefixer_stamp(LogPrefixer *prefixer, const char *stamp);

/* Appends the prefix of a line of `member`, without a stamp; returns its columns. Cuts a name of more than
 * `max` columns; without a name nothing is appended. */
int log_prefixer_begin(LogPrefixer *prefixer, const char *member, int max, bool redrawn, GString *out);
/* True if a line is incomplete. */
bool log_prefixer_is_open(const LogPrefixer *prefixer);

/* Ends an incomplete line, so that other output can be printed. */
void log_prefixer_break(LogPrefixer *prefixer, GString *out);
