/* See fair-thread-pool.h. */
#include "api/fair-thread-pool.h"

#include "net/pool.h"

struct FairThreadPool {
        Pool *pool;
};

FairThreadPool *fair_thread_pool_new(int threads, int share, int line_max)
{
        FairThreadPool *pool = g_new0(FairThreadPool, 1);

        pool->pool = pool_new(&(PoolConfig){ .threads = threads, .share = share, .line_max = line_max });
        return pool;
}

void fair_thread_pool_stop(FairThreadPool *pool)
{
        pool_stop(pool->pool);
}

void fair_thread_pool_free(FairThreadPool *pool)
{
        if (!pool)
                return;
        pool_free(pool->pool);
        g_free(pool);
}

bool fair_thread_pool_push(FairThreadPool *pool, const char *caller, FairThreadPoolFunc func, void *arg,
                           GError **error)
{
        return pool_push(pool->pool, caller, func, arg, error);
}
