/* Regular expressions of conditions. The syntax is that of RE2: no references back, no looking around, no recursion,
 * no possessive repeats. Pure.
 *
 * A search reads the text once and keeps a set of places in the expression, so its work is at most the length of
 * the text times the square of the number of places. It can be said before the search, and never depends on what
 * the text contains. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        PATTERN_MAX = 1000,         /* bytes of an expression */
        PATTERN_REPEAT_MAX = 1000,  /* as in RE2 */
        PATTERN_PLACES_MAX = 10000, /* with all repeats written out */
};

/* The number of places of an expression, at least 1. 0 with ERR_INVALID if it is none; the message is a clause
 * about it, such as "has a reference to a group". */
guint pattern_places(const char *pattern, GError **error);

/* An upper limit of the work of compiling an expression and searching a text of `len` bytes, in units of about a
 * nanosecond. */
guint64 pattern_work(guint places, gsize len);

/* True in *ret if the expression is found anywhere in the text, which is UTF-8. False with ERR_INVALID if the
 * expression is none. */
bool pattern_search(const char *pattern, const char *text, bool *ret, GError **error);
