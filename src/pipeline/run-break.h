/* Breakpoints of a run: the places at which it pauses. Pure.
 *
 * A place is the path of a component, as people write it: "train", "dag.train", through references. A part with a number,
 * "train-3", is one item of a loop; without one it means all of them. A component whose name is "train-3" counts first. */
#pragma once

#include "pipeline/definition.h"

enum {
        BREAK_ANY = -1, /* as guint32: all items */
        BREAKS_MAX = 100,
        BREAK_TEXT_MAX = 1000, /* bytes of a place */
};

typedef struct {
        guint32 component;
        guint32 number; /* in its loop, or BREAK_ANY */
} BreakPart;

/* From the entry points, or the holder of post_process, down to a component. Counted, and never changed. */
typedef struct {
        char *text;
        BreakPart *parts;
        gsize n; /* at least 1 */
        bool post;
        bool after;
} Break;
Break *break_ref(Break *at);
void break_unref(Break *at); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Break, break_unref)

/* NULL with ERR_INVALID, which names the part that is wrong. `after`: a last part with a number is refused, since a loop
 * ends as a whole. */
Break *break_parse(const Definition *definition, const char *text, bool after, GError **error);

/* Several of them, counted and never changed. */
typedef struct RunBreaks RunBreaks;
/* Of the Break in `list`. */
RunBreaks *run_breaks_new(const GPtrArray *list);
RunBreaks *run_breaks_ref(RunBreaks *breaks);
void run_breaks_unref(RunBreaks *breaks); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunBreaks, run_breaks_unref)
/* Of Break, in the order in which they were set. Borrowed. */
const GPtrArray *run_breaks_list(const RunBreaks *breaks);
/* False: no breakpoint is at this component. Takes the same time for any number of them. */
bool run_breaks_has(const RunBreaks *breaks, guint32 component);
