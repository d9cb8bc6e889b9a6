/* Threads for work that takes long, shared between users: whoever has little to do does not wait for who has
 * much.
 *
 *      ann    ▒▒▒▒▒▒   ──┐
 *      bob    ▒          ├─▶ one of each in turn ─▶ threads, of which one user has `share` at most
 *      carol  ▒▒       ──┘ */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Pool Pool;

/* Runs once on a thread of the pool. `stopped`: the pool ends, only answer and free. */
typedef void (*PoolFunc)(bool stopped, void *arg);

typedef struct {
        int threads, share; /* share < threads: others find a thread at once */
        int line_max;       /* works of one user that wait */
} PoolConfig;

Pool *pool_new(const PoolConfig *config); /* its threads are started when there is work */
/* What waits is called with `stopped`, here; what runs is waited for. Later pushes are refused. */
void pool_stop(Pool *pool);
void pool_free(Pool *pool); /* stops it first; NULL is a no-op */

/* False with ERR_UNAVAILABLE when the user's line is full or the pool has stopped: func is not called. Any
 * thread.
 */
bool pool_push(Pool *pool, const char *user, PoolFunc func, void *arg, GError **error);
