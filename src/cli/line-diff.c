/* Lines that differ (see line-diff.h): what is equal at both ends is left out; the rest is compared by the longest common
 * subsequence. */
#include "cli/line-diff.h"

#include <stdbool.h>
#include <string.h>

typedef struct {
        char **a, **b;
        guint first;      /* lines that are equal at the begin */
        guint n, m;       /* lines behind them that are compared */
        guint32 *lengths; /* (n + 1) * (m + 1): of the longest common subsequence of the rests */
        GPtrArray *out;
        guint shown;  /* lines of `b` that were written or passed */
        guint behind; /* so many equal lines may follow */
        bool any;
} Diff;

static char **lines_of(const char *text, guint *ret_n)
{
        char **lines = g_strsplit(text, "\n", -1);

        *ret_n = g_strv_length(lines);
        if (*ret_n > 0 && !*lines[*ret_n - 1]) /* the last newline ends a line */
                (*ret_n)--;
        return lines;
}

static guint32 *length_at(const Diff *diff, guint i, guint k)
{
        return &diff->lengths[(gsize)i * (diff->m + 1) + k];
}

static bool same(const Diff *diff, guint i, guint k)
{
        return strcmp(diff->a[diff->first + i], diff->b[diff->first + k]) == 0;
}

static void measure(Diff *diff)
{
        diff->lengths = g_new0(guint32, (gsize)(diff->n + 1) * (diff->m + 1));
        for (guint i = diff->n; i-- > 0;)
                for (guint k = diff->m; k-- > 0;)
                        *length_at(diff, i, k) = same(diff, i, k) ? *length_at(diff, i + 1, k + 1) + 1
                                                                  : MAX(*length_at(diff, i + 1, k),
                                                                        *length_at(diff, i, k + 1));
}

static void put_line(Diff *diff, char sign, const char *line)
{
        g_ptr_array_add(diff->out, g_strdup_printf("%c%s", sign, line));
}

/* Before a line that differs, line `k` of `b`: the equal lines in front of it, and where that is. */
static void put_context(Diff *diff, guint k)
{
        guint from = MAX(k > LINE_DIFF_CONTEXT ? k - LINE_DIFF_CONTEXT : 0, diff->shown);

        if (!diff->any || from > diff->shown)
                g_ptr_array_add(diff->out, g_strdup_printf("@@ line %u", from + 1));
        for (guint i = from; i < k; i++)
                put_line(diff, ' ', diff->b[i]);
        diff->shown = MAX(diff->shown, k);
        diff->any = true;
}

/* An equal line behind one that differs, line `k` of `b`. */
static void put_behind(Diff *diff, guint k)
{
        if (diff->behind == 0)
                return;
        put_line(diff, ' ', diff->b[k]);
        diff->shown = k + 1;
        diff->behind--;
}

/* The next line of `a` is not in `b`, rather than the other way round. */
static bool is_removed(const Diff *diff, guint i, guint k)
{
        return i < diff->n &&
               (k == diff->m || !diff->lengths || *length_at(diff, i + 1, k) >= *length_at(diff, i, k + 1));
}

/* `end` is the number of lines of `b`. */
static void write_lines(Diff *diff, guint end)
{
        guint i = 0, k = 0;

        while (i < diff->n || k < diff->m) {
                guint at = diff->first + k;

                if (diff->lengths && i < diff->n && k < diff->m && same(diff, i, k)) {
                        put_behind(diff, at);
                        i++;
                        k++;
                        continue;
                }
                put_context(diff, at);
                diff->behind = LINE_DIFF_CONTEXT;
                if (is_removed(diff, i, k)) {
                        put_line(diff, '-', diff->a[diff->first + i++]);
                } else {
                        put_line(diff, '+', diff->b[at]);
                        diff->shown = at + 1;
                        k++;
                }
        }
        for (guint at = diff->first + diff->m; at < end && diff->behind > 0; at++)
                put_behind(diff, at);
}

GPtrArray *line_diff(const char *a, const char *b)
{
        guint n, m, last = 0;
        Diff diff = { .out = g_ptr_array_new_with_free_func(g_free) };
        g_auto(GStrv) left = lines_of(a, &n), right = lines_of(b, &m);

        diff.a = left;
        diff.b = right;
        while (diff.first < MIN(n, m) && strcmp(left[diff.first], right[diff.first]) == 0)
                diff.first++;
        while (last < MIN(n, m) - diff.first && strcmp(left[n - 1 - last], right[m - 1 - last]) == 0)
                last++;
        diff.n = n - diff.first - last;
        diff.m = m - diff.first - last;
        if ((guint64)(diff.n + 1) * (diff.m + 1) <= LINE_DIFF_CELLS)
                measure(&diff);
        if (diff.n + diff.m > 0)
                write_lines(&diff, m);
        g_free(diff.lengths);
        return diff.out;
}
