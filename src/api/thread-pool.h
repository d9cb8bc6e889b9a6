/* A few threads for what takes longer than an HTTP worker may: password hashes, questions to a copy of the
 * scheduler. Bounded: what does not fit into its line is refused at once, and its caller answers 503. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct ThreadPool ThreadPool;

/* Runs once on a thread of the pool. `stopped`: it ends, only answer and free. */
typedef void (*ThreadPoolFunc)(bool stopped, void *arg);

/* `name` is for the refusal: "log-ins". Threads are started when there is work. */
ThreadPool *thread_pool_new(const char *name, int threads, int line_max);
/* What runs is waited for, what waits is called with `stopped`; later pushes are refused. */
void thread_pool_stop(ThreadPool *pool);
void thread_pool_free(ThreadPool *pool); /* stops it first; NULL is a no-op */

/* False with ERR_UNAVAILABLE when the line is full or it has stopped: func is not called. Any thread.
 */
bool thread_pool_push(ThreadPool *pool, ThreadPoolFunc func, void *arg, GError **error);
