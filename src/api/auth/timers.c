/* A line in order of times (see timers.h). */
#include "api/auth/timers.h"

typedef struct {
        gint64 due; /* monotonic us */
        TimerFunc func;
        void *arg;
} Waiter;

struct Timers {
        GMutex mutex; /* of what follows */
        GCond changed;
        GQueue waiters; /* the earliest first */
        GThread *thread;
        bool stopped;
};

Timers *timers_new(void)
{
        Timers *timers = g_new0(Timers, 1);

        g_mutex_init(&timers->mutex);
        g_cond_init(&timers->changed);
        return timers;
}

static void call(Waiter *waiter, bool stopped)
{
        waiter->func(stopped, waiter->arg);
        g_free(waiter);
}

/* Called with the mutex held; releases it during the call of the waiter. */
static void call_next(Timers *timers)
{
        Waiter *waiter = g_queue_pop_head(&timers->waiters);

        g_mutex_unlock(&timers->mutex);
        call(waiter, false);
        g_mutex_lock(&timers->mutex);
}

static void *run(void *arg)
{
        Timers *timers = arg;

        g_mutex_lock(&timers->mutex);
        while (!timers->stopped) {
                const Waiter *first = g_queue_peek_head(&timers->waiters);

                if (!first)
                        g_cond_wait(&timers->changed, &timers->mutex);
                else if (first->due <= g_get_monotonic_time())
                        call_next(timers);
                else
                        (void)g_cond_wait_until(&timers->changed, &timers->mutex, first->due);
        }
        g_mutex_unlock(&timers->mutex);
        return NULL;
}

void timers_stop(Timers *timers)
{
        GThread *thread;
        Waiter *waiter;

        g_mutex_lock(&timers->mutex);
        timers->stopped = true;
        thread = g_steal_pointer(&timers->thread);
        g_cond_broadcast(&timers->changed);
        g_mutex_unlock(&timers->mutex);
        if (thread)
                g_thread_join(thread);
        while ((waiter = g_queue_pop_head(&timers->waiters))) /* no more are added */
                call(waiter, true);
}

void timers_free(Timers *timers)
{
        if (!timers)
                return;
        timers_stop(timers);
        g_cond_clear(&timers->changed);
        g_mutex_clear(&timers->mutex);
        g_free(timers);
}

static gint by_due(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Waiter *one = a, *two = b;

        return one->due <= two->due ? -1 : 1; /* of equal ones the first that came */
}

void timers_add(Timers *timers, gint64 wait_ms, TimerFunc func, void *arg)
{
        Waiter *waiter = g_new(Waiter, 1);
        bool stopped;

        *waiter = (Waiter){ g_get_monotonic_time() + wait_ms * 1000, func, arg };
        g_mutex_lock(&timers->mutex);
        stopped = timers->stopped;
        if (!stopped) {
                g_queue_insert_sorted(&timers->waiters, waiter, by_due, NULL);
                if (!timers->thread)
                        timers->thread = g_thread_new("log-in timers", run, timers);
                g_cond_signal(&timers->changed);
        }
        g_mutex_unlock(&timers->mutex);
        if (stopped)
                call(waiter, true);
}
