/* Scheduling flags (see submission.h; doc/guide/rest.md, "New members of a specification"). spec_parse checks
 * values that only the model knows, such as the array's text. */
#include "cli/submission.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/field.h"
#include "cli/when.h"
#include "model/spec.h"

/* ---- members ---- */

static bool put_labels(json_t *spec, const char *member, const char *what, const GPtrArray *list,
                       GError **error)
{
        json_t *object = json_object_get(spec, member);

        if (!list)
                return true;
        if (!json_is_object(object)) {
                object = json_object();
                json_object_set_new(spec, member, object);
        }
        for (guint i = 0; i < list->len; i++)
                if (!label_put(object, what, list->pdata[i], error))
                        return false;
        return true;
}

static bool put_after(json_t *spec, const GPtrArray *list, GError **error)
{
        json_t *array = json_array();

        if (list)
                json_object_set_new(spec, "after", array);
        else
                json_decref(array);
        for (guint i = 0; list && i < list->len; i++) {
                const char *text = list->pdata[i];

                if (!g_utf8_validate(text, -1, NULL))
                        return err_set(error, ERR_USAGE, "--after: a word is not UTF-8");
                if (strchr(text, ':'))
                        json_array_append_new(array, json_string(text));
                else /* the name of a job alone means its success */
                        json_array_append_new(array, json_sprintf("ok:%s", text));
        }
        return true;
}

/* A number stays a number; the model knows the words. */
static bool put_priority(json_t *spec, const char *text, GError **error)
{
        gint64 number;

        if (!text || !g_ascii_string_to_signed(text, 10, G_MININT32, G_MAXINT32, &number, NULL))
                return PUT_TEXTS(spec, error, { "priority", "--priority", text });
        json_object_set_new(spec, "priority", json_integer(number));
        return true;
}

/* Refuses empty texts, which the model would take as absent. */
static bool check_texts(const Submission *s, GError **error)
{
        const struct {
                const char *what, *text;
        } texts[] = {
                { "--queue", s->queue },           { "--priority", s->priority },
                { "--array", s->array },           { "--signal", s->signal },
                { "--flavour", s->flavour },       { "--topology", s->topology },
                { "--on-preempt", s->on_preempt }, { "--cluster", s->cluster },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                if (texts[i].text && !*texts[i].text)
                        return err_set(error, ERR_USAGE, "%s: its value is empty", texts[i].what);
        if (s->queue && s->cluster)
                return err_set(error, ERR_USAGE,
                               "--queue cannot be combined with --cluster: a queue belongs to one cluster");
        return true;
}

/* "lr=0.1,0.01" to {"lr": ["0.1", "0.01"]}. */
static bool put_parameter(json_t *sweep, const char *text, GError **error)
{
        const char *equals = strchr(text, '=');
        g_autofree char *name = equals ? g_strndup(text, (gsize)(equals - text)) : NULL;
        g_auto(GStrv) values = equals ? g_strsplit(equals + 1, ",", -1) : NULL;
        json_t *list;

        if (!equals || equals == text || !values[0] || !g_utf8_validate(text, -1, NULL))
                return err_set(error, ERR_USAGE, "--sweep: '%.80s' is not NAME=VALUE,VALUE", text);
        if (json_object_get(sweep, name))
                return err_set(error, ERR_USAGE, "--sweep: '%s' is given twice", name);
        list = json_array();
        for (char **value = values; *value; value++)
                json_array_append_new(list, json_string(*value));
        json_object_set_new(sweep, name, list);
        return true;
}

/* The number of combinations; the server refuses more than an array may have. */
static gint64 combinations(const json_t *sweep)
{
        gint64 n = 1;
        const char *name;
        json_t *values;

        json_object_foreach((json_t *)sweep, name, values)
                n = MIN(n * (gint64)json_array_size(values), G_MAXINT32);
        return n;
}

static bool put_sweep(json_t *spec, const Submission *s, GError **error)
{
        json_t *sweep = s->sweep ? json_object() : NULL;
        gint64 parallel = 0;

        if (s->sweep && s->array) {
                json_decref(sweep);
                return err_set(error, ERR_USAGE,
                               "--sweep cannot be combined with --array\n--sweep-parallel N limits how many "
                               "run at once.");
        }
        if (!sweep && !s->sweep_parallel)
                return true;
        if (sweep) {
                json_object_set_new(spec, "sweep", sweep);
                json_object_del(spec, "array"); /* of a job file */
        }
        for (guint i = 0; s->sweep && i < s->sweep->len; i++)
                if (!put_parameter(sweep, s->sweep->pdata[i], error))
                        return false;
        sweep = json_object_get(spec, "sweep");
        if (!s->sweep_parallel)
                return true;
        if (!json_is_object(sweep))
                return err_set(error, ERR_USAGE, "--sweep-parallel goes with --sweep");
        if (!number_parse("--sweep-parallel", s->sweep_parallel, 1, SPEC_ARRAY_MAX, &parallel, error))
                return false;
        json_object_set_new(spec, "array",
                            json_sprintf("0-%" G_GINT64_FORMAT "%%%" G_GINT64_FORMAT,
                                         MIN(combinations(sweep) - 1, SPEC_ARRAY_INDEX_MAX), parallel));
        return true;
}

bool submission_put_sharing(const Submission *s, json_t *spec, gint64 now, GError **error)
{
        g_autofree char *begin = s->begin ? begin_parse("--begin", s->begin, now, error) : NULL;

        if ((s->begin && !begin) || !check_texts(s, error))
                return false;
        if (s->array)
                json_object_del(spec, "sweep"); /* of a job file */
        if (s->topology_required)
                json_object_set_new(spec, "topology_required", json_true());
        if (s->no_preempt)
                json_object_set_new(spec, "preemptable", json_false());
        return PUT_TEXTS(spec, error, { "queue", "--queue", s->queue }, { "array", "--array", s->array },
                         { "begin", "--begin", begin }, { "signal", "--signal", s->signal },
                         { "on_preempt", "--on-preempt", s->on_preempt },
                         { "topology", "--topology", s->topology }) &&
               put_priority(spec, s->priority, error) &&
               put_labels(spec, "labels", "--label", s->labels, error) &&
               put_labels(spec, "annotations", "--annotation", s->annotations, error) &&
               put_labels(spec, "node_labels", "--node-label", s->node_labels, error) &&
               put_sweep(spec, s, error) && put_after(spec, s->after, error);
}

bool submission_speaks_of_role(const Submission *s)
{
        return s->min_trainers > 0 || s->flavour || s->resources;
}

bool submission_put_role(const Submission *s, json_t *role, GError **error)
{
        json_t *more = s->resources ? amounts_parse("--resources", s->resources, error) : NULL;

        if (s->resources && !more)
                return false;
        if (more)
                json_object_set_new(role, "resources", more);
        if (s->min_trainers > 0)
                json_object_set_new(role, "min", json_integer(s->min_trainers));
        return PUT_TEXTS(role, error, { "flavour", "--flavour", s->flavour });
}
