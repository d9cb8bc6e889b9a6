/* Texts generated from the table of verbs: the overview, a verb's help, man pages (man(7)). All are the
 * caller's. */
#pragma once

#include "cli/cli.h"

char *help_overview(const Verb *const *verbs, const VerbGroup *groups);
/* The verbs whose names begin with `word` and a blank; NULL: none. */
char *help_family(const Verb *const *verbs, const char *word);
char *help_usage(const Verb *verb); /* "Usage: paddle submit [OPTIONS] -- COMMAND..." */
char *help_verb(const Verb *verb, int width);
char *help_man_overview(const Verb *const *verbs); /* paddle.1 */
char *help_man_verb(const Verb *verb);             /* paddle-job-submit.1 */

/* The verb that the first words name; *ret_used is their number (1 or 2). NULL: none. */
const Verb *verb_find(const Verb *const *verbs, int argc, char *const *argv, int *ret_used);
/* Our verb for what other systems call `word` ("sbatch": "submit"), or NULL. */
const char *verb_elsewhere(const char *word);
/* The name most similar to `word`, or NULL if none is similar. */
const char *verb_nearest(const Verb *const *verbs, const char *word);
/* The same among the verbs whose names begin with `family` ("queue"): "ls" gives "queue list". NULL: none is
 * similar. */
const char *verb_nearest_of(const Verb *const *verbs, const char *family, const char *word);
/* Wraps text into indented lines of at most `width` columns; paragraphs (separated by an empty line) stay
 * separate. */
char *text_wrap(const char *text, int indent, int width);
