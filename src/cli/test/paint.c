/* Colours of states. */
#include "cli/paint.h"

static void test_states(void)
{
        g_autofree char *failed = state_text("failed", TRUE), *plain = state_text("failed", FALSE);
        g_autofree char *unknown = state_text("odd", TRUE);

        g_assert_cmpstr(failed, ==, "\033[31mfailed\033[0m");
        g_assert_cmpstr(plain, ==, "failed");
        g_assert_cmpstr(unknown, ==, "odd");
        g_assert_cmpstr(state_paint("running"), ==, "\033[32m");
        g_assert_cmpstr(state_paint("succeeded"), ==, "\033[32m");
        g_assert_cmpstr(state_paint("queued"), ==, "\033[33m");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/paint/states", test_states);
        return g_test_run();
}
