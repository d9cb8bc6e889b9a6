/* Conditions: expressions such as "10 > 2 && abc != 'x y'". The grammar and its meaning:
 * doc/reference/pipelines.md, "Conditions".
 *
 * Total: every text has an outcome in a bounded time. Text, nesting and regular expressions are bounded.
 * Dates without a zone are those of the local zone. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        CONDITION_MAX = 1024 * 1024,             /* bytes of a text */
        CONDITION_DEPTH_MAX = 100,               /* of parentheses */
        CONDITION_SUBJECT_MAX = 64 * 1024,       /* bytes that a regular expression searches */
        CONDITION_PATTERN_MAX = 1000,            /* bytes of a regular expression */
        CONDITION_SEARCHES_MAX = 10,             /* that one evaluation makes */
        CONDITION_JOINED_MAX = 16 * 1024 * 1024, /* bytes of texts that '+' makes */
};

/* Why this text with its templates cannot be a condition, or NULL; the caller's. All "{{" and "}}" are
 * dropped first, so that a template counts as a word. */
char *condition_fault(const char *text);

/* The value of a text without templates; an empty text is true. ERR_INVALID if it cannot be evaluated or is
 * not true or false. */
bool condition_eval(const char *text, bool *ret, GError **error);
