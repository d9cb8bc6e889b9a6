/* What waits for its time. */
#include "api/auth/timers.h"

#include <string.h>

typedef struct {
        GMutex mutex;
        GCond changed;
        GString *called; /* a letter each; capital: stopped */
} Calls;

typedef struct {
        Calls *calls;
        char letter;
} Call;

static void on_turn(bool stopped, void *arg)
{
        g_autofree Call *call = arg;

        g_mutex_lock(&call->calls->mutex);
        g_string_append_c(call->calls->called, stopped ? g_ascii_toupper(call->letter) : call->letter);
        g_cond_signal(&call->calls->changed);
        g_mutex_unlock(&call->calls->mutex);
}

static void add(Timers *timers, Calls *calls, char letter, gint64 wait_ms)
{
        Call *call = g_new(Call, 1);

        *call = (Call){ calls, letter };
        timers_add(timers, wait_ms, on_turn, call);
}

static void wait_called(Calls *calls, gsize n)
{
        g_mutex_lock(&calls->mutex);
        while (calls->called->len < n)
                g_cond_wait(&calls->changed, &calls->mutex);
        g_mutex_unlock(&calls->mutex);
}

static void test_in_order_of_time(void)
{
        Calls calls = { .called = g_string_new(NULL) };
        Timers *timers = timers_new();

        add(timers, &calls, 'c', 600000);
        add(timers, &calls, 'b', 300);
        add(timers, &calls, 'a', 0);
        wait_called(&calls, 2);
        g_assert_cmpstr(calls.called->str, ==, "ab");
        timers_stop(timers);
        g_assert_cmpstr(calls.called->str, ==, "abC");
        add(timers, &calls, 'd', 600000);
        g_assert_cmpstr(calls.called->str, ==, "abCD");
        timers_free(timers);
        g_string_free(calls.called, TRUE);
}

static void test_nobody_waits(void)
{
        timers_free(timers_new());
        timers_free(NULL);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/timers/in-order-of-time", test_in_order_of_time);
        g_test_add_func("/timers/nobody-waits", test_nobody_waits);
        return g_test_run();
}
