/* Threads for long work, shared fairly: a user with little work does not wait for a user with much.
 *
 *      ann    ▒▒▒▒▒▒   ──┐
 *      bob    ▒          ├─▶ one of each in turn ─▶ threads, of which one user has `share` at most
 *      carol  ▒▒       ──┘ */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Pool Pool;

/* Runs once on a thread of the pool. `stopped`: the pool is ending; only answer and free. */
typedef void (*PoolFunc)(bool stopped, void *arg);

typedef struct {
        int threads, share; /* share: threads of one user at most; share < threads, so others find a free
                               thread */
        int line_max;       /* waiting items of one user */
} PoolConfig;

Pool *pool_new(const PoolConfig *config); /* threads are started when there is work */
/* Calls waiting functions here with `stopped`, and waits for running ones. Later pushes are refused. */
void pool_stop(Pool *pool);
void pool_free(Pool *pool); /* stops it first; NULL is a no-op */

/* False with ERR_UNAVAILABLE if the user has line_max items waiting or the pool has stopped; func is not
 * called then. Any thread. */
bool pool_push(Pool *pool, const char *user, PoolFunc func, void *arg, GError **error);
