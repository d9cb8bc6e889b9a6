/* Work on threads: its end comes on the loop's thread, or not at all; what it has is freed once. */
#include "runtime/kubernetes/image/aside.h"

typedef struct {
        GMainLoop *loop;
        GThread *home;
        gint worked, done, dropped; /* how often; atomic */
} Count;

static void work(void *arg)
{
        Count *count = arg;

        g_assert_true(g_thread_self() != count->home);
        g_atomic_int_inc(&count->worked);
}

static void done(void *arg)
{
        Count *count = arg;

        g_assert_true(g_thread_self() == count->home);
        g_atomic_int_inc(&count->done);
}

static void drop(void *arg)
{
        Count *count = arg;

        g_atomic_int_inc(&count->dropped);
        g_main_context_wakeup(g_main_loop_get_context(count->loop));
}

static void run_until_dropped(Count *count, int n)
{
        GMainContext *context = g_main_loop_get_context(count->loop);

        while (g_atomic_int_get(&count->dropped) < n)
                g_main_context_iteration(context, TRUE);
}

static Count count_new(GMainContext *context)
{
        return (Count){ .loop = g_main_loop_new(context, FALSE), .home = g_thread_self() };
}

static void test_run(void)
{
        GMainContext *context = g_main_context_new();
        Count count = count_new(context);

        for (int i = 0; i < 20; i++)
                (void)aside_run(context, &(AsideWork){ work, done, drop, &count });
        run_until_dropped(&count, 20);
        g_assert_cmpint(count.worked, ==, 20);
        g_assert_cmpint(count.done, ==, 20);
        g_main_loop_unref(count.loop);
        g_main_context_unref(context);
}

static void test_cancel(void)
{
        GMainContext *context = g_main_context_new();
        Count count = count_new(context);
        Aside *aside = aside_run(context, &(AsideWork){ work, done, drop, &count });

        aside_cancel(aside);
        aside_cancel(NULL);
        run_until_dropped(&count, 1);
        g_assert_cmpint(count.worked, ==, 1);
        g_assert_cmpint(count.done, ==, 0);
        g_main_loop_unref(count.loop);
        g_main_context_unref(context);
}

static GMutex gate;

static void wait_at_gate(void *arg)
{
        g_mutex_lock(&gate);
        g_mutex_unlock(&gate);
}

static void drop_alone(void *arg)
{
        g_atomic_int_inc((gint *)arg);
}

/* Whoever began it has ended, with the loop. */
static void test_without_a_loop(void)
{
        GMainContext *context = g_main_context_new();
        gint dropped = 0;

        g_mutex_lock(&gate);
        aside_cancel(aside_run(context, &(AsideWork){ wait_at_gate, done, drop_alone, &dropped }));
        g_main_context_unref(context);
        g_mutex_unlock(&gate);
        while (!g_atomic_int_get(&dropped))
                g_thread_yield();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/aside/run", test_run);
        g_test_add_func("/aside/cancel", test_cancel);
        g_test_add_func("/aside/without-a-loop", test_without_a_loop);
        return g_test_run();
}
