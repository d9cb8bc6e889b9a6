/* Breakpoints of a run (see run-break.h). */
#include "pipeline/run-break.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/items.h"

enum { LIST_MAX = 16 * 1024 }; /* bytes of a list in a text that is read */

struct RunBreaks {
        gatomicrefcount refs;
        GPtrArray *list;
        GHashTable *components; /* a set: the last ones of the paths */
        GHashTable *passed;     /* ... and all of the paths */
};

/* ---- one place ---- */

Break *break_ref(Break *at)
{
        g_atomic_ref_count_inc(&at->refs);
        return at;
}

void break_unref(Break *at)
{
        if (!at || !g_atomic_ref_count_dec(&at->refs))
                return;
        g_free(at->text);
        g_free(at->path);
        g_free(at);
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
        ret = g_new0(Break, 1);
        g_atomic_ref_count_init(&ret->refs);
        ret->text = g_strdup(text);
        ret->path = g_memdup2(&path, sizeof path);
        ret->after = after;
        return ret;
}

static bool check_disabled(const Definition *definition, const Break *at, gsize n, GError **error)
{
        guint32 chain[DEFINITION_DEPTH_MAX + 2];

        for (gsize i = 0; i < n; i++)
                chain[i] = at->path->parts[i].component;
        return !definition_is_disabled(definition, chain, n) ||
               err_set(error, ERR_INVALID,
                       "step '%.200s': '%s' is disabled, so a run never pauses there\n"
                       "Name another step, or do not disable it.",
                       at->text, component_name(definition, chain[n - 1]));
}

/* How many items the definition has for the loop; -1: only the run will know. */
static gint64 items_of(const Definition *definition, guint32 component)
{
        const Value *loop = &component_extra(definition, component_target(definition, component))->loop;
        const char *text = loop->kind == VALUE_TEXT && !loop->text.pieces
                                   ? definition_text(definition, loop->text.text)
                                   : NULL;
        g_autoptr(json_t) value = text && strlen(text) <= LIST_MAX ? json_string(text) : NULL;
        g_autoptr(Items) items = value ? items_new(value, LIST_MAX, NULL) : NULL;

        if (loop->kind == VALUE_LIST)
                return loop->list.count;
        return items ? (gint64)items_count(items) : -1;
}

static bool check_item(const Definition *definition, const Break *at, const StepPart *part, GError **error)
{
        const char *name = component_name(definition, part->component);
        gint64 count = part->number == (guint32)STEP_ANY ? -1 : items_of(definition, part->component);
        g_autofree char *has = NULL;

        if (count < 0 || part->number < count)
                return true;
        has = count == 0 ? g_strdup("no items")
                         : g_strdup_printf("%" G_GINT64_FORMAT " item%s, %s-0 to %s-%" G_GINT64_FORMAT, count,
                                           count == 1 ? "" : "s", name, name, count - 1);
        return err_set(error, ERR_INVALID,
                       "step '%.200s': the loop '%s' has %s, so a run never pauses there\n"
                       "Name one of its items, or '%s' for the place before all of them.",
                       at->text, name, has, name);
}

bool break_check(const Definition *definition, const Break *at, GError **error)
{
        for (gsize i = 0; i < at->path->n; i++)
                if (!check_disabled(definition, at, i + 1, error) ||
                    !check_item(definition, at, &at->path->parts[i], error))
                        return false;
        return true;
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
        RunBreaks *breaks = g_new0(RunBreaks, 1);

        g_atomic_ref_count_init(&breaks->refs);
        breaks->list = break_list_new();
        breaks->components = g_hash_table_new(NULL, NULL);
        breaks->passed = g_hash_table_new(NULL, NULL);
        for (guint i = 0; i < list->len; i++) {
                Break *at = list->pdata[i];

                g_ptr_array_add(breaks->list, break_ref(at));
                g_hash_table_add(breaks->components, GUINT_TO_POINTER(break_last(at)->component));
                for (gsize k = 0; k < at->path->n; k++)
                        g_hash_table_add(breaks->passed, GUINT_TO_POINTER(at->path->parts[k].component));
        }
        return breaks;
}

RunBreaks *run_breaks_ref(RunBreaks *breaks)
{
        g_atomic_ref_count_inc(&breaks->refs);
        return breaks;
}

void run_breaks_unref(RunBreaks *breaks)
{
        if (!breaks || !g_atomic_ref_count_dec(&breaks->refs))
                return;
        g_ptr_array_unref(breaks->list);
        g_hash_table_unref(breaks->components);
        g_hash_table_unref(breaks->passed);
        g_free(breaks);
}

const GPtrArray *run_breaks_list(const RunBreaks *breaks)
{
        return breaks->list;
}

bool run_breaks_has(const RunBreaks *breaks, guint32 component)
{
        return g_hash_table_contains(breaks->components, GUINT_TO_POINTER(component));
}

bool run_breaks_pass(const RunBreaks *breaks, guint32 component)
{
        return g_hash_table_contains(breaks->passed, GUINT_TO_POINTER(component));
}
