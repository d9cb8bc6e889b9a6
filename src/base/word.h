/* Words in messages: suggestions for typing mistakes, and nouns in singular and plural. Pure. */
#pragma once

#include <glib.h>

/* Edit distance in bytes: insertions, deletions, replacements, and swaps of neighbours. Only the first 64
 * bytes count. */
int word_distance(const char *a, const char *b);

/* The word of a NULL-terminated list that is nearest to `word`, or NULL if none is near: more than a third of
 * its letters plus one would be wrong. Borrowed from the list. */
const char *word_nearest(const char *word, const char *const *list);

/* "1 file", "3 files", "0 directories": a number with a regular English noun. Of several words the last one
 * changes ("2 parameter servers"). The caller frees it. */
char *count_format(gint64 n, const char *noun);
