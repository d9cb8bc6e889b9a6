/* What is kept of attempts, and when it goes. */
#include "runtime/kubernetes/object/kept.h"

static void assert_taken(Kept *kept, gint64 now, const char *service, guint tasks)
{
        g_autoptr(KeptAttempt) attempt = kept_take(kept, now);

        g_assert_cmpstr(attempt ? attempt->service : NULL, ==, service);
        if (attempt)
                g_assert_cmpuint(attempt->tasks->len, ==, tasks);
}

static void test_order(void)
{
        Kept *kept = kept_new();

        kept_add(kept, "late", "ns", "late.1.worker.0");
        kept_add(kept, "early", "ns", "early.1.worker.0");
        kept_add(kept, "early", "ns", "early.1.worker.1");
        kept_add(kept, "runs", "ns", "runs.1.worker.0");
        g_assert_cmpint(kept_next(kept), ==, 0);
        g_assert_true(kept_set(kept, "late", 2000));
        g_assert_true(kept_set(kept, "early", 1000));
        g_assert_false(kept_set(kept, "none", 1));
        g_assert_cmpint(kept_next(kept), ==, 1000);
        assert_taken(kept, 999, NULL, 0);
        assert_taken(kept, 3000, "early", 2);
        assert_taken(kept, 3000, "late", 1);
        assert_taken(kept, 3000, NULL, 0); /* one of them runs on */
        g_assert_cmpint(kept_next(kept), ==, 0);
        kept_free(kept);
}

/* After a restart it is said of each member again. */
static void test_said_again(void)
{
        Kept *kept = kept_new();

        kept_add(kept, "a", "ns", "a.1.worker.0");
        g_assert_true(kept_set(kept, "a", 1000));
        kept_add(kept, "a", "ns", "a.1.worker.1");
        kept_add(kept, "a", "ns", "a.1.worker.0");
        g_assert_true(kept_set(kept, "a", 500));
        g_assert_cmpint(kept_next(kept), ==, 500);
        assert_taken(kept, 500, "a", 2);
        g_assert_false(kept_set(kept, "a", 1000));
        kept_free(kept);
}

static void test_never(void)
{
        Kept *kept = kept_new();

        kept_add(kept, "a", "ns", "a.1.worker.0");
        g_assert_true(kept_set(kept, "a", G_MAXINT64));
        g_assert_cmpint(kept_next(kept), ==, 0);
        assert_taken(kept, G_MAXINT64, NULL, 0);
        kept_free(kept);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kept/order", test_order);
        g_test_add_func("/kept/said-again", test_said_again);
        g_test_add_func("/kept/never", test_never);
        return g_test_run();
}
