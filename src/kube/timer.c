/* A timer on a GMainContext (see timer.h). */
#include "kube/timer.h"

struct KubeTimer {
        GSource base;
        void (*func)(void *arg);
        void *arg;
};

static gboolean dispatch(GSource *source, GSourceFunc unused, void *data)
{
        KubeTimer *timer = (KubeTimer *)source;

        g_source_set_ready_time(source, -1);
        timer->func(timer->arg); /* the loop holds the source, so it may free itself */
        return G_SOURCE_CONTINUE;
}

static GSourceFuncs funcs = { .dispatch = dispatch };

KubeTimer *kube_timer_new(GMainContext *context, void (*func)(void *arg), void *arg)
{
        KubeTimer *timer = (KubeTimer *)g_source_new(&funcs, sizeof(KubeTimer));

        timer->func = func;
        timer->arg = arg;
        g_source_attach(&timer->base, context);
        return timer;
}

void kube_timer_free(KubeTimer *timer)
{
        if (!timer)
                return;
        g_source_destroy(&timer->base);
        g_source_unref(&timer->base);
}

void kube_timer_set(KubeTimer *timer, gint64 ms)
{
        g_source_set_ready_time(&timer->base, ms < 0 ? -1 : g_get_monotonic_time() + ms * 1000);
}

void kube_timer_set_at(KubeTimer *timer, gint64 us)
{
        g_source_set_ready_time(&timer->base, us);
}

gint64 kube_timer_due_at(const KubeTimer *timer)
{
        return g_source_get_ready_time((GSource *)&timer->base);
}
