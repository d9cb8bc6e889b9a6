/* A queue's quota as a bar: its usage, what it has borrowed above its min, and what of its min is lent to
 * others. Pure: from the figures of `GET /v1/scheduler` to text. */
#pragma once

#include "cli/cli.h"
#include "model/resources.h"

typedef struct {
        gint64 used, min, lent;
        gint64 whole; /* the right end of the bar: max, or the total if there is no max; 0: no bar */
        bool open;    /* no max: the bar has no right wall */
} Quota;

/* `columns` wide including the walls: "[████▓▓▒▒│░░]", in ASCII "[##++--|..]". */
void quota_bar(GString *out, const Quota *quota, int columns, bool utf8, bool colour);

/* One line that explains the symbols, and one that explains the words. */
const char *quota_legend(bool utf8);
const char *quota_note(void);

/* The amounts of a JSON object of quantities; absent, null and invalid ones are 0 and unset. */
ResourceLimits amounts_of(const json_t *object, const char *member);

/* The quota of kind `kind` from a queue's figures; `total` is the total amount. */
Quota quota_of(const json_t *figures, int kind, const ResourceLimits *total);

/* Lines for all kinds of resources that matter for the queue: name, bar, words. */
char *quota_lines(const json_t *figures, const ResourceLimits *total, const Terminal *terminal);
