/* Breakpoints at which a run does not pause (see runs.h, pipeline/run-reach.h): new ones are refused, and those that were set
 * before it was certain are named in the control of the run, and in an event:
 *
 *      {"missed": [{"step": "fit-7", "at": "before", "reason": "the loop 'fit' has 3 items"}]}
 *
 * It becomes certain when a loop or a DAG on the path of a breakpoint gets its list, or is skipped. The breakpoints of the run
 * are looked at then, once in a batch. Failures and stops are not told: the run says itself why it ended. */
#include "engine/runs.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/run-reach.h"

enum { NAMED_MAX = 5 }; /* other steps that an error names */

static const char *at_word(const Break *at)
{
        return at->after ? "after" : "before";
}

/* ---- why ---- */

/* "'fetch' has begun"; the caller's. */
static char *say_why(const Definition *definition, const RunReach *reach, const Break *at)
{
        static const char *const words[] = {
                [REACH_DISABLED] = "is disabled",
                [REACH_STOPPED] = "has failed, or was stopped",
                [REACH_SKIPPED] = "was skipped: its condition is false, or its loop has no items",
                [REACH_ENDED] = "has ended",
                [REACH_BEGUN] = "has begun",
                [REACH_OPEN] = "has not begun",
        };
        const char *name = component_name(definition, reach->component);
        bool last = reach->component == break_last(at)->component;

        if (reach->kind == REACH_SHORT)
                return g_strdup_printf("the loop '%s' has %u item%s", name, reach->count,
                                       reach->count == 1 ? "" : "s");
        return g_strdup_printf("'%.200s' %s", last ? at->text : name, words[reach->kind]);
}

/* ---- where it can pause ---- */

static guint32 first_open_item(const Run *run, const RunChild *child)
{
        guint32 i = child->made;

        while (i < child->count && i < child->seen && run_node(run, child->first + i)->state != NODE_NONE)
                i++;
        return i;
}

/* "Items that have not begun: fit-5 to fit-9."; NULL: it has none. The caller's. */
static char *say_items(const Run *run, const RunReach *reach, const char *name)
{
        const RunChild *child = run_child(run, reach->child);
        guint32 first = reach->kind == REACH_BEGUN || reach->kind == REACH_ENDED || reach->kind == REACH_SHORT
                                ? first_open_item(run, child)
                                : child->count;

        if (!run_child_is_loop(run, reach->child) || first >= child->count)
                return NULL;
        return g_strdup_printf("Items that have not begun: %s-%u to %s-%u. ", name, first, name,
                               child->count - 1);
}

/* "Steps that have not begun: b, d."; the caller's. */
static char *say_beside(const Run *run, const Definition *definition, const RunReach *reach, const Break *at)
{
        guint32 found[NAMED_MAX];
        guint n = run_reach_beside(run, reach->child, at->after, NAMED_MAX, found);
        const char *dot = strrchr(at->text, '.');
        g_autoptr(GString) names = g_string_new(NULL);
        const char *what = at->after ? "ended" : "begun";

        for (guint i = 0; i < n; i++)
                g_string_append_printf(names, "%s%.*s%s", i ? ", " : "", dot ? (int)(dot + 1 - at->text) : 0,
                                       at->text, component_name(definition, found[i]));
        return n > 0 ? g_strdup_printf("Steps beside it that have not %s: %s. ", what, names->str)
                     : g_strdup_printf("No step beside it is left that has not %s. ", what);
}

static char *say_others(const Run *run, const Definition *definition, const RunReach *reach, const Break *at)
{
        bool last = reach->component == break_last(at)->component;
        char *items = !at->after && break_last(at)->number != (guint32)STEP_ANY && last
                              ? say_items(run, reach, component_name(definition, reach->component))
                              : NULL;

        return items ? items : last ? say_beside(run, definition, reach, at) : g_strdup("");
}

/* ---- new breakpoints ---- */

static bool refuse(const Run *run, const Definition *definition, const char *retry_of, const Break *at,
                   const RunReach *reach, GError **error)
{
        g_autofree char *why = say_why(definition, reach, at), *path = step_path_names(definition, at->path);
        g_autofree char *others = say_others(run, definition, reach, at);

        if (retry_of)
                return err_set(error, ERR_CONFLICT,
                               "breakpoint %s '%.200s': %s in run '%s', and the retry keeps it\n"
                               "%s`--from %s` runs it again.",
                               at_word(at), at->text, why, retry_of, others, path);
        return err_set(error, ERR_CONFLICT,
                       "breakpoint %s '%.200s': %s, so the run does not pause there any more\n"
                       "%s`paddle run retry RUN --from %s` runs it again, after the end of the run.",
                       at_word(at), at->text, why, others, path);
}

bool runs_check_breaks(const Run *run, const Definition *definition, const char *retry_of,
                       const GPtrArray *list, GError **error)
{
        for (guint i = 0; i < list->len; i++) {
                const RunReach reach = run_reach(run, list->pdata[i]);

                if (reach.kind != REACH_OPEN)
                        return refuse(run, definition, retry_of, list->pdata[i], &reach, error);
        }
        return true;
}

/* ---- breakpoints that were set before ---- */

void runs_look_at_breaks(LiveRun *live, guint32 component)
{
        if (live->breaks && run_breaks_pass(live->breaks, component))
                live->breaks_looked = false;
}

/* `one`: an item of `missed`. */
static bool is_of(const json_t *one, const Break *at)
{
        return g_strcmp0(json_string_value(json_object_get(one, "step")), at->text) == 0 &&
               g_strcmp0(json_string_value(json_object_get(one, "at")), at_word(at)) == 0;
}

static bool is_named(const json_t *missed, const Break *at)
{
        const json_t *one;
        size_t i;

        json_array_foreach((json_t *)missed, i, one)
                if (is_of(one, at))
                        return true;
        return false;
}

static bool is_set(const GPtrArray *list, const json_t *one)
{
        for (guint i = 0; list && i < list->len; i++)
                if (is_of(one, list->pdata[i]))
                        return true;
        return false;
}

/* Those that it becomes certain of now; a new array. */
static json_t *find_missed(const LiveRun *live)
{
        const GPtrArray *list = run_breaks_list(live->breaks);
        json_t *found = json_array();

        for (guint i = 0; i < list->len; i++) {
                const Break *at = list->pdata[i];
                const RunReach reach = run_reach(live->machine, at);
                g_autofree char *why = NULL;

                if ((reach.kind != REACH_SHORT && reach.kind != REACH_SKIPPED) || is_named(live->missed, at))
                        continue;
                why = say_why(live->plan->definition, &reach, at);
                json_array_append_new(found, json_pack("{s:s, s:s, s:s}", "step", at->text, "at", at_word(at),
                                                       "reason", why));
        }
        return found;
}

/* The first ones; a new array. */
static json_t *first_of(const json_t *list)
{
        json_t *ret = json_array();

        for (size_t i = 0; i < MIN(json_array_size(list), RUN_PAUSES_NAMED); i++)
                json_array_append(ret, json_array_get(list, i));
        return ret;
}

void runs_note_missed(Engine *engine, LiveRun *live)
{
        g_autoptr(json_t) found = NULL;

        if (live->breaks_looked || !live->breaks)
                return;
        live->breaks_looked = true;
        found = find_missed(live);
        if (json_array_size(found) == 0)
                return;
        runs_note(engine, live, "run.missed",
                  json_pack("{s:o, s:i}", "missed", first_of(found), "count", (int)json_array_size(found)));
        runs_add_missed(live, found);
}

json_t *runs_missed_of(const json_t *missed, const GPtrArray *list)
{
        json_t *ret = json_array(), *one;
        size_t i;

        json_array_foreach((json_t *)missed, i, one)
                if (is_set(list, one))
                        json_array_append(ret, one);
        return ret;
}
