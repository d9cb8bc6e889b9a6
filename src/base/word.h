/* Words in messages: what a mistyped one may have meant, and nouns with their number. Pure. */
#pragma once

#include <glib.h>

/* Distance in bytes: insertions, deletions, replacements and swaps of neighbours between two words. Of longer
 * words the first 64 bytes count. */
int word_distance(const char *a, const char *b);

/* The word of a NULL-terminated list that `word` most likely meant, or NULL when none is near: at most a
 * third of its letters and one more are wrong. Borrowed from the list. */
const char *word_nearest(const char *word, const char *const *list);

/* "1 file", "3 files", "0 directories": the noun in its number, by the rules for regular English nouns. Of
 * several words the last one changes ("2 parameter servers"). The caller's. */
char *count_format(gint64 n, const char *noun);
