/* Delays between attempts: how they grow, where they end, and what they do at the limits of their type. */
#include "base/backoff.h"

enum { FIRST = 1000, MOST = 30000 };

static void test_growth(void)
{
        Backoff backoff = { .first = FIRST, .max = MOST };
        const gint64 expected[] = { 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000 };

        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                g_assert_cmpint(backoff_next(&backoff), ==, expected[i]);
                g_assert_cmpint(backoff.last, ==, expected[i]);
                g_assert_cmpint(backoff_delay(FIRST, MOST, i), ==, expected[i]);
        }
        backoff_reset(&backoff);
        g_assert_cmpint(backoff.last, ==, 0);
        g_assert_cmpint(backoff_next(&backoff), ==, 1000);
        g_assert_cmpint(backoff_next(&backoff), ==, 2000);
}

static void test_limits(void)
{
        static const struct {
                gint64 first, max;
                guint64 failures;
                gint64 delay;
        } cases[] = {
                { 0, 300, 0, 1 }, /* a first delay below 1 counts as 1 */
                { -5, 300, 0, 1 },
                { 0, 300, 3, 8 },
                { 500, 500, 0, 500 },
                { 500, 500, 7, 500 },
                { 500, 100, 0, 100 }, /* the maximum wins */
                { 7, 0, 0, 0 },
                { 100, 199, 1, 199 },
                { 100, 200, 1, 200 },
                { 100, 201, 1, 200 },
                { 1, G_MAXINT64, 62, G_GINT64_CONSTANT(1) << 62 },
                { 1, G_MAXINT64, 63, G_MAXINT64 },
                { 2, G_MAXINT64, 62, G_MAXINT64 },
                { 3, G_MAXINT64, 61, G_GINT64_CONSTANT(3) << 61 },
                { 1, 5000, 64, 5000 },
                { 1, 5000, G_MAXUINT64, 5000 },
                { G_MAXINT64, G_MAXINT64, 1, G_MAXINT64 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(backoff_delay(cases[i].first, cases[i].max, cases[i].failures), ==,
                                cases[i].delay);
}

/* One that is asked for ever stays at its maximum, however large that is. */
static void test_saturation(void)
{
        static const gint64 maxima[] = { 1, 30000, G_MAXINT64 };

        for (size_t i = 0; i < G_N_ELEMENTS(maxima); i++) {
                Backoff backoff = { .first = 1, .max = maxima[i] };
                gint64 before = 0;

                for (int n = 0; n < 200; n++) {
                        gint64 delay = backoff_next(&backoff);

                        g_assert_cmpint(delay, >=, MAX(before, 1));
                        g_assert_cmpint(delay, <=, maxima[i]);
                        before = delay;
                }
                g_assert_cmpint(before, ==, maxima[i]);
        }
}

static void test_zero_first(void)
{
        Backoff backoff = { .first = 0, .max = 3 };

        g_assert_cmpint(backoff_next(&backoff), ==, 1);
        g_assert_cmpint(backoff_next(&backoff), ==, 2);
        g_assert_cmpint(backoff_next(&backoff), ==, 3);
}

static void test_spread(void)
{
        static const gint64 delays[] = { 0, 1, 2, 100, 101, G_MAXINT32, G_MAXINT64 };

        for (size_t i = 0; i < G_N_ELEMENTS(delays); i++)
                for (int n = 0; n < 1000; n++) {
                        gint64 delay = backoff_spread(delays[i]);

                        g_assert_cmpint(delay, >=, delays[i] / 2);
                        g_assert_cmpint(delay, <=, delays[i]);
                }
}

/* 1000 draws of the 51 delays that may come. */
static void test_spread_differs(void)
{
        gint64 least = G_MAXINT64, most = 0;

        for (int n = 0; n < 1000; n++) {
                gint64 delay = backoff_spread(100);

                least = MIN(least, delay);
                most = MAX(most, delay);
        }
        g_assert_cmpint(least, <, 60);
        g_assert_cmpint(most, >, 90);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/backoff/growth", test_growth);
        g_test_add_func("/backoff/limits", test_limits);
        g_test_add_func("/backoff/saturation", test_saturation);
        g_test_add_func("/backoff/zero-first", test_zero_first);
        g_test_add_func("/backoff/spread", test_spread);
        g_test_add_func("/backoff/spread-differs", test_spread_differs);
        return g_test_run();
}
