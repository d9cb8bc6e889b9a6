/* Series: merging cells keeps the means, and the drawing has the shape of the values. */
#include "cli/series.h"

#include <math.h>
#include <string.h>

static void test_areas(void)
{
        static const gint64 ends[] = { 1, 7, 512, 513, 100000, 86400000, G_GINT64_CONSTANT(4000000000000) };

        for (gsize i = 0; i < G_N_ELEMENTS(ends); i++) {
                Series series = { 0 };
                gint64 middle = 5 + ends[i] / 3;
                double area = 0;

                series_add(&series, 5, middle, 1);
                series_add(&series, middle, 5 + ends[i], 0.5);
                series_add(&series, 9, 9, 100); /* no duration: ignored */
                for (int cell = 0; cell < SERIES_CELLS; cell++)
                        area += series.area[cell];
                g_assert_cmpfloat_with_epsilon(area,
                                               (double)(middle - 5) + 0.5 * (double)(5 + ends[i] - middle),
                                               1e-9 * (double)ends[i] + 1e-9);
                g_assert_cmpint(series.cell_ms * series.cells, >=, ends[i]);
                g_assert_cmpint(series.cells, <=, SERIES_CELLS);
        }
}

static void test_drawing(void)
{
        g_autoptr(GString) ascii = g_string_new(NULL), utf8 = g_string_new(NULL), none = g_string_new(NULL);
        Series series = { 0 }, empty = { 0 };

        series_add(&series, 1000, 3000, 1);
        series_add(&series, 3000, 5000, 0.5);
        series_add(&series, 5000, 7000, 0);
        series_draw(ascii, &series, 7000, 17, 2, false);
        series_draw(utf8, &series, 7000, 17, 2, true);
        series_draw(none, &empty, 7000, 17, 2, true);
        g_assert_cmpstr(ascii->str, ==, "100 % |###\n  0 % |######\n      +---------\n       0   6.0 s\n");
        g_assert_cmpstr(utf8->str, ==, "100 % │███\n  0 % │██████\n      └─────────\n       0   6.0 s\n");
        g_assert_cmpstr(none->str, ==, "");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/series/areas", test_areas);
        g_test_add_func("/cli/series/drawing", test_drawing);
        return g_test_run();
}
