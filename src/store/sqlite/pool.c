/* The readers' connections (see pool.h). A plain mutex and a flag, since the system's read-write locks let
 * overlapping readers starve the one who wants to hold them back. */
#include "store/sqlite/pool.h"

void pool_init(Pool *pool, const char *path, const char *const *sql, int n_sql)
{
        *pool = (Pool){ .path = path, .sql = sql, .n_sql = n_sql };
        pthread_mutex_init(&pool->lock, NULL);
        pthread_cond_init(&pool->changed, NULL);
}

static void free_conn(Conn *conn)
{
        conn_close(conn);
        g_free(conn);
}

void pool_clear(Pool *pool)
{
        g_assert(pool->n_taken == 0);
        while (pool->n_idle > 0)
                free_conn(pool->idle[--pool->n_idle]);
        pthread_cond_destroy(&pool->changed);
        pthread_mutex_destroy(&pool->lock);
}

static Conn *open_reader(Pool *pool, GError **error)
{
        Conn *conn = g_new0(Conn, 1);

        if (conn_open(conn, pool->path, SQLITE_OPEN_READONLY, error) &&
            conn_exec(conn, "PRAGMA cache_size = -1024", error) &&
            conn_prepare(conn, pool->sql, pool->n_sql, error))
                return conn;
        free_conn(conn);
        return NULL;
}

static void put_back(Pool *pool, Conn *conn)
{
        pthread_mutex_lock(&pool->lock);
        pool->n_taken--;
        if (conn)
                pool->idle[pool->n_idle++] = conn;
        pthread_cond_broadcast(&pool->changed);
        pthread_mutex_unlock(&pool->lock);
}

Conn *pool_take(Pool *pool, GError **error)
{
        Conn *conn = NULL;

        pthread_mutex_lock(&pool->lock);
        while (pool->held || pool->n_taken == POOL_MAX)
                pthread_cond_wait(&pool->changed, &pool->lock);
        pool->n_taken++;
        if (pool->n_idle > 0)
                conn = pool->idle[--pool->n_idle];
        pthread_mutex_unlock(&pool->lock);
        if (!conn && !(conn = open_reader(pool, error)))
                put_back(pool, NULL);
        return conn;
}

void pool_give(Pool *pool, Conn *conn)
{
        if (!conn)
                return;
        conn_reset_all(conn);
        put_back(pool, conn);
}

void pool_hold(Pool *pool)
{
        pthread_mutex_lock(&pool->lock);
        pool->held = true;
        while (pool->n_taken > 0)
                pthread_cond_wait(&pool->changed, &pool->lock);
        pthread_mutex_unlock(&pool->lock);
}

void pool_release(Pool *pool)
{
        pthread_mutex_lock(&pool->lock);
        pool->held = false;
        pthread_cond_broadcast(&pool->changed);
        pthread_mutex_unlock(&pool->lock);
}
