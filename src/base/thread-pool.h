/* A pool of threads for work that would hold up its caller: files, password hashes, questions to other servers. Threads
 * are started when there is work, at most so many, and end when they had none for a while.
 *
 * Works that have an owner are shared fairly: an owner with little work does not wait for one with much.
 *
 *      ann    ▒▒▒▒▒▒   ──┐
 *      bob    ▒          ├─▶ one of each in turn ─▶ threads, at most `share` of them for one owner
 *      carol  ▒▒       ──┘ */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct ThreadPool ThreadPool;

/* Runs once, on a thread of the pool. `stopped`: the pool is stopping. Usually the work is not done then: the function
 * only answers and frees. */
typedef void (*ThreadPoolFunc)(bool stopped, void *arg);

typedef struct {
        const char *name; /* of the threads and in refusals: "log-ins"; borrowed for the life of the pool */
        const char *details; /* after the owner in refusals: "that work on files"; or NULL */
        int threads;         /* at most; 1 or more */
        int share; /* threads of one owner at most; 0: all. Below `threads`, other owners find a free one */
        int waiting_max; /* works of one owner that wait; 0: any number */
        bool background; /* the threads have low priority (base/background.h) */
        gint64 idle_ms;  /* a thread without work ends after this time; 0: 15 s */
} ThreadPoolConfig;

ThreadPool *thread_pool_new(const ThreadPoolConfig *config);

/* If the system starts no thread now and the pool has none, the work waits for the next push.
 * False with ERR_UNAVAILABLE if too many works of the owner wait, or the pool has stopped: `func` is not called then.
 * `owner` NULL: all works of a pool have one owner, without a name. Any thread. */
bool thread_pool_push(ThreadPool *pool, const char *owner, ThreadPoolFunc func, void *arg, GError **error);

/* The same in `ms` from now, for short works such as timeouts that other threads set: they have no owner, and any number
 * may wait for their time. In a pool of one thread they run in order of their times. False if the pool has stopped. */
bool thread_pool_push_after(ThreadPool *pool, gint64 ms, ThreadPoolFunc func, void *arg);

/* Waits for running works. The threads call those that wait with `stopped`, in order, also before their time. Later
 * pushes are refused. */
void thread_pool_stop(ThreadPool *pool);
void thread_pool_free(ThreadPool *pool); /* stops it first; NULL is a no-op */
