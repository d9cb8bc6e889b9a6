/* Breakpoints of a run: the places at which it pauses. Pure. */
#pragma once

#include "pipeline/step-path.h"

enum { BREAKS_MAX = 100 };

/* Before or after the components of a path. Counted, and never changed. */
typedef struct {
        gatomicrefcount refs;
        char *text;
        StepPath *path;
        bool after;
} Break;
Break *break_ref(Break *at);
void break_unref(Break *at); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Break, break_unref)

static inline const StepPart *break_last(const Break *at)
{
        return &at->path->parts[at->path->n - 1];
}

/* NULL with ERR_INVALID, as step_path_parse. `after`: a last part with a number is refused, since a loop ends as a
 * whole. */
Break *break_parse(const Definition *definition, const char *text, bool after, GError **error);

/* False with ERR_INVALID: no run of the definition pauses there. A component is disabled, or a list that the definition has
 * is shorter than the item. */
bool break_check(const Definition *definition, const Break *at, GError **error);

/* An empty array of Break, each with a reference. */
GPtrArray *break_list_new(void);

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
/* The same, of the DAGs in which a breakpoint lies, too. */
bool run_breaks_pass(const RunBreaks *breaks, guint32 component);
