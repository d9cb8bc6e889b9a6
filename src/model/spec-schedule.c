/* The scheduling fields of a specification (see spec.h): queue, priority, placement, dependencies, times,
 * preemption. Most jobs have none of them, so only those that were set are shown. */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "model/array.h"
#include "model/object-row.h"
#include "model/spec-draft.h"
#include "model/sweep.h"

enum { WARN_DEFAULT_MS = 60 * 1000 };

static const gint64 begin_max = 253402300799999; /* the end of the year 9999 */

const char *const spec_schedule_fields[] = {
        "queue",     "priority", "labels", "annotations", "node_labels", "topology",    "topology_required",
        "array",     "sweep",    "after",  "begin",       "signal",      "preemptable", "on_preempt",
        "namespace", "origin",   NULL,
};

/* ---- priorities ---- */

static const struct {
        const char *word, *older;
        int priority;
} priorities[] = {
        { "normal", "NORMAL", 0 },         { "low", "LOW", -100 },
        { "high", "HIGH", 100 },           { "very-low", "VERY_LOW", -200 },
        { "very-high", "VERY_HIGH", 200 },
};

/* "high", "VERY_HIGH", "-200". */
static bool priority_from_text(const char *text, gint64 *ret)
{
        bool negative = *text == '-';

        for (size_t i = 0; i < G_N_ELEMENTS(priorities); i++)
                if (g_ascii_strcasecmp(text, priorities[i].word) == 0 ||
                    g_ascii_strcasecmp(text, priorities[i].older) == 0) {
                        *ret = priorities[i].priority;
                        return true;
                }
        if (!number_parse("", text + negative, 0, SPEC_PRIORITY_MAX, ret, NULL))
                return false;
        *ret = negative ? -*ret : *ret;
        return true;
}

bool priority_parse(const char *what, const json_t *value, int *ret, GError **error)
{
        g_autofree char *shown =
                json_is_string(value) ? err_shown(json_string_value(value)) : json_format(value);
        gint64 priority = G_MAXINT64;

        if (json_is_integer(value))
                priority = json_integer_value(value);
        if (json_is_string(value) && !priority_from_text(json_string_value(value), &priority))
                priority = G_MAXINT64;
        if (priority < -SPEC_PRIORITY_MAX || priority > SPEC_PRIORITY_MAX)
                return err_set(error, ERR_INVALID,
                               "%s: '%.40s' is neither a whole number from %d to %d nor one of very-low, "
                               "low, normal, "
                               "high, very-high",
                               what, shown, -SPEC_PRIORITY_MAX, SPEC_PRIORITY_MAX);
        *ret = (int)priority;
        return true;
}

/* A number between two words gets the nearer one. */
const char *priority_word(int priority)
{
        size_t best = 0;

        for (size_t i = 1; i < G_N_ELEMENTS(priorities); i++)
                if (ABS(priorities[i].priority - priority) < ABS(priorities[best].priority - priority))
                        best = i;
        return priorities[best].older;
}

static bool take_priority(Draft *draft, const json_t *object, GError **error)
{
        return !is_given(object, "priority") ||
               priority_parse("priority", json_object_get(object, "priority"), &draft->spec.priority, error);
}

/* ---- dependencies ---- */

static const char *const after_words[] = { "ok", "any", "fail", NULL };

bool after_parse(const char *text, AfterKind *ret_kind, const char **ret_job, GError **error)
{
        const char *colon = strchr(text, ':');
        g_autofree char *word = colon ? g_strndup(text, (gsize)(colon - text)) : NULL;
        g_autofree char *shown = NULL;
        int kind = word ? word_find(after_words, word) : -1;

        if (kind >= 0 && job_word_is_valid(colon + 1)) {
                *ret_kind = (AfterKind)kind;
                *ret_job = colon + 1;
                return true;
        }
        shown = err_shown(text);
        return err_set(error, ERR_INVALID, "'%.80s' is not ok:JOB, any:JOB or fail:JOB", shown);
}

static bool take_after(Draft *draft, const json_t *object, GError **error)
{
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        json_t *array = NULL;
        const json_t *item;
        size_t i;

        if (!json_get_array(object, "", "after", SPEC_AFTER_MAX, &array, error))
                return false;
        json_array_foreach(array, i, item) {
                AfterKind kind;
                const char *job;

                if (!json_is_string(item))
                        return err_set(error, ERR_INVALID, "after[%zu] must be a string such as \"ok:JOB\"",
                                       i);
                if (!after_parse(json_string_value(item), &kind, &job, error))
                        return err_prefix(error, "after[%zu]: ", i);
                g_ptr_array_add(list, g_strdup(json_string_value(item)));
        }
        draft->spec.after = draft_own(draft, g_steal_pointer(&list));
        return true;
}

/* ---- arrays ---- */

static bool take_array(Draft *draft, const json_t *object, GError **error)
{
        g_autoptr(GArray) indices = NULL;
        const char *text = NULL;
        int max = 0;

        if (!json_get_string(object, "", "array", SPEC_TEXT_MAX, &text, error))
                return false;
        if (!text)
                return true;
        if (!spec_array(text, &indices, &max, error))
                return false;
        draft->spec.array = draft_own_text(draft, spec_array_format(indices, max));
        return true;
}

/* ---- times ---- */

static bool begin_from_text(const char *text, gint64 *ret)
{
        g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(text, NULL);

        if (!time)
                return false;
        *ret = g_date_time_to_unix(time) * 1000 + (g_date_time_get_microsecond(time) + 500) / 1000;
        return true;
}

static bool take_begin(Draft *draft, const json_t *object, GError **error)
{
        const json_t *value = json_object_get(object, "begin");
        g_autofree char *shown = NULL;
        gint64 begin = -1;

        if (!is_given(object, "begin"))
                return true;
        if (json_is_integer(value))
                begin = json_integer_value(value);
        if (json_is_string(value) && !begin_from_text(json_string_value(value), &begin))
                begin = -1;
        if (begin >= 0 && begin <= begin_max) {
                draft->spec.begin = begin;
                return true;
        }
        shown = json_format(value);
        return err_set(
                error, ERR_INVALID,
                "begin: '%.60s' is neither a time such as 2026-03-01T10:00:00Z nor milliseconds since 1970",
                shown);
}

/* ---- the warning signal ---- */

static const struct {
        const char *name;
        int number;
} signals[] = {
        { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "TERM", SIGTERM }, { "INT", SIGINT },
        { "HUP", SIGHUP },   { "QUIT", SIGQUIT }, { "ALRM", SIGALRM }, { "CONT", SIGCONT },
};

static int signal_find(const char *name)
{
        const char *bare = g_str_has_prefix(name, "SIG") ? name + 3 : name;

        for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
                if (strcmp(signals[i].name, bare) == 0)
                        return signals[i].number;
        return 0;
}

static const char *signal_name(int number)
{
        for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
                if (signals[i].number == number)
                        return signals[i].name;
        return NULL;
}

static bool refuse_signal(const char *text, GError **error)
{
        g_autofree char *shown = err_shown(text);

        return err_set(error, ERR_INVALID,
                       "signal: '%.40s' is not NAME@TIME such as USR1@60s\nSignals are USR1, USR2, TERM, "
                       "INT, HUP, QUIT, "
                       "ALRM and CONT; the time is at most 1 day.",
                       shown);
}

static bool take_signal(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;
        g_auto(GStrv) parts = NULL;
        const char *text = NULL;
        gint64 ms = WARN_DEFAULT_MS;

        if (!json_get_string(object, "", "signal", SPEC_NAME_MAX, &text, error))
                return false;
        if (!text)
                return true;
        parts = g_strsplit(text, "@", 2);
        if (!parts[0] || !signal_find(parts[0]) || (parts[1] && !duration_parse("", parts[1], &ms, NULL)) ||
            ms > SPEC_DAY_MS)
                return refuse_signal(text, error);
        if (spec->time_limit_ms && ms >= spec->time_limit_ms)
                return err_set(
                        error, ERR_INVALID,
                        "signal: '%s' would be sent before the start, for time_limit is not longer\nGive a "
                        "shorter time, or a longer limit.",
                        text);
        spec->warn_signal = signal_find(parts[0]);
        spec->warn_ms = ms;
        return true;
}

/* ---- placement ---- */

static bool take_labels(Draft *draft, const json_t *object, const char *name, char ***ret, GError **error)
{
        char **list = NULL;

        if (!labels_parse(name, json_object_get(object, name), &list, error))
                return false;
        if (list)
                g_ptr_array_add(draft->lists, list);
        *ret = list;
        return true;
}

static bool take_place(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;

        if (!take_labels(draft, object, "node_labels", &spec->node_labels, error) ||
            !json_get_string(object, "", "topology", SPEC_TEXT_MAX, (const char **)&spec->topology, error) ||
            (spec->topology && !label_key_check("topology", spec->topology, error)) ||
            !json_get_bool(object, "", "topology_required", &spec->topology_required, error))
                return false;
        if (spec->topology_required && !spec->topology)
                return err_set(error, ERR_INVALID,
                               "topology_required is true, but topology is missing\nIt is the key of a "
                               "node's label.");
        return true;
}

/* ---- all ---- */

static bool take_origin(Draft *draft, const json_t *object, GError **error)
{
        json_t *origin = NULL;
        char *text;

        if (!json_get_object(object, "", "origin", SPEC_ORIGIN_MAX, &origin, error))
                return false;
        if (!origin)
                return true;
        if (!draft->foreign_kinds && json_depth(origin) > SPEC_ORIGIN_DEPTH_MAX)
                return err_set(error, ERR_INVALID, "origin is nested deeper than %d", SPEC_ORIGIN_DEPTH_MAX);
        text = draft_own_text(draft, json_format(origin));
        if (strlen(text) > SPEC_ORIGIN_MAX)
                return err_set(error, ERR_INVALID, "origin is longer than %d bytes", SPEC_ORIGIN_MAX);
        draft->spec.origin = text;
        return true;
}

static bool take_name(const json_t *object, const char *name, char **ret, GError **error)
{
        return json_get_string(object, "", name, SPEC_TEXT_MAX, (const char **)ret, error) &&
               (!*ret || name_check(name, *ret, error));
}

bool take_schedule(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;
        bool preemptable = true, requeue = true;

        if (!take_name(object, "queue", &spec->queue, error) || !take_priority(draft, object, error) ||
            !take_labels(draft, object, "labels", &spec->labels, error) ||
            !take_labels(draft, object, "annotations", &spec->annotations, error) ||
            !take_place(draft, object, error) || !take_array(draft, object, error) ||
            !take_sweep(draft, object, error) || !take_after(draft, object, error) ||
            !take_begin(draft, object, error) || !take_signal(draft, object, error) ||
            !json_get_bool(object, "", "preemptable", &preemptable, error) ||
            !take_choice(object, "on_preempt", "requeue", "end", &requeue, error) ||
            !take_name(object, "namespace", &spec->namespace, error) || !take_origin(draft, object, error))
                return false;
        spec->rigid = !preemptable;
        spec->end_evicted = !requeue;
        return true;
}

static void add_text(json_t *object, const char *name, const char *text)
{
        if (text)
                json_object_set_new(object, name, json_string(text));
}

static void add_labels(json_t *object, const char *name, char *const *labels)
{
        if (labels)
                json_object_set_new(object, name, labels_format(labels));
}

static void add_after(json_t *object, char *const *after)
{
        json_t *array = after ? json_array() : NULL;

        for (; after && *after; after++)
                json_array_append_new(array, json_string(*after));
        if (array)
                json_object_set_new(object, "after", array);
}

static void add_signal(json_t *object, const Spec *spec)
{
        gint64 ms = spec->warn_ms;
        bool whole = ms % 1000 == 0;
        g_autofree char *text = g_strdup_printf("%s@%" G_GINT64_FORMAT "%s", signal_name(spec->warn_signal),
                                                whole ? ms / 1000 : ms, whole ? "s" : "ms");

        json_object_set_new(object, "signal", json_string(text));
}

void schedule_format(const Spec *spec, json_t *object)
{
        g_autofree char *begin = spec->begin ? clock_format(spec->begin) : NULL;

        add_text(object, "queue", spec->queue);
        if (spec->priority)
                json_object_set_new(object, "priority", json_integer(spec->priority));
        add_labels(object, "labels", spec->labels);
        add_labels(object, "annotations", spec->annotations);
        add_labels(object, "node_labels", spec->node_labels);
        add_text(object, "topology", spec->topology);
        if (spec->topology_required)
                json_object_set_new(object, "topology_required", json_true());
        add_text(object, "array", spec->array);
        if (spec->sweep)
                json_object_set_new(object, "sweep", sweep_format(spec));
        add_after(object, spec->after);
        add_text(object, "begin", begin);
        if (spec->warn_signal)
                add_signal(object, spec);
        if (spec->rigid)
                json_object_set_new(object, "preemptable", json_false());
        add_text(object, "on_preempt", spec->end_evicted ? "end" : NULL);
        add_text(object, "namespace", spec->namespace);
        if (spec->origin)
                json_object_set_new(object, "origin",
                                    json_parse_own(spec->origin, strlen(spec->origin), NULL));
}
