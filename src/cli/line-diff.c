/* Lines that differ (see line-diff.h): what is equal at both ends is left out; the rest is compared by Myers' algorithm ("An
 * O(ND) Difference Algorithm and Its Variations", 1986), whose time grows with the number of lines that differ. */
#include "cli/line-diff.h"

#include <stdbool.h>
#include <string.h>

/* A text as lines. Equal lines have equal numbers. */
typedef struct {
        char **lines;
        guint32 *ids;
        guint n;
        bool *alone; /* of each line: it is only in this text */
} Side;

typedef struct {
        Side a, b;
        guint first, last; /* lines that are equal at the begin and at the end */
        GPtrArray *out;
        guint shown;  /* lines of `b` that were written or passed */
        guint behind; /* so many equal lines may follow */
        bool any;
} Diff;

static void side_read(Side *side, const char *text, GHashTable *known)
{
        side->lines = g_strsplit(text, "\n", -1);
        side->n = g_strv_length(side->lines);
        if (side->n > 0 && !*side->lines[side->n - 1]) /* the last newline ends a line */
                side->n--;
        side->ids = g_new(guint32, side->n + 1);
        side->alone = g_new0(bool, side->n + 1);
        for (guint i = 0; i < side->n; i++) {
                gpointer id;

                if (!g_hash_table_lookup_extended(known, side->lines[i], NULL, &id)) {
                        id = GUINT_TO_POINTER(g_hash_table_size(known));
                        g_hash_table_insert(known, side->lines[i], id);
                }
                side->ids[i] = GPOINTER_TO_UINT(id);
        }
}

static void side_clear(Side *side)
{
        g_strfreev(side->lines);
        g_free(side->ids);
        g_free(side->alone);
}

/* ---- which lines ---- */

/* Of the lines that are compared, the ends of the furthest ways with each number of edits: reach[d][k + d] is how many lines of
 * `a` such a way has passed on diagonal k, where it has passed k lines less of `b`. */
typedef struct {
        const guint32 *a, *b;
        int n, m;
        GPtrArray *reach; /* int *, of 2d + 1 */
} Search;

/* One edit from the ways with one edit less: a line of `b` is new, or one of `a` is gone. */
static int begin_of(const Search *search, int d, int k, bool *ret_gone)
{
        const int *last = d > 0 ? search->reach->pdata[d - 1] : NULL;
        int added = last && k < d - 1 ? last[k + d] : -1,
            gone = last && k > -d + 1 ? last[k + d - 2] + 1 : -1;

        *ret_gone = gone > added;
        return last ? MAX(added, gone) : 0;
}

/* True: this way has reached both ends. */
static bool extend(const Search *search, int d, int k, int *ways, gint64 *work)
{
        bool gone;
        int x = begin_of(search, d, k, &gone), from = x;

        while (x < search->n && x - k < search->m && search->a[x] == search->b[x - k])
                x++;
        *work += 1 + x - from;
        ways[k + d] = x;
        return x >= search->n && x - k >= search->m;
}

/* The number of edits; -1: too many. */
static int find_edits(Search *search)
{
        gint64 work = 0;

        for (int d = 0; d <= LINE_DIFF_EDITS && work <= LINE_DIFF_WORK; d++) {
                int *ways = g_new(int, 2 * d + 1);

                g_ptr_array_add(search->reach, ways);
                for (int k = -d; k <= d; k += 2)
                        if (extend(search, d, k, ways, &work))
                                return d;
                for (int k = -d + 1; k < d; k += 2) /* of the other parity: no way has this number of edits */
                        ways[k + d] = -1;
        }
        return -1;
}

/* Back from both ends, one edit after the other. */
static void mark_edits(const Search *search, int d, bool *gone, bool *added)
{
        for (int k = search->n - search->m; d > 0; d--) {
                bool is_gone;
                int x = begin_of(search, d, k, &is_gone);

                if (is_gone)
                        gone[x - 1] = true;
                else
                        added[x - k - 1] = true;
                k += is_gone ? -1 : 1;
        }
}

static void mark_all(bool *alone, guint n)
{
        for (guint i = 0; i < n; i++)
                alone[i] = true;
}

static void compare(Diff *diff)
{
        const guint first = diff->first, n = diff->a.n - first - diff->last,
                    m = diff->b.n - first - diff->last;
        g_autoptr(GPtrArray) reach = g_ptr_array_new_with_free_func(g_free);
        Search search = { diff->a.ids + first, diff->b.ids + first, (int)n, (int)m, reach };
        int edits = find_edits(&search);

        if (edits >= 0) {
                mark_edits(&search, edits, diff->a.alone + first, diff->b.alone + first);
                return;
        }
        mark_all(diff->a.alone + first, n);
        mark_all(diff->b.alone + first, m);
}

/* ---- the text ---- */

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
                put_line(diff, ' ', diff->b.lines[i]);
        diff->shown = MAX(diff->shown, k);
        diff->any = true;
}

/* An equal line behind one that differs, line `k` of `b`. */
static void put_behind(Diff *diff, guint k)
{
        if (diff->behind == 0)
                return;
        put_line(diff, ' ', diff->b.lines[k]);
        diff->shown = k + 1;
        diff->behind--;
}

static void write_lines(Diff *diff)
{
        guint i = diff->first, k = diff->first;

        while (i < diff->a.n - diff->last || k < diff->b.n - diff->last) {
                bool gone = i < diff->a.n - diff->last && diff->a.alone[i];

                if (!gone && !(k < diff->b.n && diff->b.alone[k])) {
                        put_behind(diff, k++);
                        i++;
                        continue;
                }
                put_context(diff, k);
                diff->behind = LINE_DIFF_CONTEXT;
                if (gone) {
                        put_line(diff, '-', diff->a.lines[i++]);
                } else {
                        put_line(diff, '+', diff->b.lines[k++]);
                        diff->shown = k;
                }
        }
        for (; k < diff->b.n && diff->behind > 0; k++)
                put_behind(diff, k);
}

GPtrArray *line_diff(const char *a, const char *b)
{
        Diff diff = { .out = g_ptr_array_new_with_free_func(g_free) };
        g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal); /* line -> its number */
        guint least;

        side_read(&diff.a, a, known);
        side_read(&diff.b, b, known);
        least = MIN(diff.a.n, diff.b.n);
        while (diff.first < least && diff.a.ids[diff.first] == diff.b.ids[diff.first])
                diff.first++;
        while (diff.last < least - diff.first &&
               diff.a.ids[diff.a.n - 1 - diff.last] == diff.b.ids[diff.b.n - 1 - diff.last])
                diff.last++;
        compare(&diff);
        write_lines(&diff);
        side_clear(&diff.a);
        side_clear(&diff.b);
        return diff.out;
}
