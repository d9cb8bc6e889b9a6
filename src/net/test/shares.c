/* Shares of something that is bounded: takes and gives in turn, as a table. */
#include "net/shares.h"

enum { OWN = 5, ALL = 8 };

static void test_bounds(void)
{
        static const struct {
                const char *holder;
                gint64 amount; /* taken; below 0: given back */
                SharesVerdict verdict;
                gint64 own, all; /* then */
                const char *largest;
        } steps[] = {
                { "a", 0, SHARES_TAKEN, 0, 0, NULL },
                { "a", 3, SHARES_TAKEN, 3, 3, "a" },
                { "a", 3, SHARES_OWN_FULL, 3, 3, "a" },
                { "b", 5, SHARES_TAKEN, 5, 8, "b" },
                { "a", 2, SHARES_ALL_FULL, 3, 8, "b" },
                { "c", 1, SHARES_ALL_FULL, 0, 8, "b" },
                { "b", 1, SHARES_OWN_FULL, 5, 8, "b" }, /* its own bound is told first */
                { "b", -3, SHARES_TAKEN, 2, 5, "a" },
                { "c", 3, SHARES_TAKEN, 3, 8, NULL }, /* as much as a */
                { "a", -3, SHARES_TAKEN, 0, 5, "c" },
                { "c", G_MAXINT64, SHARES_OWN_FULL, 3, 5, "c" },
                { "c", -3, SHARES_TAKEN, 0, 2, "b" },
                { "b", -2, SHARES_TAKEN, 0, 0, NULL },
        };
        g_autoptr(Shares) shares = shares_new();

        for (gsize i = 0; i < G_N_ELEMENTS(steps); i++) {
                SharesVerdict verdict = SHARES_TAKEN;

                if (steps[i].amount < 0)
                        shares_give(shares, steps[i].holder, -steps[i].amount);
                else
                        verdict = shares_take(shares, steps[i].holder, steps[i].amount, OWN, ALL);
                g_assert_cmpint(verdict, ==, steps[i].verdict);
                g_assert_cmpint(shares_of(shares, steps[i].holder), ==, steps[i].own);
                g_assert_cmpint(shares_all(shares), ==, steps[i].all);
                if (steps[i].largest || steps[i].all == 0)
                        g_assert_cmpstr(shares_largest(shares), ==, steps[i].largest);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/shares/bounds", test_bounds);
        return g_test_run();
}
