/* The lines in which two texts differ. Pure. */
#pragma once

#include <glib.h>

enum {
        LINE_DIFF_CONTEXT = 1,  /* equal lines that are shown beside others */
        LINE_DIFF_EDITS = 1000, /* texts with more lines that differ ... */
        LINE_DIFF_WORK =
                20 * 1000 * 1000, /* ... or that need more comparisons are taken as replaced as a whole */
};

/* char *, with '-' in front of a line of `a` only, '+' of `b` only, ' ' of both, and "@@ line 12" (of `b`) in front of each
 * group. As few lines as possible differ. Empty: the texts have the same lines. The caller's. */
GPtrArray *line_diff(const char *a, const char *b);
