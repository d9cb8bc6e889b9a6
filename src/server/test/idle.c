/* When an idle server ends. */
#include "server/idle.h"

enum { LIMIT = 3600000 };

static void test_looks(void)
{
        static const struct {
                gint64 now;
                IdleLook seen;
                bool over;
        } looks[] = {
                { 1000, { 0, 0, 0, 0 }, false },
                { LIMIT, { 0, 0, 0, 1 }, false }, /* there was a request */
                { 2 * LIMIT - 1, { 0, 0, 0, 1 }, false },
                { 2 * LIMIT, { 0, 0, 0, 1 }, true },
                { 2 * LIMIT + 1, { 1, 0, 0, 2 }, false }, /* a job is open, also if it is held */
                { 20 * (gint64)LIMIT, { 1, 0, 0, 2 }, false },
                { 20 * (gint64)LIMIT + 1, { 0, 0, 0, 2 }, false },
                { 21 * (gint64)LIMIT - 1, { 0, 0, 1, 2 }, false }, /* a follower */
                { 30 * (gint64)LIMIT, { 0, 0, 1, 2 }, false },
                { 31 * (gint64)LIMIT - 1, { 0, 0, 0, 2 }, false },
                { 31 * (gint64)LIMIT, { 0, 0, 0, 2 }, true },
                { 40 * (gint64)LIMIT, { 0, 1, 0, 2 }, false }, /* a schedule */
                { 41 * (gint64)LIMIT - 1, { 0, 0, 0, 2 }, false },
                { 41 * (gint64)LIMIT, { 0, 0, 0, 2 }, true },
        };
        Idle idle, never;

        idle_init(&idle, LIMIT, 0);
        idle_init(&never, 0, 0);
        for (gsize i = 0; i < G_N_ELEMENTS(looks); i++) {
                g_assert_cmpint(idle_look(&idle, &looks[i].seen, looks[i].now), ==, looks[i].over);
                g_assert_false(idle_look(&never, &looks[i].seen, looks[i].now));
        }
}

static void test_step(void)
{
        static const struct {
                gint64 limit, step;
        } cases[] = { { 1, 100 }, { 5000, 500 }, { LIMIT, 60000 }, { 24 * LIMIT, 60000 } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Idle idle;

                idle_init(&idle, cases[i].limit, 0);
                g_assert_cmpint(idle_step_ms(&idle), ==, cases[i].step);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/idle/looks", test_looks);
        g_test_add_func("/idle/step", test_step);
        return g_test_run();
}
