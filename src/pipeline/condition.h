/* Conditions: expressions such as "10 > 2 && abc != 'x y'". The grammar and its meaning:
 * doc/reference/pipelines.md, "Conditions".
 *
 * Total: every text has an outcome in a bounded time, half a second at most. Text, nesting and the work of regular
 * expressions are bounded.
 * Dates without a zone are those of the local zone. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        CONDITION_MAX = 1024 * 1024,             /* bytes of a text */
        CONDITION_DEPTH_MAX = 100,               /* of parentheses */
        CONDITION_WORK_MAX = 300 * 1000 * 1000,  /* of all regular expressions: pattern_work() */
        CONDITION_JOINED_MAX = 16 * 1024 * 1024, /* bytes of texts that '+' makes */
};

/* Why this text with its templates cannot be a condition, or NULL; the caller's. All "{{" and "}}" are
 * dropped first, so that a template counts as a word. */
char *condition_fault(const char *text);

/* True if the text, without templates, has an operator with a regular expression. Its evaluation may take as long
 * as CONDITION_WORK_MAX says, so a thread that must not wait gives it to another one. All others take a time in
 * proportion to their text. Ask with the text that is evaluated: the value of a template may have operators. */
bool condition_searches(const char *text);

/* The value of a text without templates; an empty text is true. ERR_INVALID if it cannot be evaluated or is
 * not true or false. */
bool condition_eval(const char *text, bool *ret, GError **error);
