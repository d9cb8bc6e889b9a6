/* A thread pool (thread-pool.h) whose threads and line are shared fairly between callers: net/pool.h, whose name is that of
 * a thing of the catalog wherever that is known. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct FairThreadPool FairThreadPool;

typedef void (*FairThreadPoolFunc)(bool stopped, void *arg); /* as ThreadPoolFunc */

FairThreadPool *fair_thread_pool_new(int threads, int share, int line_max); /* the latter two of one caller */
void fair_thread_pool_stop(FairThreadPool *pool);
void fair_thread_pool_free(FairThreadPool *pool); /* stops it first */

/* False with ERR_UNAVAILABLE when the caller's line is full or it has stopped. Any thread. */
bool fair_thread_pool_push(FairThreadPool *pool, const char *caller, FairThreadPoolFunc func, void *arg,
                           GError **error);
