/* Waits with the monotonic clock (base/cond.h). */
#include "base/cond.h"

#include "base/clock.h"

typedef struct {
        pthread_mutex_t mutex;
        pthread_cond_t cond;
        bool said;
} Talk;

static gpointer say(gpointer data)
{
        Talk *talk = data;

        pthread_mutex_lock(&talk->mutex);
        talk->said = true;
        pthread_cond_signal(&talk->cond);
        pthread_mutex_unlock(&talk->mutex);
        return NULL;
}

static void talk_init(Talk *talk)
{
        *talk = (Talk){ 0 };
        pthread_mutex_init(&talk->mutex, NULL);
        cond_init(&talk->cond);
}

static void talk_clear(Talk *talk)
{
        pthread_cond_destroy(&talk->cond);
        pthread_mutex_destroy(&talk->mutex);
}

static void test_time(void)
{
        static const gint64 ahead[] = { 20, 1, 0, -5000, G_MININT64 / 2 };
        Talk talk;

        talk_init(&talk);
        pthread_mutex_lock(&talk.mutex);
        for (gsize i = 0; i < G_N_ELEMENTS(ahead); i++) {
                gint64 until = clock_monotonic_ms() + ahead[i];

                while (cond_wait_until(&talk.cond, &talk.mutex, until))
                        ;
                g_assert_cmpint(clock_monotonic_ms(), >=, until);
        }
        pthread_mutex_unlock(&talk.mutex);
        talk_clear(&talk);
}

static void test_signal(void)
{
        Talk talk;
        GThread *thread;
        bool in_time = true;

        talk_init(&talk);
        pthread_mutex_lock(&talk.mutex);
        thread = g_thread_new("say", say, &talk);
        while (!talk.said && in_time)
                in_time = cond_wait_until(&talk.cond, &talk.mutex, clock_monotonic_ms() + 600 * 1000);
        g_assert_true(talk.said && in_time);
        pthread_mutex_unlock(&talk.mutex);
        g_thread_join(thread);
        talk_clear(&talk);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cond/time", test_time);
        g_test_add_func("/cond/signal", test_signal);
        return g_test_run();
}
