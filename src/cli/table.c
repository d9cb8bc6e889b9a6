/* Tables (see table.h). */
#include "cli/table.h"

#include <string.h>

#include "base/err.h"
#include "base/text-cut.h"
#include "cli/paint.h"

struct Table {
        guint columns;
        char **heads;
        bool *right;
        int *widths;
        GPtrArray *cells; /* char *, row by row */
        bool head_printed;
        int max;                                  /* columns of a line; 0: unlimited */
        bool utf8;                                /* for the ellipsis */
        TableFit *fits;                           /* with `max` */
        bool *left_out;                           /* decided before the heads are printed */
        const char *(**paints)(const char *cell); /* colours of each column; NULL: none */
};

char *text_visible(const char *text)
{
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        g_autoptr(GString) out = g_string_sized_new(strlen(valid));

        for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);

                g_string_append_unichar(out, unichar_is_control(c) ? '?' : c);
        }
        return g_string_free(g_steal_pointer(&out), FALSE);
}

Table *table_new(const char *const *heads)
{
        Table *table = g_new0(Table, 1);

        table->columns = g_strv_length((char **)heads);
        table->heads = g_new0(char *, table->columns + 1);
        table->right = g_new0(bool, table->columns);
        table->widths = g_new0(int, table->columns);
        table->left_out = g_new0(bool, table->columns);
        table->paints = g_malloc0_n(table->columns, sizeof *table->paints);
        table->cells = g_ptr_array_new_with_free_func(g_free);
        for (guint i = 0; i < table->columns; i++) {
                table->right[i] = heads[i][0] == '>';
                table->heads[i] = g_strdup(heads[i] + table->right[i]);
                table->widths[i] = text_columns(table->heads[i]);
        }
        return table;
}

void table_free(Table *table)
{
        if (!table)
                return;
        g_strfreev(table->heads);
        g_free(table->right);
        g_free(table->widths);
        g_free(table->fits);
        g_free(table->left_out);
        g_free(table->paints);
        g_ptr_array_unref(table->cells);
        g_free(table);
}

void table_row(Table *table, const char *const *cells)
{
        for (guint i = 0; i < table->columns; i++) {
                char *cell = text_visible(cells[i] && *cells[i] ? cells[i] : "-");

                table->widths[i] = MAX(table->widths[i], text_columns(cell));
                g_ptr_array_add(table->cells, cell);
        }
}

void table_fit(Table *table, int width, bool utf8, const TableFit *fits)
{
        table->max = width;
        table->utf8 = utf8;
        g_free(table->fits);
        table->fits = g_memdup2(fits, table->columns * sizeof *fits);
}

void table_paint(Table *table, guint column, const char *(*paint)(const char *cell))
{
        table->paints[column] = paint;
}

/* ---- fitting the terminal ---- */

enum { GAP = 2, /* blanks between columns */ CELL_LEAST = 4 /* if all else fails */ };

static int least_width(const Table *table, guint i)
{
        int head = text_columns(table->heads[i]), min = table->fits[i].min;

        if (table->right[i])
                return table->widths[i];
        return MIN(table->widths[i], MAX(head, min > 0 ? min : TABLE_CELL_MIN));
}

static int line_width(const Table *table, const int *widths)
{
        int sum = 0;

        for (guint i = 0; i < table->columns; i++)
                sum += table->left_out[i] ? 0 : widths[i] + (sum > 0 ? GAP : 0);
        return sum;
}

/* The priority for shortening this column. */
static int readiness(const TableFit *fit)
{
        return fit->middle ? G_MAXINT : fit->spare;
}

/* The next column to shorten among those wider than `least`: the last of several; -1: none. */
static int most_spare(const Table *table, const int *widths, const int *least)
{
        int best = -1;

        for (guint i = 0; i < table->columns; i++)
                if (!table->left_out[i] && widths[i] > least[i] &&
                    (best < 0 || readiness(&table->fits[i]) >= readiness(&table->fits[best])))
                        best = (int)i;
        return best;
}

/* Leaves out columns of priority `spare` and above. */
static void leave_out(Table *table, int max, const int *least, int spare)
{
        while (line_width(table, least) > max) {
                int worst = -1;

                for (guint i = 0; i < table->columns; i++)
                        if (!table->left_out[i] && table->fits[i].spare >= spare &&
                            (worst < 0 || table->fits[i].spare >= table->fits[worst].spare))
                                worst = (int)i;
                if (worst < 0)
                        return;
                table->left_out[worst] = true;
        }
}

/* Leaves out extra columns, so that the important ones have their minimum width. */
static void leave_out_extras(Table *table, int max, const int *least)
{
        g_autofree int *wished = g_memdup2(least, table->columns * sizeof *least);

        for (guint i = 0; i < table->columns; i++)
                wished[i] = MAX(least[i], MIN(table->widths[i], table->fits[i].wish));
        leave_out(table, max, wished, TABLE_EXTRA);
}

static void shorten(const Table *table, int max, int *widths, const int *least)
{
        for (int over; (over = line_width(table, widths) - max) > 0;) {
                int i = most_spare(table, widths, least);

                if (i < 0)
                        return;
                widths[i] = MAX(least[i], widths[i] - over);
        }
}

/* The widths of the columns: their own, or less. */
static int *fitted_widths(Table *table, int max)
{
        int *widths = g_memdup2(table->widths, table->columns * sizeof *widths);
        g_autofree int *least = g_new0(int, table->columns);

        if (!table->fits || line_width(table, widths) <= max)
                return widths;
        for (guint i = 0; i < table->columns; i++)
                least[i] = least_width(table, i);
        if (!table->head_printed) {
                leave_out_extras(table, max, least);
                leave_out(table, max, least, 1);
        }
        shorten(table, max, widths, least);
        for (guint i = 0; i < table->columns; i++)
                least[i] = table->right[i] ? table->widths[i] : CELL_LEAST;
        shorten(table, max, widths, least);
        return widths;
}

static char *fitted_cell(const Table *table, guint i, const char *cell, int width)
{
        if (!table->fits)
                return g_strdup(cell);
        return table->fits[i].middle ? text_cut_middle(cell, width, table->utf8)
                                     : text_cut_columns(cell, width, table->utf8);
}

/* `paints`: functions of the columns, or NULL. */
static void print_row(const Table *table, char *const *cells, const char *(*const *paints)(const char *cell),
                      const int *widths, int indent, FILE *to)
{
        g_autoptr(GString) line = g_string_new(NULL);

        for (guint i = 0; i < table->columns; i++) {
                g_autofree char *cell = fitted_cell(table, i, cells[i], widths[i]);
                int blanks = widths[i] - text_columns(cell);
                const char *paint = paints && paints[i] ? paints[i](cells[i]) : "";

                if (table->left_out[i])
                        continue;
                g_string_append_printf(line, "%*s", table->right[i] ? blanks : 0, "");
                g_string_append_printf(line, "%s%s%s", paint, cell, *paint ? PAINT_END : "");
                g_string_append_printf(line, "%*s", (table->right[i] ? 0 : blanks) + GAP, "");
        }
        g_strchomp(line->str);
        fprintf(to, "%*s%s\n", indent, "", line->str);
}

void table_print(Table *table, int indent, FILE *to)
{
        g_autofree int *widths = fitted_widths(table, table->max - indent);

        if (!table->head_printed)
                print_row(table, table->heads, NULL, widths, indent, to);
        table->head_printed = true;
        for (guint i = 0; i < table->cells->len; i += table->columns)
                print_row(table, (char *const *)table->cells->pdata + i, table->paints, widths, indent, to);
        g_ptr_array_set_size(table->cells, 0);
}
