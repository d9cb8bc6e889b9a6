/* A few read-only connections, each taken for one query. Any thread. */
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
void pool_clear(Pool *pool); /* no connection may be taken */

/* Waits for a free connection; opens one while there are fewer than POOL_MAX. NULL on failure. A thread takes
 * one at a time. */
Conn *pool_take(Pool *pool, GError **error);
/* Ends its read transaction first. NULL is a no-op. */
void pool_give(Pool *pool, Conn *conn);

/* Waits until every connection is returned, and keeps them until pool_release. Later calls of pool_take
 * wait. */
void pool_hold(Pool *pool);
void pool_release(Pool *pool);
