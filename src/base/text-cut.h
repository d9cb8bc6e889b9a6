/* Texts that are cut to a length: in characters for messages and pictures, in columns for a terminal, in bytes for what is
 * stored. The functions are pure. Texts are valid UTF-8, unless a function says otherwise, and no character is split. The
 * caller frees what is returned. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* At most `max` characters; a longer text ends with `mark` ("…", "..." or ""), which counts. The rest of a
 * long text is not read. */
char *text_cut(const char *text, gsize max, const char *mark);

/* The text, or its first `max` bytes at most and "...", if it is longer; line ends become blanks. */
char *text_cut_bytes(const char *text, gsize max);

/* At most `max` columns of a terminal; a longer text ends with "…", or "..." without `utf8`. "": `max` has no place for that. */
char *text_cut_columns(const char *text, int max, bool utf8);

/* The same, cut in the middle, for names that differ at their ends. */
char *text_cut_middle(const char *text, int max, bool utf8);

/* The width of a character on a terminal, in columns: 0 if it combines with the one before it, 2 if it is wide, else 1. */
int unichar_columns(gunichar c);
int text_columns(const char *text);

/* The text up to its first line end. Any bytes. */
char *text_first_line(const char *text);

/* The length without the beginning of a character that goes on behind `text`. Any bytes. */
gsize text_whole_characters(const char *text, gsize len);
