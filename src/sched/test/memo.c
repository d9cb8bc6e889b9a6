/* When a remembered value may be used again (sched/memo.h). */
#include <glib.h>

#include "sched/memo.h"

static const guint64 keys[] = { MEMO_UNTIL_DROPPED, 1, 7, G_MAXUINT32, (guint64)G_MAXUINT32 + 1, G_MAXINT64 };

static void test_nothing_is_fresh_at_first(void)
{
        const Memo memo = { 0 };

        g_assert_false(memo_is_kept(&memo));
        for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
                g_assert_false(memo_fresh(&memo, keys[i]));
}

static void test_fresh_for_the_key_it_was_kept_for(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
                Memo memo = { 0 };

                memo_keep(&memo, keys[i]);
                g_assert_true(memo_is_kept(&memo));
                for (gsize j = 0; j < G_N_ELEMENTS(keys); j++)
                        g_assert_cmpint(memo_fresh(&memo, keys[j]), ==, i == j);
        }
}

static void test_the_last_key_counts(void)
{
        Memo memo = { 0 };

        memo_keep(&memo, 1);
        memo_keep(&memo, 2);
        g_assert_false(memo_fresh(&memo, 1));
        g_assert_true(memo_fresh(&memo, 2));
}

static void test_dropped(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
                Memo memo = { 0 };

                memo_keep(&memo, keys[i]);
                memo_drop(&memo);
                g_assert_false(memo_is_kept(&memo));
                g_assert_false(memo_fresh(&memo, keys[i]));
                memo_keep(&memo, keys[i]);
                g_assert_true(memo_fresh(&memo, keys[i]));
        }
}

/* Two versions are told apart, also when they swap places. */
static void test_pairs(void)
{
        Memo memo = { 0 };

        memo_keep(&memo, memo_pair(3, 5));
        g_assert_true(memo_fresh(&memo, memo_pair(3, 5)));
        g_assert_false(memo_fresh(&memo, memo_pair(5, 3)));
        g_assert_false(memo_fresh(&memo, memo_pair(3, 6)));
        g_assert_false(memo_fresh(&memo, memo_pair(4, 5)));
        g_assert_false(memo_fresh(&memo, memo_pair(0, 5)));
        memo_keep(&memo, memo_pair(G_MAXINT32, G_MAXUINT32));
        g_assert_true(memo_fresh(&memo, memo_pair(G_MAXINT32, G_MAXUINT32)));
        g_assert_false(memo_fresh(&memo, memo_pair(G_MAXINT32, G_MAXUINT32 - 1)));
}

/* The header promises it: a group of waiting jobs has several. */
static void test_size(void)
{
        g_assert_cmpuint(sizeof(Memo), ==, 8);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/memo/nothing_is_fresh_at_first", test_nothing_is_fresh_at_first);
        g_test_add_func("/memo/fresh_for_the_key_it_was_kept_for", test_fresh_for_the_key_it_was_kept_for);
        g_test_add_func("/memo/the_last_key_counts", test_the_last_key_counts);
        g_test_add_func("/memo/dropped", test_dropped);
        g_test_add_func("/memo/pairs", test_pairs);
        g_test_add_func("/memo/size", test_size);
        return g_test_run();
}
