/* Who is asked what members use, second by second. Expected values from doc/internals/kubernetes.md: every 10 s, 4 at a
 * time and 10 nodes a second at most; one that does not answer less and less often, down to every 5 min. */
#include "runtime/kubernetes/cluster/usage-pace.h"

#include <string.h>

enum { MANY = 25 };

static char *node_name(int number)
{
        return g_strdup_printf("n%02d", number);
}

/* The seconds until a turn begins; its nodes are lined up. */
static int wait_turn(UsagePace *pace, int nodes)
{
        int seconds = 1;

        while (!usage_pace_tick(pace)) {
                g_assert_cmpint(seconds, <, 10000);
                seconds++;
        }
        for (int i = 0; i < nodes; i++) {
                g_autofree char *name = node_name(i);

                usage_pace_add(pace, name);
        }
        return seconds;
}

/* Those who are asked now; each answers at once. */
static int ask_all(UsagePace *pace)
{
        char *node;
        int n = 0;

        for (; (node = usage_pace_next(pace)); n++) {
                usage_pace_answered(pace, node);
                g_free(node);
        }
        return n;
}

static void test_turns(void)
{
        g_autoptr(UsagePace) pace = usage_pace_new();

        g_assert_null(usage_pace_next(pace));
        for (int turn = 0; turn < 3; turn++) {
                g_assert_cmpint(wait_turn(pace, 1), ==, 10);
                g_assert_cmpint(ask_all(pace), ==, 1);
        }
}

/* Each once, in the order of the line. */
static void test_at_once(void)
{
        g_autoptr(UsagePace) pace = usage_pace_new();
        char *asked[6];

        (void)wait_turn(pace, 6);
        for (int i = 0; i < 4; i++)
                asked[i] = usage_pace_next(pace);
        g_assert_null(usage_pace_next(pace));
        usage_pace_answered(pace, asked[2]);
        asked[4] = usage_pace_next(pace);
        g_assert_null(usage_pace_next(pace));
        usage_pace_answered(pace, asked[0]);
        asked[5] = usage_pace_next(pace);
        for (int i = 0; i < 6; i++) {
                g_autofree char *name = node_name(i);

                g_assert_cmpstr(asked[i], ==, name);
                g_free(asked[i]);
        }
}

static void test_each_second(void)
{
        g_autoptr(UsagePace) pace = usage_pace_new();

        (void)wait_turn(pace, MANY);
        g_assert_cmpint(ask_all(pace), ==, 10);
        g_assert_false(usage_pace_tick(pace));
        g_assert_cmpint(ask_all(pace), ==, 10);
        g_assert_false(usage_pace_tick(pace));
        g_assert_cmpint(ask_all(pace), ==, 5);
        g_assert_cmpint(wait_turn(pace, 1), ==, 8); /* of the ten seconds two are over */
}

/* No turn begins while one is asked, or in the line. */
static void test_slow(void)
{
        g_autoptr(UsagePace) pace = usage_pace_new();
        g_autofree char *slow = NULL;

        (void)wait_turn(pace, 1);
        slow = usage_pace_next(pace);
        for (int i = 0; i < 100; i++)
                g_assert_false(usage_pace_tick(pace));
        usage_pace_answered(pace, slow);
        g_assert_cmpint(wait_turn(pace, 1), ==, 1);
        for (int i = 0; i < 100; i++)
                g_assert_false(usage_pace_tick(pace));
        g_assert_cmpint(ask_all(pace), ==, 1);
}

/* The turns of which it is left out until it is asked again. */
static int turns_without(UsagePace *pace)
{
        char *node;
        int turns = -1;

        do {
                (void)wait_turn(pace, 1);
                node = usage_pace_next(pace);
                turns++;
        } while (!node);
        g_free(node);
        return turns;
}

static void test_silence(void)
{
        static const int turns[] = { 0, 1, 3, 7, 15, 30, 30 };
        g_autoptr(UsagePace) pace = usage_pace_new();

        for (gsize i = 0; i < G_N_ELEMENTS(turns); i++) {
                g_assert_cmpint(turns_without(pace), ==, turns[i]);
                usage_pace_silent(pace, "n00");
        }
        g_assert_cmpint(turns_without(pace), ==, 30);
        usage_pace_answered(pace, "n00");
        g_assert_cmpint(turns_without(pace), ==, 0);
}

/* One refusal is that of all: the rest of the line is not asked. */
static void test_denied(void)
{
        g_autoptr(UsagePace) pace = usage_pace_new();
        g_autofree char *first = NULL;

        (void)wait_turn(pace, MANY);
        first = usage_pace_next(pace);
        usage_pace_denied(pace);
        g_assert_null(usage_pace_next(pace));
        g_assert_cmpint(wait_turn(pace, 2), ==, 310); /* five minutes, and the turn after them */
        g_assert_cmpint(ask_all(pace), ==, 2);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/usage pace/turns", test_turns);
        g_test_add_func("/usage pace/at once", test_at_once);
        g_test_add_func("/usage pace/each second", test_each_second);
        g_test_add_func("/usage pace/slow", test_slow);
        g_test_add_func("/usage pace/silence", test_silence);
        g_test_add_func("/usage pace/denied", test_denied);
        return g_test_run();
}
