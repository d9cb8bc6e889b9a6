/* Breakpoints of a run (see run-break.h). */
#include "pipeline/run-break.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"

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
        g_free(at->parts);
}

void break_unref(Break *at)
{
        if (at)
                g_atomic_rc_box_release_full(at, clear_break);
}

static const Component *body_of(const Definition *definition, guint32 component)
{
        return &definition->components[component_target(definition, component)];
}

/* 0: there is none. */
static guint32 child_named(const Definition *definition, guint32 dag, const char *name)
{
        const Component *body = body_of(definition, dag);

        for (guint32 i = body->children; i < body[1].children; i++)
                if (strcmp(component_name(definition, i), name) == 0)
                        return i;
        return 0;
}

/* "train-3": the loop `train`, and 3. False: it is no such word, or there is no such loop. */
static bool item_named(const Definition *definition, guint32 dag, const char *word, BreakPart *ret)
{
        const char *dash = strrchr(word, '-');
        g_autofree char *name = dash ? g_strndup(word, (gsize)(dash - word)) : NULL;
        gint64 number;

        if (!dash || !number_parse("number", dash + 1, 0, G_MAXINT32, &number, NULL))
                return false;
        ret->component = child_named(definition, dag, name);
        ret->number = (guint32)number;
        return ret->component && body_of(definition, ret->component)->loops && dag != DEFINITION_POST;
}

static bool find_part(const Definition *definition, guint32 dag, const char *word, BreakPart *ret)
{
        ret->component = child_named(definition, dag, word);
        ret->number = (guint32)BREAK_ANY;
        return ret->component || item_named(definition, dag, word, ret);
}

static bool no_part(const Definition *definition, const char *text, const char *word, guint32 dag,
                    GError **error)
{
        if (dag != DEFINITION_ROOT)
                return err_set(error, ERR_INVALID, "step '%.200s': there is no component '%.80s' in '%s'",
                               text, word, component_name(definition, dag));
        return err_set(error, ERR_INVALID,
                       "step '%.200s': there is no component '%.80s' in entry_points\n"
                       "A component inside a DAG is named with it: DAG.STEP. An item of a loop: STEP-3.",
                       text, word);
}

static bool take_parts(const Definition *definition, const char *text, GArray *parts, bool *ret_post,
                       GError **error)
{
        g_auto(GStrv) words = g_strsplit(text, ".", DEFINITION_DEPTH_MAX + 3);
        guint32 dag = DEFINITION_ROOT;

        *ret_post = *words && !words[1] && child_named(definition, DEFINITION_POST, *words);
        for (char **word = words; *word; word++) {
                BreakPart part;

                if (!find_part(definition, *ret_post ? DEFINITION_POST : dag, *word, &part))
                        return no_part(definition, text, *word, dag, error);
                if (parts->len > DEFINITION_DEPTH_MAX)
                        return err_set(error, ERR_INVALID, "step '%.200s' has too many parts", text);
                g_array_append_val(parts, part);
                dag = part.component;
        }
        return parts->len > 0 || err_set(error, ERR_INVALID, "the name of a step is missing");
}

Break *break_parse(const Definition *definition, const char *text, bool after, GError **error)
{
        g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(BreakPart));
        bool post = false;
        Break *ret;

        if (strlen(text) > BREAK_TEXT_MAX) {
                err_set(error, ERR_INVALID, "the name of a step has at most %d bytes", BREAK_TEXT_MAX);
                return NULL;
        }
        if (!take_parts(definition, text, parts, &post, error))
                return NULL;
        if (after && g_array_index(parts, BreakPart, parts->len - 1).number != (guint32)BREAK_ANY) {
                err_set(error, ERR_INVALID,
                        "step '%.200s': a run cannot pause after one item of a loop\n"
                        "Name the loop, without a number: the run then pauses after all its items.",
                        text);
                return NULL;
        }
        ret = g_atomic_rc_box_new0(Break);
        ret->text = g_strdup(text);
        ret->n = parts->len;
        ret->parts = (BreakPart *)g_array_free(g_steal_pointer(&parts), FALSE);
        ret->post = post;
        ret->after = after;
        return ret;
}

/* ---- several ---- */

static void break_unref_p(gpointer at)
{
        break_unref(at);
}

RunBreaks *run_breaks_new(const GPtrArray *list)
{
        RunBreaks *breaks = g_atomic_rc_box_new0(RunBreaks);

        breaks->list = g_ptr_array_new_with_free_func(break_unref_p);
        breaks->components = g_hash_table_new(NULL, NULL);
        for (guint i = 0; i < list->len; i++) {
                Break *at = list->pdata[i];

                g_ptr_array_add(breaks->list, break_ref(at));
                g_hash_table_add(breaks->components, GUINT_TO_POINTER(at->parts[at->n - 1].component));
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
