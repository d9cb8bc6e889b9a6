/* Work on threads (see aside.h). The thread owns the Aside while it works; then a source of the context does,
 * so that whoever destroys that source (it has run, or the context has ended) frees all. */
#include "runtime/kubernetes/image/aside.h"

struct Aside {
        AsideWork work;
        GMainContext *context;
        bool cancelled; /* the context's thread alone */
};

static gboolean on_done(gpointer data)
{
        Aside *aside = data;

        if (!aside->cancelled)
                aside->work.done(aside->work.arg);
        return G_SOURCE_REMOVE;
}

static void aside_free(gpointer data)
{
        Aside *aside = data;

        aside->work.drop(aside->work.arg);
        g_free(aside);
}

static gpointer run(gpointer data)
{
        Aside *aside = data;
        GMainContext *context = aside->context;
        GSource *source = g_idle_source_new();

        aside->work.work(aside->work.arg);
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        g_source_set_callback(source, on_done, aside, aside_free);
        g_source_attach(source, context);
        g_source_unref(source);
        g_main_context_unref(context);
        return NULL;
}

Aside *aside_run(GMainContext *context, const AsideWork *work)
{
        Aside *aside = g_new0(Aside, 1);

        aside->work = *work;
        aside->context = g_main_context_ref(context);
        g_thread_unref(g_thread_new("aside", run, aside));
        return aside;
}

void aside_cancel(Aside *aside)
{
        if (aside)
                aside->cancelled = true;
}
