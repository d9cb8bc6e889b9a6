/* Breakpoints of a run (see run-break.h). */
#include "pipeline/run-break.h"

#include "base/err.h"

struct RunBreaks {
        GPtrArray *list;
        GHashTable *components; /* a set */
};

/* ---- one place ---- */

Break *break_ref(Break *at)
{
        return g_atomic_rc_box_acquire(at);
}

static void clear_break(gpointer data)
{
        Break *at = data;

        g_free(at->text);
        g_free(at->path);
}

void break_unref(Break *at)
{
        if (at)
                g_atomic_rc_box_release_full(at, clear_break);
}

Break *break_parse(const Definition *definition, const char *text, bool after, GError **error)
{
        StepPath path;
        Break *ret;

        if (!step_path_parse(definition, text, &path, error))
                return NULL;
        if (after && path.parts[path.n - 1].number != (guint32)STEP_ANY) {
                err_set(error, ERR_INVALID,
                        "step '%.200s': a run cannot pause after one item of a loop\n"
                        "Name the loop, without a number: the run then pauses after all its items.",
                        text);
                return NULL;
        }
        ret = g_atomic_rc_box_new0(Break);
        ret->text = g_strdup(text);
        ret->path = g_memdup2(&path, sizeof path);
        ret->after = after;
        return ret;
}

/* ---- several ---- */

static void unref(gpointer at)
{
        break_unref(at);
}

GPtrArray *break_list_new(void)
{
        return g_ptr_array_new_with_free_func(unref);
}

RunBreaks *run_breaks_new(const GPtrArray *list)
{
        RunBreaks *breaks = g_atomic_rc_box_new0(RunBreaks);

        breaks->list = break_list_new();
        breaks->components = g_hash_table_new(NULL, NULL);
        for (guint i = 0; i < list->len; i++) {
                Break *at = list->pdata[i];

                g_ptr_array_add(breaks->list, break_ref(at));
                g_hash_table_add(breaks->components, GUINT_TO_POINTER(break_last(at)->component));
        }
        return breaks;
}

RunBreaks *run_breaks_ref(RunBreaks *breaks)
{
        return g_atomic_rc_box_acquire(breaks);
}

static void clear_breaks(gpointer data)
{
        RunBreaks *breaks = data;

        g_ptr_array_unref(breaks->list);
        g_hash_table_unref(breaks->components);
}

void run_breaks_unref(RunBreaks *breaks)
{
        if (breaks)
                g_atomic_rc_box_release_full(breaks, clear_breaks);
}

const GPtrArray *run_breaks_list(const RunBreaks *breaks)
{
        return breaks->list;
}

bool run_breaks_has(const RunBreaks *breaks, guint32 component)
{
        return g_hash_table_contains(breaks->components, GUINT_TO_POINTER(component));
}
