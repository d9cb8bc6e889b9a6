/* Indices of a job array (see spec.h): "0-999%50", "1,3,7-9". */
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

/* "7" or "7-9". */
static bool take_range(GArray *indices, const char *text, gsize len, GError **error)
{
        const char *dash = memchr(text, '-', len);
        gsize first_len = dash ? (gsize)(dash - text) : len;
        gint64 first = 0, last = 0;

        if (!take_number(text, first_len, 0, SPEC_ARRAY_INDEX_MAX, &first) ||
            !take_number(dash ? dash + 1 : text, dash ? len - first_len - 1 : len, first,
                         SPEC_ARRAY_INDEX_MAX, &last))
                return err_set(error, ERR_INVALID,
                               "array: '%.*s' is neither an index from 0 to %d nor a range such as 0-99",
                               (int)MIN(len, 40), text, SPEC_ARRAY_INDEX_MAX);
        if (indices->len + (guint)(last - first) + 1 > SPEC_ARRAY_MAX)
                return err_set(error, ERR_INVALID, "array: '%.40s' has more than %d jobs", text,
                               SPEC_ARRAY_MAX);
        for (int i = (int)first; i <= (int)last; i++)
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
                               "array: '%.40s' after '%%' is not how many run at once, from 1 to %d",
                               percent + 1, SPEC_ARRAY_MAX);
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
