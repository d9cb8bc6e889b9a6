/* Threads for long work (see thread-pool.h): a GThreadPool with a bound. */
#include "api/thread-pool.h"

#include "base/err.h"

typedef struct {
        ThreadPoolFunc func;
        void *arg;
} Work;

struct ThreadPool {
        char *name;
        guint line_max;
        GThreadPool *threads; /* NULL once stopped */
        GMutex lock;
        bool stopped;
};

static void work_run(void *data, void *arg)
{
        g_autofree Work *work = data;
        ThreadPool *pool = arg;
        bool stopped;

        g_mutex_lock(&pool->lock);
        stopped = pool->stopped;
        g_mutex_unlock(&pool->lock);
        work->func(stopped, work->arg);
}

ThreadPool *thread_pool_new(const char *name, int threads, int line_max)
{
        ThreadPool *pool = g_new0(ThreadPool, 1);

        pool->name = g_strdup(name);
        pool->line_max = (guint)line_max;
        g_mutex_init(&pool->lock);
        pool->threads = g_thread_pool_new(work_run, pool, threads, FALSE, NULL);
        return pool;
}

void thread_pool_stop(ThreadPool *pool)
{
        GThreadPool *threads;

        g_mutex_lock(&pool->lock);
        pool->stopped = true;
        threads = g_steal_pointer(&pool->threads);
        g_mutex_unlock(&pool->lock);
        if (threads)
                g_thread_pool_free(threads, FALSE, TRUE);
}

void thread_pool_free(ThreadPool *pool)
{
        if (!pool)
                return;
        thread_pool_stop(pool);
        g_mutex_clear(&pool->lock);
        g_free(pool->name);
        g_free(pool);
}

bool thread_pool_push(ThreadPool *pool, ThreadPoolFunc func, void *arg, GError **error)
{
        Work *work = NULL;

        g_mutex_lock(&pool->lock);
        if (pool->threads && g_thread_pool_unprocessed(pool->threads) < pool->line_max) {
                work = g_new(Work, 1);
                *work = (Work){ func, arg };
                /* A thread that cannot be started now leaves the work to those there are. */
                (void)g_thread_pool_push(pool->threads, work, NULL);
        }
        g_mutex_unlock(&pool->lock);
        return work ||
               err_set(error, ERR_UNAVAILABLE,
                       "the server has as many %s in hand as it takes\nTry again in a moment.", pool->name);
}
