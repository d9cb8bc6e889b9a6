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
        const Timer *self = (Timer *)source;

        /* A source that was dispatched before it in this iteration has moved it to a later time. */
        if (g_source_get_ready_time(source) > g_get_monotonic_time())
                return G_SOURCE_CONTINUE;
        g_clear_pointer((GSource **)self->at, g_source_unref);
        self->func(self->arg); /* the loop holds the source */
        return G_SOURCE_REMOVE;
}

static GSourceFuncs funcs = { .dispatch = dispatch };

void timer_set_at(Timer **timer, GMainContext *context, gint64 us, void (*func)(void *arg), void *arg)
{
        Timer *self = *timer;

        if (us < 0) {
                timer_clear(timer);
                return;
        }
        if (!self) {
                self = *timer = (Timer *)g_source_new(&funcs, sizeof *self);
                g_source_attach(&self->base, context);
        }
        self->at = timer;
        self->func = func;
        self->arg = arg;
        g_source_set_ready_time(&self->base, us);
}

void timer_set(Timer **timer, GMainContext *context, gint64 ms, void (*func)(void *arg), void *arg)
{
        timer_set_at(timer, context, ms < 0 ? -1 : g_get_monotonic_time() + ms * 1000, func, arg);
}

void timer_clear(Timer **timer)
{
        Timer *self = g_steal_pointer(timer);

        if (!self)
                return;
        g_source_destroy(&self->base);
        g_source_unref(&self->base);
}

gint64 timer_due_at(const Timer *timer)
{
        return timer ? g_source_get_ready_time((GSource *)&timer->base) : -1;
}
