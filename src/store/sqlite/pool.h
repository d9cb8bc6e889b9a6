/* A few read-only connections, taken for one query and given back. Any thread. */
#pragma once

#include "store/sqlite/conn.h"

enum { POOL_MAX = 4 };

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        const char *path; /* borrowed */
        const char *const *sql;
        int n_sql;
        Conn *idle[POOL_MAX];
        int n_idle, n_taken;
        bool held;
} Pool;

void pool_init(Pool *pool, const char *path, const char *const *sql, int n_sql);
void pool_clear(Pool *pool); /* nothing may be taken */

/* Waits for a free connection; opens one while there are few. NULL on failure. A thread takes one at a time.
 */
Conn *pool_take(Pool *pool, GError **error);
/* Ends its read transaction first. NULL is a no-op. */
void pool_give(Pool *pool, Conn *conn);

/* Waits until every connection is back, and keeps them back until pool_release. Those who wait to take come
 * after. */
void pool_hold(Pool *pool);
void pool_release(Pool *pool);
