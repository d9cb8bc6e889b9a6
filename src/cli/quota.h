/* A queue's quota drawn for a person: what it uses of its own, what it borrowed above its min, what of its
 * min is lent to others. Pure: from the figures of `GET /v1/scheduler` to text. */
#pragma once

#include "cli/cli.h"
#include "model/resources.h"

typedef struct {
        gint64 used, min, lent;
        gint64 whole; /* the right end of the bar: max, or all there is where there is no max; 0: no bar */
        bool open;    /* there is no max: the bar has no right wall */
} Quota;

/* `columns` wide with its walls: "[████▓▓▒▒│░░]", in ASCII "[##++--|..]". */
void quota_bar(GString *out, const Quota *quota, int columns, bool utf8, bool colour);

/* One line of what the signs mean, and one of the words that need a word more. */
const char *quota_legend(bool utf8);
const char *quota_note(void);

/* The amounts of a JSON object of quantities; absent, null and what cannot be read are 0 and not said. */
ResourceLimits amounts_of(const json_t *object, const char *member);

/* The quota of kind `kind` from a queue's figures; `total` is all there is. */
Quota quota_of(const json_t *figures, int kind, const ResourceLimits *total);

/* Lines for every kind of resource that the queue has to do with: name, bar, words. */
char *quota_lines(const json_t *figures, const ResourceLimits *total, const Terminal *terminal);
