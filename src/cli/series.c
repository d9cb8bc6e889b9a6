/* Series (see series.h). When the cells are full, pairs are merged, and each cell covers twice the time. */
#include "cli/series.h"

#include <string.h>

#include "base/number.h"

enum { SCALE_COLUMNS = 8 };

static void fold(Series *series)
{
        for (int i = 0; i < SERIES_CELLS / 2; i++)
                series->area[i] = series->area[2 * i] + series->area[2 * i + 1];
        memset(series->area + SERIES_CELLS / 2, 0, sizeof(series->area) / 2);
        series->cell_ms *= 2;
        series->cells = (series->cells + 1) / 2;
}

void series_add(Series *series, gint64 from, gint64 to, double value)
{
        if (to <= from)
                return;
        if (series->cell_ms == 0) {
                series->start = from;
                series->cell_ms = 1;
        }
        series->end = to;
        while (to - series->start > series->cell_ms * SERIES_CELLS)
                fold(series);
        while (from < to) {
                int cell = (int)((from - series->start) / series->cell_ms);
                gint64 end = MIN(series->start + (cell + 1) * series->cell_ms, to);

                series->area[cell] += value * (double)(end - from);
                series->cells = MAX(series->cells, cell + 1);
                from = end;
        }
}

/* The mean from `from` to `to`; partial cells count in proportion. */
static double mean(const Series *series, double from, double to)
{
        double area = 0, whole = (double)(series->end - series->start);

        for (int i = (int)(from / (double)series->cell_ms); i < series->cells; i++) {
                double begin = (double)i * (double)series->cell_ms;
                double end = MIN(begin + (double)series->cell_ms, whole); /* may be partial */

                if (begin >= to || end <= begin)
                        break;
                area += series->area[i] * MAX(MIN(end, to) - MAX(begin, from), 0) / (end - begin);
        }
        return to > from ? area / (to - from) : 0;
}

static void append_cell(GString *out, double eighths, bool utf8)
{
        static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        int full = CLAMP((int)(eighths + 0.5), 0, 8);

        g_string_append(out, utf8 ? blocks[full] : full >= 4 ? "#" : full > 0 ? "." : " ");
}

static void append_row(GString *out, const double *means, int columns, int row, int rows, bool utf8)
{
        if (row == rows - 1)
                g_string_append(out, "100 % ");
        else if (row == 0)
                g_string_append(out, "  0 % ");
        else
                g_string_append(out, "      ");
        g_string_append(out, utf8 ? "│" : "|");
        for (int i = 0; i < columns; i++)
                append_cell(out, (means[i] * rows - row) * 8, utf8);
        while (out->len > 0 && out->str[out->len - 1] == ' ')
                g_string_truncate(out, out->len - 1);
        g_string_append_c(out, '\n');
}

void series_draw(GString *out, const Series *series, gint64 end, int columns, int rows, bool utf8)
{
        int cells = columns - SCALE_COLUMNS;
        double whole = (double)(end - series->start);
        g_autofree double *means = NULL;
        g_autofree char *last = duration_format(end - series->start);

        if (series->cell_ms == 0 || end <= series->start || cells < 1)
                return;
        means = g_new(double, (gsize)cells);
        for (int i = 0; i < cells; i++)
                means[i] = mean(series, whole * i / cells, whole * (i + 1) / cells);
        for (int row = rows - 1; row >= 0; row--)
                append_row(out, means, cells, row, rows, utf8);
        g_string_append(out, utf8 ? "      └" : "      +");
        for (int i = 0; i < cells; i++)
                g_string_append(out, utf8 ? "─" : "-");
        g_string_append_printf(out, "\n       0%*s\n", cells - 1, last);
}
