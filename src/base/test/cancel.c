/* Cancellation of long operations. */
#include "base/cancel.h"

#include <errno.h>
#include <glib.h>

static bool is_given_up(void *arg)
{
        int *asked = arg;

        return ++*asked > 1;
}

static void test_nobody_asks(void)
{
        g_assert_true(cancel_check());
        cancel_end();
        g_assert_true(cancel_check());
}

static void test_given_up(void)
{
        int asked = 0;

        cancel_begin(is_given_up, &asked);
        g_assert_true(cancel_check()); /* calls the function at once */
        g_assert_cmpint(asked, ==, 1);
        while (cancel_check()) /* and again after a while */
                g_thread_yield();
        g_assert_cmpint(errno, ==, ECANCELED);
        g_assert_cmpint(asked, ==, 2);
        g_assert_false(cancel_check());
        g_assert_cmpint(asked, ==, 2); /* the result does not change */
        cancel_end();
        g_assert_true(cancel_check());
}

static void *other_thread(void *arg)
{
        return GINT_TO_POINTER(cancel_check());
}

static void test_threads_of_their_own(void)
{
        int asked = 1;

        cancel_begin(is_given_up, &asked);
        g_assert_false(cancel_check());
        g_assert_true(GPOINTER_TO_INT(g_thread_join(g_thread_new("other", other_thread, NULL))));
        cancel_end();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/base/cancel/nobody-asks", test_nobody_asks);
        g_test_add_func("/base/cancel/given-up", test_given_up);
        g_test_add_func("/base/cancel/threads", test_threads_of_their_own);
        return g_test_run();
}
