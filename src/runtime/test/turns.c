/* Who has a turn (local/turns.h). */
#include "runtime/local/turns.h"

static char a, b, c, d;

static void one_user_has_so_many(void)
{
        Turns *turns = turns_new(2);

        g_assert_true(turns_take(turns, "ann", &a));
        g_assert_true(turns_take(turns, "ann", &b));
        g_assert_false(turns_take(turns, "ann", &c));
        g_assert_false(turns_take(turns, "ann", &d));
        g_assert_true(turns_take(turns, "bob", &a));
        g_assert_true(turns_take(turns, "bob", &b));
        g_assert_true(turns_give(turns, "ann") == &c);
        g_assert_true(turns_give(turns, "ann") == &d);
        g_assert_null(turns_give(turns, "ann"));
        g_assert_true(turns_take(turns, "ann", &a)); /* one of two is free */
        g_assert_false(turns_take(turns, "ann", &b));
        g_assert_false(turns_take(turns, "bob", &c));
        turns_free(turns);
}

static void who_is_done_begins_anew(void)
{
        Turns *turns = turns_new(1);

        for (int i = 0; i < 3; i++) {
                g_assert_true(turns_take(turns, "ann", &a));
                g_assert_false(turns_take(turns, "ann", &b));
                g_assert_true(turns_give(turns, "ann") == &b);
                g_assert_null(turns_give(turns, "ann"));
        }
        turns_free(turns);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/turns/each", one_user_has_so_many);
        g_test_add_func("/turns/anew", who_is_done_begins_anew);
        return g_test_run();
}
