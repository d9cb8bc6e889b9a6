/* Indices of a job array (see spec.h): "0-999%50", "1,3,7-9", "0-90:10"; and names of arrays (array.h). */
#include "model/array.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "model/spec.h"

static gint compare_ints(gconstpointer a, gconstpointer b)
{
        int first = *(const int *)a, second = *(const int *)b;

        return (first > second) - (first < second);
}

static bool take_number(const char *text, gsize len, gint64 min, gint64 max, gint64 *ret)
{
        g_autofree char *number = g_strndup(text, len);

        return len <= 7 && number_parse("", number, min, max, ret, NULL);
}

/* The parts of "7", "7-9" or "0-90:10". */
static bool split_range(const char *text, gsize len, gint64 *first, gint64 *last, gint64 *step)
{
        const char *end = text + len, *dash = memchr(text, '-', len), *colon = memchr(text, ':', len);

        *step = 1;
        if (!dash && !colon) {
                bool ok = take_number(text, len, 0, SPEC_ARRAY_INDEX_MAX, first);

                *last = *first;
                return ok;
        }
        if (!dash || (colon && (colon < dash || !take_number(colon + 1, (gsize)(end - colon) - 1, 1,
                                                             SPEC_ARRAY_INDEX_MAX, step))))
                return false;
        end = colon ? colon : end;
        return take_number(text, (gsize)(dash - text), 0, SPEC_ARRAY_INDEX_MAX, first) &&
               take_number(dash + 1, (gsize)(end - dash) - 1, *first, SPEC_ARRAY_INDEX_MAX, last);
}

/* True for "5-2", which gets an error message of its own. */
static bool runs_backwards(const char *text, gsize len, gint64 *first, gint64 *last)
{
        const char *dash = memchr(text, '-', len), *colon = memchr(text, ':', len);
        gsize rest = dash ? (gsize)((colon && colon > dash ? colon : text + len) - dash) - 1 : 0;

        return dash && take_number(text, (gsize)(dash - text), 0, SPEC_ARRAY_INDEX_MAX, first) &&
               take_number(dash + 1, rest, 0, SPEC_ARRAY_INDEX_MAX, last) && *last < *first;
}

static bool take_range(GArray *indices, const char *text, gsize len, GError **error)
{
        gint64 first = 0, last = 0, step = 1;

        if (runs_backwards(text, len, &first, &last))
                return err_set(error, ERR_INVALID,
                               "array: '%.*s' runs backwards\nThe smaller index comes first: %d-%d.",
                               (int)MIN(len, 40), text, (int)last, (int)first);
        if (!split_range(text, len, &first, &last, &step))
                return err_set(error, ERR_INVALID,
                               "array: '%.*s' is neither an index from 0 to %d nor a range such as 0-99 or "
                               "0-90:10",
                               (int)MIN(len, 40), text, SPEC_ARRAY_INDEX_MAX);
        if (indices->len + (guint)((last - first) / step) + 1 > SPEC_ARRAY_MAX)
                return err_set(error, ERR_INVALID, "array: '%.40s' has more than %d jobs", text,
                               SPEC_ARRAY_MAX);
        for (int i = (int)first; i <= (int)last; i += (int)step)
                g_array_append_val(indices, i);
        return true;
}

static void drop_doubles(GArray *indices)
{
        guint n = 0;

        g_array_sort(indices, compare_ints);
        for (guint i = 0; i < indices->len; i++)
                if (n == 0 || g_array_index(indices, int, n - 1) != g_array_index(indices, int, i))
                        g_array_index(indices, int, n++) = g_array_index(indices, int, i);
        g_array_set_size(indices, n);
}

bool spec_array(const char *text, GArray **ret_indices, int *ret_max, GError **error)
{
        g_autoptr(GArray) indices = g_array_new(FALSE, FALSE, sizeof(int));
        const char *percent = strchr(text, '%'), *end = percent ? percent : text + strlen(text);
        gint64 max = 0;

        if (percent && !take_number(percent + 1, strlen(percent + 1), 1, SPEC_ARRAY_MAX, &max))
                return err_set(error, ERR_INVALID,
                               "array: '%.40s' after '%%' is not a number of jobs from 1 to %d", percent + 1,
                               SPEC_ARRAY_MAX);
        for (const char *at = text;; at++) {
                gsize len = strcspn(at, ",%");

                if (!take_range(indices, at, len, error))
                        return false;
                at += len;
                if (at >= end)
                        break;
        }
        drop_doubles(indices);
        *ret_indices = g_steal_pointer(&indices);
        *ret_max = (int)max;
        return true;
}

/* The number of indices from `at` on that have the distance `step`. */
static guint run_length(const GArray *indices, guint at, int step)
{
        guint n = 1;

        while (at + n < indices->len &&
               g_array_index(indices, int, at + n) - g_array_index(indices, int, at + n - 1) == step)
                n++;
        return n;
}

char *spec_array_format(const GArray *indices, int max)
{
        GString *text = g_string_new(NULL);

        for (guint i = 0, n; i < indices->len; i += n) {
                int first = g_array_index(indices, int, i);
                int step = i + 1 < indices->len ? g_array_index(indices, int, i + 1) - first : 1;

                n = run_length(indices, i, step);
                n = step > 1 && n < 3 ? 1 : n;
                g_string_append_printf(text, "%s%d", i ? "," : "", first);
                if (n > 1)
                        g_string_append_printf(text, "-%d", first + step * (int)(n - 1));
                if (n > 1 && step > 1)
                        g_string_append_printf(text, ":%d", step);
        }
        if (max)
                g_string_append_printf(text, "%%%d", max);
        return g_string_free(text, FALSE);
}

/* ---- names ---- */

void array_id_make(const char *first, char ret[ARRAY_ID_LEN + 1])
{
        g_snprintf(ret, ARRAY_ID_LEN + 1, "a%s", first);
}

const char *array_id_first(const char *text)
{
        return text[0] == 'a' && id_is_valid(text + 1) ? text + 1 : NULL;
}

char *array_name(const Job *job)
{
        const char *dash = job->array_index >= 0 ? strrchr(job->name, '-') : NULL;

        return dash ? g_strndup(job->name, (gsize)(dash - job->name)) : NULL;
}

bool element_parse(const char *text, char **ret_array, int *ret_index)
{
        const char *bracket = strchr(text, '[');
        gsize digits = bracket ? strspn(bracket + 1, "0123456789") : 0;
        gint64 index;

        if (!bracket || bracket == text || digits == 0 || strcmp(bracket + 1 + digits, "]") != 0 ||
            !take_number(bracket + 1, digits, 0, SPEC_ARRAY_INDEX_MAX, &index))
                return false;
        *ret_array = g_strndup(text, (gsize)(bracket - text));
        *ret_index = (int)index;
        return true;
}

/* Ids have the syntax of names. */
bool job_word_is_valid(const char *word)
{
        g_autofree char *array = NULL;
        int index;

        return name_is_valid(word) || (element_parse(word, &array, &index) && name_is_valid(array));
}

char *element_name(const Job *job)
{
        g_autofree char *array = array_name(job);

        return array ? g_strdup_printf("%s[%d]", array, job->array_index) : g_strdup(job->name);
}

char *job_words(const Job *job)
{
        g_autofree char *name = element_name(job);

        return g_strdup_printf("job '%s' (%s)", name, job->id);
}

/* ---- sizes and states ---- */

int array_place(const Spec *spec, int index)
{
        g_autoptr(GArray) indices = NULL;
        guint place;
        int max;

        if (!spec->array || !spec_array(spec->array, &indices, &max, NULL) ||
            !g_array_binary_search(indices, &index, compare_ints, &place))
                return -1;
        return (int)place;
}

int array_size(const Spec *spec)
{
        g_autoptr(GArray) indices = NULL;
        int max;

        return spec->array && spec_array(spec->array, &indices, &max, NULL) ? (int)indices->len : 1;
}

JobState array_state(const int counts[JOB_STATES])
{
        static const JobState order[] = { JOB_RUNNING,  JOB_STARTING,  JOB_ADMITTED,  JOB_PREEMPTING,
                                          JOB_STOPPING, JOB_QUEUED,    JOB_SUBMITTED, JOB_SUSPENDED,
                                          JOB_FAILED,   JOB_PREEMPTED, JOB_CANCELLED };

        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (counts[order[i]] > 0)
                        return order[i];
        return JOB_SUCCEEDED;
}
