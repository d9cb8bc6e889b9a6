/* Which commands one batch takes (engine/inbox.h). Waits that must end by themselves have a deadline of ten minutes. */
#include "engine/inbox.h"

static const CommandOps ops = { .name = "test", .size = sizeof(Command) };

static gint64 far_us(void)
{
        return g_get_monotonic_time() + G_GINT64_CONSTANT(600) * 1000000;
}

static void answered(Job *job, bool repeated, const GError *error, void *arg)
{
}

static void put(Inbox *inbox, int n)
{
        for (int i = 0; i < n; i++)
                inbox_put(inbox, command_new(&ops, answered, NULL));
}

static void put_observation(Inbox *inbox)
{
        inbox_put(inbox, command_new(&ops, NULL, NULL));
}

/* The number of commands that one inbox_take moves, -1: it is closing. */
static int take(Inbox *inbox, guint max, gint64 until_ms)
{
        GQueue queue = G_QUEUE_INIT;
        bool open = inbox_take(inbox, max, until_ms, &queue);
        int n = (int)queue.length;

        while (queue.length > 0)
                command_free(g_queue_pop_head(&queue));
        return open ? n : -1;
}

static gpointer put_three(gpointer inbox)
{
        for (int i = 0; i < 3; i++) {
                put(inbox, 1);
                g_thread_yield();
        }
        return NULL;
}

static void test_expected_share_a_batch(void)
{
        for (int round = 0; round < 200; round++) {
                Inbox inbox;
                GThread *thread;

                inbox_init(&inbox);
                put(&inbox, 1);
                inbox_expect(&inbox, 3, far_us());
                thread = g_thread_new("put", put_three, &inbox);
                g_assert_cmpint(take(&inbox, 512, -1), ==, 4);
                g_thread_join(thread);
                put(&inbox, 1);
                g_assert_cmpint(take(&inbox, 512, -1), ==, 1); /* the expectation was for one batch */
                inbox_clear(&inbox);
        }
}

static void test_no_wait(void)
{
        static const struct {
                int waiting;
                guint expected, max;
                bool late;
                gint64 until_ms;
                int want;
        } cases[] = {
                { 1, 0, 512, .until_ms = -1, .want = 1 },               /* nothing is expected */
                { 1, 3, 512, .late = true, .until_ms = -1, .want = 1 }, /* no longer */
                { 1, 3, 512, .until_ms = 0, .want = 1 },                /* a timer is due */
                { 0, 3, 512, .until_ms = 0, .want = 0 },
                { 2, 3, 1, .until_ms = -1, .want = 1 }, /* one by one */
                { 0, 3, 512, .late = true, .until_ms = 1, .want = 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Inbox inbox;

                inbox_init(&inbox);
                put(&inbox, cases[i].waiting);
                inbox_expect(&inbox, cases[i].expected, cases[i].late ? 0 : far_us());
                g_assert_cmpint(take(&inbox, cases[i].max, cases[i].until_ms), ==, cases[i].want);
                inbox_clear(&inbox);
        }
}

/* A caller that is alone, one after the other. */
static void test_one_caller(void)
{
        Inbox inbox;

        inbox_init(&inbox);
        inbox_expect(&inbox, 1, far_us());
        put(&inbox, 1);
        g_assert_cmpint(take(&inbox, 512, -1), ==, 1);
        inbox_clear(&inbox);
}

/* What a runtime has observed is not held up. */
static void test_observation(void)
{
        Inbox inbox;

        inbox_init(&inbox);
        put(&inbox, 1);
        put_observation(&inbox);
        inbox_expect(&inbox, 3, far_us());
        g_assert_cmpint(take(&inbox, 512, -1), ==, 2);
        inbox_expect(&inbox, 3, far_us());
        put(&inbox, 1);
        put_observation(&inbox);
        g_assert_cmpint(take(&inbox, 512, -1), ==, 2);
        inbox_clear(&inbox);
}

static gpointer observe(gpointer inbox)
{
        put_observation(inbox);
        return NULL;
}

static gpointer poke(gpointer inbox)
{
        inbox_poke(inbox);
        return NULL;
}

static gpointer close_it(gpointer inbox)
{
        inbox_close(inbox);
        return NULL;
}

static void test_interrupted(void)
{
        static const struct {
                GThreadFunc by;
                int want;
        } cases[] = { { poke, 1 }, { observe, 2 }, { close_it, -1 } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Inbox inbox;
                GThread *thread;

                inbox_init(&inbox);
                put(&inbox, 1);
                inbox_expect(&inbox, 3, far_us());
                thread = g_thread_new("other", cases[i].by, &inbox);
                g_assert_cmpint(take(&inbox, 512, -1), ==, cases[i].want);
                g_thread_join(thread);
                inbox_clear(&inbox);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/inbox/expected-share-a-batch", test_expected_share_a_batch);
        g_test_add_func("/inbox/no-wait", test_no_wait);
        g_test_add_func("/inbox/one-caller", test_one_caller);
        g_test_add_func("/inbox/observation", test_observation);
        g_test_add_func("/inbox/interrupted", test_interrupted);
        return g_test_run();
}
