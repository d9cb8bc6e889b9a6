/* A pool that is shared fairly (see pool.h): a line for each user who has work here, and a round of those
 * lines from which a work may be taken now. */
#include "net/pool.h"

#include <pthread.h>

#include "base/background.h"
#include "base/err.h"
#include "base/keyed-hash.h"

typedef struct {
        PoolFunc func;
        void *arg;
} Work;

typedef struct {
        char *user;
        GQueue works; /* that wait */
        int running;
        bool in_round;
} Line;

struct Pool {
        PoolConfig config;
        pthread_mutex_t mutex; /* of what follows */
        pthread_cond_t changed;
        GHashTable *lines; /* user -> Line, while there is work */
        GQueue round;      /* of Lines with works, each below its share */
        GPtrArray *threads;
        int idle;
        bool stopped;
};

static void line_free(gpointer data)
{
        Line *line = data;

        g_free(line->user);
        g_queue_clear_full(&line->works, g_free);
        g_free(line);
}

Pool *pool_new(const PoolConfig *config)
{
        Pool *pool = g_new0(Pool, 1);

        pool->config = *config;
        pthread_mutex_init(&pool->mutex, NULL);
        pthread_cond_init(&pool->changed, NULL);
        pool->lines = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, line_free);
        pool->threads = g_ptr_array_new();
        return pool;
}

/* ---- with the mutex held ---- */

/* Where the line belongs after a change of its works or of how many run: in the round, out of it, or nowhere.
 */
static void place(Pool *pool, Line *line)
{
        bool takes = line->works.length > 0 && line->running < pool->config.share;

        if (takes && !line->in_round) {
                g_queue_push_tail(&pool->round, line);
                line->in_round = true;
                pthread_cond_signal(&pool->changed);
        } else if (line->works.length == 0 && line->running == 0) {
                g_hash_table_remove(pool->lines, line->user);
        }
}

/* Takes the mutex off for the time of the work. */
static void run_one(Pool *pool, Line *line)
{
        g_autofree Work *work = g_queue_pop_head(&line->works);

        line->running++;
        place(pool, line);
        pthread_mutex_unlock(&pool->mutex);
        work->func(false, work->arg);
        pthread_mutex_lock(&pool->mutex);
        line->running--;
        place(pool, line);
}

static void *run(void *arg)
{
        Pool *pool = arg;

        background_begin();
        pthread_mutex_lock(&pool->mutex);
        while (!pool->stopped) {
                Line *line = g_queue_pop_head(&pool->round);

                if (line) {
                        line->in_round = false;
                        run_one(pool, line);
                        continue;
                }
                pool->idle++;
                pthread_cond_wait(&pool->changed, &pool->mutex);
                pool->idle--;
        }
        pthread_mutex_unlock(&pool->mutex);
        return NULL;
}

/* A thread that cannot be started now leaves the work to those there are. */
static void start_thread(Pool *pool)
{
        GThread *thread;

        if (pool->idle >= (int)pool->round.length || (int)pool->threads->len >= pool->config.threads)
                return;
        thread = g_thread_try_new("pool", run, pool, NULL);
        if (thread)
                g_ptr_array_add(pool->threads, thread);
}

static Line *line_of(Pool *pool, const char *user)
{
        Line *line = g_hash_table_lookup(pool->lines, user);

        if (!line) {
                line = g_new0(Line, 1);
                line->user = g_strdup(user);
                g_hash_table_insert(pool->lines, line->user, line);
        }
        return line;
}

static bool may_wait(const Pool *pool, const Line *line, GError **error)
{
        if ((int)line->works.length < pool->config.line_max)
                return true;
        return err_set(error, ERR_UNAVAILABLE,
                       "%u requests of '%s' that work on files wait already, as many as one may have\nTry "
                       "again in a "
                       "moment.",
                       line->works.length, line->user);
}

/* ---- from outside ---- */

bool pool_push(Pool *pool, const char *user, PoolFunc func, void *arg, GError **error)
{
        bool taken = false;

        pthread_mutex_lock(&pool->mutex);
        if (pool->stopped) {
                err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        } else {
                Line *line = line_of(pool, user);

                taken = may_wait(pool, line, error);
                if (taken) {
                        Work *work = g_new(Work, 1);

                        *work = (Work){ func, arg };
                        g_queue_push_tail(&line->works, work);
                }
                place(pool, line);
                start_thread(pool);
        }
        pthread_mutex_unlock(&pool->mutex);
        return taken;
}

static void drop_waiting(GHashTable *lines)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, lines);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Line *line = value;
                Work *work;

                while ((work = g_queue_pop_head(&line->works))) {
                        work->func(true, work->arg);
                        g_free(work);
                }
        }
}

void pool_stop(Pool *pool)
{
        g_autoptr(GPtrArray) threads = NULL;

        pthread_mutex_lock(&pool->mutex);
        pool->stopped = true;
        threads = g_steal_pointer(&pool->threads);
        pthread_cond_broadcast(&pool->changed);
        pthread_mutex_unlock(&pool->mutex);
        for (guint i = 0; threads && i < threads->len; i++)
                g_thread_join(threads->pdata[i]);
        drop_waiting(pool->lines); /* nobody else is there any more */
}

void pool_free(Pool *pool)
{
        if (!pool)
                return;
        pool_stop(pool);
        g_queue_clear(&pool->round);
        g_hash_table_unref(pool->lines);
        pthread_cond_destroy(&pool->changed);
        pthread_mutex_destroy(&pool->mutex);
        g_free(pool);
}
