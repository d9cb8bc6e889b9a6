/* Sweeps (see sweep.h). In a Spec a parameter is one text, "NAME=V1\nV2"; values have no control
 * characters. */
#include "model/sweep.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/word.h"
#include "model/spec-draft.h"

/* ---- parsing ---- */

/* The value may be a number. The caller's; NULL with the error. */
static char *value_text(const char *name, const json_t *value, GError **error)
{
        g_autofree char *text = json_is_string(value) ? g_strdup(json_string_value(value))
                                : json_is_number(value)
                                        ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
                                        : NULL;

        if (!text) {
                err_set(error, ERR_INVALID, "sweep.%s: a value must be a string or a number", name);
                return NULL;
        }
        if (!*text || strlen(text) > SPEC_SWEEP_VALUE_MAX) {
                err_set(error, ERR_INVALID,
                        *text ? "sweep.%s: a value has more than %d bytes"
                              : "sweep.%s: a value is empty; values have 1 to %d bytes",
                        name, SPEC_SWEEP_VALUE_MAX);
                return NULL;
        }
        for (const char *at = text; *at; at++)
                if (g_ascii_iscntrl(*at)) {
                        err_set(error, ERR_INVALID,
                                "sweep.%s: a value has no line breaks or control characters", name);
                        return NULL;
                }
        return g_steal_pointer(&text);
}

/* Variables that a program, or the platform, needs in order to start. */
static bool is_vital(const char *name)
{
        static const char *const names[] = { "PATH", "HOME", "PYTHONPATH", "PYTHONHOME", NULL };

        return g_strv_contains(names, name) || g_str_has_prefix(name, "LD_") ||
               g_str_has_prefix(name, "PADDLE_");
}

static bool check_name(const char *name, const json_t *values, GError **error)
{
        g_autofree char *shown = err_shown(name);

        if (!env_name_is_valid(name, strlen(name)) || strlen(name) > 63)
                return err_set(error, ERR_INVALID,
                               "sweep: '%.64s' is not a variable's name: a letter or '_', then letters, "
                               "digits and '_'",
                               shown);
        if (is_vital(name))
                return err_set(error, ERR_INVALID,
                               "sweep: the variable '%s' has a meaning of its own, so the program would "
                               "break\nGive the parameter another name.",
                               name);
        return (json_is_array(values) && json_array_size(values) > 0) ||
               err_set(error, ERR_INVALID, "sweep.%s must be a list of values", name);
}

/* Finds duplicates in a hash table: there may be thousands of values. */
static bool take_values(GString *text, const char *name, const json_t *values, GError **error)
{
        g_autoptr(GHashTable) seen = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        gsize i;
        const json_t *value;

        json_array_foreach(values, i, value) {
                char *one = value_text(name, value, error);

                if (!one)
                        return false;
                g_string_append_printf(text, "%s%s", i ? "\n" : "", one);
                if (!g_hash_table_add(seen, one))
                        return err_set(error, ERR_INVALID, "sweep.%s: the value '%.80s' is given twice", name,
                                       strrchr(text->str, '\n') + 1);
        }
        return true;
}

/* Adds one parameter to `list`; multiplies *n. */
static bool take_parameter(GPtrArray *list, const char *name, const json_t *values, gint64 *n, GError **error)
{
        g_autoptr(GString) text = g_string_new(name);

        if (!check_name(name, values, error))
                return false;
        *n *= (gint64)json_array_size(values);
        if (*n > SPEC_ARRAY_MAX)
                return err_set(error, ERR_INVALID, "sweep: its parameters make more than %d jobs",
                               SPEC_ARRAY_MAX);
        g_string_append_c(text, '=');
        if (!take_values(text, name, values, error))
                return false;
        g_ptr_array_add(list, g_string_free(g_steal_pointer(&text), FALSE));
        return true;
}

/* The indices of a sweep are those of its combinations; "%N" of an array may limit how many run at once. */
static bool take_indices(Draft *draft, gint64 n, GError **error)
{
        g_autoptr(GArray) indices = NULL;
        g_autofree char *jobs = count_format(n, "job");
        int max = 0;

        if (!draft->spec.array) {
                draft->spec.array =
                        draft_own_text(draft, n == 1 ? g_strdup("0")
                                                     : g_strdup_printf("0-%" G_GINT64_FORMAT, n - 1));
                return true;
        }
        if (!spec_array(draft->spec.array, &indices, &max, error))
                return false;
        return ((gint64)indices->len == n && g_array_index(indices, int, n - 1) == n - 1) ||
               err_set(error, ERR_INVALID,
                       "array: '%.40s' does not fit the sweep, which makes %s\n"
                       "Leave the array out.",
                       draft->spec.array, jobs);
}

static gsize total_of(const GPtrArray *list)
{
        gsize total = 0;

        for (guint i = 0; i < list->len; i++)
                total += strlen(list->pdata[i]);
        return total;
}

/* A variable may have only one source. */
static bool check_alone(const json_t *object, const char *name, GError **error)
{
        static const char *const others[] = { "env", "secrets" };
        const json_t *role;
        gsize i;

        for (gsize k = 0; k < G_N_ELEMENTS(others); k++)
                if (json_object_get(json_object_get(object, others[k]), name))
                        return err_set(error, ERR_INVALID,
                                       "sweep.%s: %s sets the variable '%s', too\nLeave out one of them.",
                                       name, others[k], name);
        json_array_foreach(json_object_get(object, "roles"), i, role) {
                if (json_object_get(json_object_get(role, "env"), name))
                        return err_set(
                                error, ERR_INVALID,
                                "sweep.%s: roles[%zu].env sets the variable '%s', too\nLeave out one of "
                                "them.",
                                name, i, name);
        }
        return true;
}

bool take_sweep(Draft *draft, const json_t *object, GError **error)
{
        const json_t *sweep = json_object_get(object, "sweep");
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
        gint64 n = 1;
        const char *name;
        json_t *values;

        if (!sweep || json_is_null(sweep))
                return true;
        if (!json_is_object(sweep) || json_object_size(sweep) == 0 ||
            json_object_size(sweep) > SPEC_SWEEP_MAX)
                return err_set(error, ERR_INVALID,
                               "sweep must be an object of 1 to %d lists: {\"lr\": [0.1, 0.01]}",
                               SPEC_SWEEP_MAX);
        json_object_foreach((json_t *)sweep, name, values) {
                if (!check_alone(object, name, error) || !take_parameter(list, name, values, &n, error))
                        return false;
        }
        if (total_of(list) > SPEC_SWEEP_BYTES_MAX) /* each job of the sweep searches all of it */
                return err_set(error, ERR_TOO_LARGE, "sweep: its values have more than %d KiB together",
                               SPEC_SWEEP_BYTES_MAX / 1024);
        draft->spec.sweep = draft_own(draft, g_steal_pointer(&list));
        return take_indices(draft, n, error);
}

/* ---- using ---- */

/* The values of "NAME=V1\nV2"; the caller's. */
static char **values_of(const char *parameter)
{
        return g_strsplit(strchr(parameter, '=') + 1, "\n", -1);
}

static int count_of(const char *parameter)
{
        int n = 1;

        for (const char *at = parameter; (at = strchr(at, '\n')); at++)
                n++;
        return n;
}

/* The k-th value, which ends at a newline or at the end of the text. Borrowed. */
static const char *value_at(const char *parameter, int k)
{
        const char *at = strchr(parameter, '=') + 1;

        for (; k > 0; k--)
                at = strchr(at, '\n') + 1;
        return at;
}

char **sweep_values(const Spec *spec, int index)
{
        guint n = spec->sweep ? g_strv_length(spec->sweep) : 0;
        char **pairs = n ? g_new0(char *, n + 1) : NULL;

        for (guint i = n; i-- > 0;) {
                const char *parameter = spec->sweep[i];
                int size = count_of(parameter);
                const char *value = value_at(parameter, index % size);

                pairs[i] = g_strdup_printf("%.*s=%.*s", (int)(strchr(parameter, '=') - parameter), parameter,
                                           (int)strcspn(value, "\n"), value);
                index /= size;
        }
        return pairs;
}

json_t *sweep_format(const Spec *spec)
{
        json_t *object = json_object();

        for (char **at = spec->sweep; at && *at; at++) {
                g_autofree char *name = g_strndup(*at, (gsize)(strchr(*at, '=') - *at));
                g_auto(GStrv) values = values_of(*at);
                json_t *list = json_array();

                for (char **value = values; *value; value++)
                        json_array_append_new(list, json_string(*value));
                json_object_set_new(object, name, list);
        }
        return object;
}

char **sweep_labels(const Spec *spec, int index)
{
        g_auto(GStrv) pairs = sweep_values(spec, index);
        char **labels = g_strdupv(spec->labels);

        for (char **pair = pairs; pair && *pair; pair++) {
                g_autofree char *name = g_strndup(*pair, (gsize)(strchr(*pair, '=') - *pair));
                g_auto(GStrv) before = labels;

                labels = labels_with(before, name, strchr(*pair, '=') + 1);
        }
        return labels;
}
