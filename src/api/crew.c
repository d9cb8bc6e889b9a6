/* Threads for long work (see crew.h): a GThreadPool with a bound. */
#include "api/crew.h"

#include "base/err.h"

typedef struct {
        CrewFunc func;
        void *arg;
} Work;

struct Crew {
        char *name;
        guint line_max;
        GThreadPool *threads; /* NULL once stopped */
        GMutex lock;
        bool stopped;
};

static void work_run(void *data, void *arg)
{
        g_autofree Work *work = data;
        Crew *crew = arg;
        bool stopped;

        g_mutex_lock(&crew->lock);
        stopped = crew->stopped;
        g_mutex_unlock(&crew->lock);
        work->func(stopped, work->arg);
}

Crew *crew_new(const char *name, int threads, int line_max)
{
        Crew *crew = g_new0(Crew, 1);

        crew->name = g_strdup(name);
        crew->line_max = (guint)line_max;
        g_mutex_init(&crew->lock);
        crew->threads = g_thread_pool_new(work_run, crew, threads, FALSE, NULL);
        return crew;
}

void crew_stop(Crew *crew)
{
        GThreadPool *threads;

        g_mutex_lock(&crew->lock);
        crew->stopped = true;
        threads = g_steal_pointer(&crew->threads);
        g_mutex_unlock(&crew->lock);
        if (threads)
                g_thread_pool_free(threads, FALSE, TRUE);
}

void crew_free(Crew *crew)
{
        if (!crew)
                return;
        crew_stop(crew);
        g_mutex_clear(&crew->lock);
        g_free(crew->name);
        g_free(crew);
}

bool crew_push(Crew *crew, CrewFunc func, void *arg, GError **error)
{
        Work *work = NULL;

        g_mutex_lock(&crew->lock);
        if (crew->threads && g_thread_pool_unprocessed(crew->threads) < crew->line_max) {
                work = g_new(Work, 1);
                *work = (Work){ func, arg };
                /* A thread that cannot be started now leaves the work to those there are. */
                (void)g_thread_pool_push(crew->threads, work, NULL);
        }
        g_mutex_unlock(&crew->lock);
        return work ||
               err_set(error, ERR_UNAVAILABLE,
                       "the server has as many %s in hand as it takes\nTry again in a moment.", crew->name);
}
