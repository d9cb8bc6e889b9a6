/* The random seed of tests, and whether they run their long form. */
#include "base/test/seed.h"

static void test_soak(void)
{
        static const struct {
                const char *text;
                bool soak;
        } cases[] = { { NULL, false }, { "", false }, { "0", false }, { "1", true }, { "yes", true } };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(soak_parse(cases[i].text), ==, cases[i].soak);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/seed/soak", test_soak);
        return g_test_run();
}
