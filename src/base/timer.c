/* Timers on a GMainContext (see timer.h). */
#include "base/timer.h"

struct Timer {
        GSource base;
        Timer **at; /* where its owner has it */
        void (*func)(void *arg);
        void *arg;
};

static gboolean dispatch(GSource *source, GSourceFunc unused, void *data)
{
        Timer *timer = (Timer *)source;

        g_clear_pointer((GSource **)timer->at, g_source_unref);
        timer->func(timer->arg); /* the loop holds the source */
        return G_SOURCE_REMOVE;
}

static GSourceFuncs funcs = { .dispatch = dispatch };

void timer_set_at(Timer **at, GMainContext *context, gint64 us, void (*func)(void *arg), void *arg)
{
        Timer *timer = *at;

        if (us < 0) {
                timer_clear(at);
                return;
        }
        if (!timer) {
                timer = *at = (Timer *)g_source_new(&funcs, sizeof *timer);
                g_source_attach(&timer->base, context);
        }
        timer->at = at;
        timer->func = func;
        timer->arg = arg;
        g_source_set_ready_time(&timer->base, us);
}

void timer_set(Timer **at, GMainContext *context, gint64 ms, void (*func)(void *arg), void *arg)
{
        timer_set_at(at, context, ms < 0 ? -1 : g_get_monotonic_time() + ms * 1000, func, arg);
}

void timer_clear(Timer **at)
{
        Timer *timer = g_steal_pointer(at);

        if (!timer)
                return;
        g_source_destroy(&timer->base);
        g_source_unref(&timer->base);
}

gint64 timer_due_at(const Timer *timer)
{
        return timer ? g_source_get_ready_time((GSource *)&timer->base) : -1;
}
