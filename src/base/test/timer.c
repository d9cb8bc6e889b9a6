/* Timers: called once, at their time; set again, cleared and freed from within. */
#include "base/timer.h"

#include <stdbool.h>

typedef struct Object Object;
struct Object {
        GMainContext *context;
        Timer *timer;
        int calls;
        void (*within)(void *arg); /* or NULL */
        Object *other;             /* for `within`; or NULL */
};

static void on_timer(void *arg)
{
        Object *object = arg;

        g_assert_null(object->timer);
        g_assert_cmpint(timer_due_at(object->timer), ==, -1);
        object->calls++;
        if (object->within)
                object->within(object);
}

static Object *object_new(void)
{
        Object *object = g_new0(Object, 1);

        object->context = g_main_context_new();
        return object;
}

static void object_free(Object *object)
{
        timer_clear(&object->timer);
        g_main_context_unref(object->context);
        g_free(object);
}

static void set(Object *object, gint64 ms)
{
        timer_set(&object->timer, object->context, ms, on_timer, object);
}

/* Nothing is left to be called now. */
static void run(Object *object)
{
        while (g_main_context_iteration(object->context, FALSE)) {
        }
}

static void run_until(Object *object, int calls)
{
        while (object->calls < calls)
                g_main_context_iteration(object->context, TRUE);
        g_assert_cmpint(object->calls, ==, calls);
}

static void test_once(void)
{
        Object *object = object_new();
        gint64 due;

        timer_clear(&object->timer); /* it was never set */
        set(object, 20);
        due = timer_due_at(object->timer);
        g_assert_cmpint(due, >, 0);
        run_until(object, 1);
        g_assert_cmpint(g_get_monotonic_time(), >=, due);
        run(object);
        g_assert_cmpint(object->calls, ==, 1);
        set(object, 0);
        run_until(object, 2);
        timer_set_at(&object->timer, object->context, 1, on_timer, object); /* a time that is past */
        run_until(object, 3);
        object_free(object);
}

static void test_set_again(void)
{
        Object *object = object_new();

        set(object, 3600 * 1000);
        set(object, 0); /* sooner */
        run_until(object, 1);
        set(object, 0);
        set(object, 3600 * 1000); /* later */
        run(object);
        g_assert_cmpint(object->calls, ==, 1);
        g_assert_nonnull(object->timer);
        object_free(object);
}

static void set_other_later(void *arg)
{
        Object *other = ((Object *)arg)->other;

        set(other, 3600 * 1000);
}

/* Both are due, and the first to be called moves the other: that is not called. */
static void test_set_later_when_due(void)
{
        Object *first = object_new(), *second = object_new();

        g_main_context_unref(second->context);
        second->context = g_main_context_ref(first->context);
        first->other = second;
        first->within = set_other_later;
        set(first, 0);
        set(second, 0);
        run(first);
        g_assert_cmpint(first->calls, ==, 1);
        g_assert_cmpint(second->calls, ==, 0);
        g_assert_nonnull(second->timer);
        object_free(first);
        object_free(second);
}

static void count_ten(void *arg)
{
        *(int *)arg += 10;
}

/* The last function counts, and its argument. */
static void test_other_function(void)
{
        Object *object = object_new();
        int n = 0;

        set(object, 0);
        timer_set(&object->timer, object->context, 0, count_ten, &n);
        run(object);
        g_assert_cmpint(n, ==, 10);
        g_assert_cmpint(object->calls, ==, 0);
        object_free(object);
}

static void test_cleared(void)
{
        Object *object = object_new();

        set(object, 0);
        timer_clear(&object->timer);
        g_assert_null(object->timer);
        run(object);
        set(object, 0);
        set(object, -1);
        g_assert_null(object->timer);
        run(object);
        g_assert_cmpint(object->calls, ==, 0);
        object_free(object);
}

static void again(void *arg)
{
        Object *object = arg;

        if (object->calls < 5)
                set(object, 0);
}

static void test_again_from_within(void)
{
        Object *object = object_new();

        object->within = again;
        set(object, 0);
        run_until(object, 5);
        g_assert_null(object->timer);
        object_free(object);
}

static void free_it(void *arg)
{
        object_free(arg);
}

static void test_freed_from_within(void)
{
        Object *object = object_new();
        g_autoptr(GMainContext) context = g_main_context_ref(object->context);

        object->within = free_it;
        set(object, 0);
        while (g_main_context_iteration(context, FALSE)) {
        }
}

/* A timer clears another one that is due at the same time. */
static void clear_other(void *arg)
{
        timer_clear(arg);
}

static void test_one_clears_another(void)
{
        Object *object = object_new();
        Timer *first = NULL;

        timer_set_at(&first, object->context, 1, clear_other, &object->timer);
        timer_set_at(&object->timer, object->context, 1, on_timer, object);
        run(object);
        g_assert_null(first);
        g_assert_cmpint(object->calls, ==, 0);
        object_free(object);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/timer/once", test_once);
        g_test_add_func("/timer/set-again", test_set_again);
        g_test_add_func("/timer/set-later-when-due", test_set_later_when_due);
        g_test_add_func("/timer/other-function", test_other_function);
        g_test_add_func("/timer/cleared", test_cleared);
        g_test_add_func("/timer/again-from-within", test_again_from_within);
        g_test_add_func("/timer/freed-from-within", test_freed_from_within);
        g_test_add_func("/timer/one-clears-another", test_one_clears_another);
        return g_test_run();
}
