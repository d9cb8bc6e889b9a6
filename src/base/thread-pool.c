/* Thread pools (see thread-pool.h): a queue of works for each owner, and a round of the queues from which a work may be
 * taken now. */
#include "base/thread-pool.h"

#include <pthread.h>

#include "base/background.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/keyed-hash.h"

enum { IDLE_MS = 15000 };

typedef struct {
        ThreadPoolFunc func;
        void *arg;
        gint64 due; /* of one that waits for its time: monotonic ms */
} Work;

typedef struct {
        char *name;   /* "": without an owner */
        GQueue works; /* that wait */
        int running;
        bool in_round;
} Owner;

struct ThreadPool {
        ThreadPoolConfig config;
        pthread_mutex_t mutex; /* of what follows */
        pthread_cond_t changed;
        GHashTable *owners;        /* name -> Owner, while it has work */
        GQueue round;              /* of Owners with works, each below its share */
        GQueue later;              /* of Works that wait for their time, the earliest first */
        GPtrArray *threads, *over; /* GThread; over: they end, and are not joined yet */
        int idle;
        bool stopped;
};

static void owner_free(gpointer data)
{
        Owner *owner = data;

        g_free(owner->name);
        g_free(owner);
}

ThreadPool *thread_pool_new(const ThreadPoolConfig *config)
{
        ThreadPool *pool = g_new0(ThreadPool, 1);

        pool->config = *config;
        if (pool->config.share <= 0)
                pool->config.share = config->threads;
        if (pool->config.idle_ms <= 0)
                pool->config.idle_ms = IDLE_MS;
        pthread_mutex_init(&pool->mutex, NULL);
        cond_init(&pool->changed);
        pool->owners = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, owner_free);
        pool->threads = g_ptr_array_new();
        pool->over = g_ptr_array_new();
        return pool;
}

/* ---- with the mutex held ---- */

static void join_all(const GPtrArray *threads)
{
        for (guint i = 0; i < threads->len; i++)
                g_thread_join(threads->pdata[i]);
}

static void *run(void *arg);

/* One for each owner in the round that no idle thread will take, and one that waits for the next time. A thread that
 * cannot be started now leaves the work to those there are. */
static void start_thread(ThreadPool *pool)
{
        bool waits = pool->idle < (int)pool->round.length;
        GThread *thread;

        if (pool->stopped || (int)pool->threads->len >= pool->config.threads)
                return;
        if (!waits && (pool->later.length == 0 || pool->threads->len > 0))
                return;
        join_all(pool->over); /* they do not need the mutex any more */
        g_ptr_array_set_size(pool->over, 0);
        thread = g_thread_try_new(pool->config.name, run, pool, NULL);
        if (thread)
                g_ptr_array_add(pool->threads, thread);
}

/* Puts the owner where it belongs after a change of its works, or of how many of them run: into the round, out of it,
 * or nowhere. */
static void place(ThreadPool *pool, Owner *owner)
{
        bool takes = owner->works.length > 0 && owner->running < pool->config.share;

        if (takes && !owner->in_round) {
                g_queue_push_tail(&pool->round, owner);
                owner->in_round = true;
                pthread_cond_signal(&pool->changed);
        } else if (owner->works.length == 0 && owner->running == 0) {
                g_hash_table_remove(pool->owners, owner->name);
        }
}

static Owner *owner_of(ThreadPool *pool, const char *name)
{
        Owner *owner = g_hash_table_lookup(pool->owners, name);

        if (!owner) {
                owner = g_new0(Owner, 1);
                owner->name = g_strdup(name);
                g_hash_table_insert(pool->owners, owner->name, owner);
        }
        return owner;
}

/* Works whose time has come are those of the owner without a name. */
static void take_due(ThreadPool *pool)
{
        const Work *first;

        while ((first = g_queue_peek_head(&pool->later)) &&
               (pool->stopped || first->due <= clock_monotonic_ms())) {
                Owner *owner = owner_of(pool, "");

                g_queue_push_tail(&owner->works, g_queue_pop_head(&pool->later));
                place(pool, owner);
        }
}

/* Releases the mutex for the time of the work. False: there is none. */
static bool run_one(ThreadPool *pool)
{
        g_autofree Work *work = NULL;
        bool stopped = pool->stopped;
        Owner *owner;

        take_due(pool);
        owner = g_queue_pop_head(&pool->round);
        if (!owner)
                return false;
        work = g_queue_pop_head(&owner->works);
        owner->in_round = false;
        owner->running++;
        place(pool, owner);
        start_thread(pool); /* for the next work, which this thread does not take now */
        pthread_mutex_unlock(&pool->mutex);
        work->func(stopped, work->arg);
        pthread_mutex_lock(&pool->mutex);
        owner->running--;
        place(pool, owner);
        return true;
}

/* False: there was no work for a while. */
static bool wait_for_work(ThreadPool *pool)
{
        gint64 until_ms = clock_monotonic_ms() + pool->config.idle_ms;
        bool waits = true;

        pool->idle++;
        while (!pool->stopped && pool->round.length == 0 && (waits || pool->later.length > 0)) {
                const Work *next = g_queue_peek_head(&pool->later);

                waits = cond_wait_until(&pool->changed, &pool->mutex, next ? next->due : until_ms);
                take_due(pool);
        }
        pool->idle--;
        return pool->round.length > 0;
}

static void *run(void *arg)
{
        ThreadPool *pool = arg;

        if (pool->config.background)
                background_begin();
        pthread_mutex_lock(&pool->mutex);
        while (run_one(pool) || (!pool->stopped && wait_for_work(pool)))
                ;
        if (!pool->stopped) {
                g_ptr_array_remove_fast(pool->threads, g_thread_self());
                g_ptr_array_add(pool->over, g_thread_self());
        }
        pthread_mutex_unlock(&pool->mutex);
        return NULL;
}

static bool may_wait(const ThreadPool *pool, const Owner *owner, GError **error)
{
        const ThreadPoolConfig *config = &pool->config;

        if (config->waiting_max <= 0 || (int)owner->works.length < config->waiting_max)
                return true;
        if (!*owner->name)
                return err_set(error, ERR_UNAVAILABLE,
                               "the server works on as many %s as it accepts at once\nTry again in a moment.",
                               config->name);
        return err_set(error, ERR_UNAVAILABLE,
                       "%u %s of '%s'%s%s wait already, as many as one may have\nTry again in a moment.",
                       owner->works.length, config->name, owner->name, config->details ? " " : "",
                       config->details ? config->details : "");
}

static bool push(ThreadPool *pool, const char *name, const Work *work, GError **error)
{
        Owner *owner;
        bool taken;

        if (pool->stopped)
                return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        owner = owner_of(pool, name);
        taken = may_wait(pool, owner, error);
        if (taken)
                g_queue_push_tail(&owner->works, g_memdup2(work, sizeof *work));
        place(pool, owner);
        start_thread(pool);
        return taken;
}

/* ---- from outside ---- */

bool thread_pool_push(ThreadPool *pool, const char *owner, ThreadPoolFunc func, void *arg, GError **error)
{
        bool taken;

        pthread_mutex_lock(&pool->mutex);
        taken = push(pool, owner ? owner : "", &(Work){ func, arg }, error);
        pthread_mutex_unlock(&pool->mutex);
        return taken;
}

static gint by_due(gconstpointer a, gconstpointer b, gpointer unused)
{
        const Work *one = a, *two = b;

        return one->due <= two->due ? -1 : 1; /* of equal ones the first that came */
}

bool thread_pool_push_after(ThreadPool *pool, gint64 ms, ThreadPoolFunc func, void *arg)
{
        const Work work = { func, arg, clock_monotonic_ms() + ms };
        bool taken;

        pthread_mutex_lock(&pool->mutex);
        taken = !pool->stopped;
        if (taken) {
                g_queue_insert_sorted(&pool->later, g_memdup2(&work, sizeof work), by_due, NULL);
                pthread_cond_broadcast(&pool->changed); /* it may be the first */
                start_thread(pool);
        }
        pthread_mutex_unlock(&pool->mutex);
        return taken;
}

void thread_pool_stop(ThreadPool *pool)
{
        g_autoptr(GPtrArray) threads = NULL, over = NULL;

        pthread_mutex_lock(&pool->mutex);
        pool->stopped = true;
        threads = g_steal_pointer(&pool->threads);
        over = g_steal_pointer(&pool->over);
        pthread_cond_broadcast(&pool->changed);
        pthread_mutex_unlock(&pool->mutex);
        if (!threads)
                return; /* it has stopped before */
        join_all(threads);
        join_all(over);
        pthread_mutex_lock(&pool->mutex);
        while (run_one(pool)) /* no thread could be started for these */
                ;
        pthread_mutex_unlock(&pool->mutex);
}

void thread_pool_free(ThreadPool *pool)
{
        if (!pool)
                return;
        thread_pool_stop(pool);
        g_queue_clear(&pool->round);
        g_hash_table_unref(pool->owners);
        pthread_cond_destroy(&pool->changed);
        pthread_mutex_destroy(&pool->mutex);
        g_free(pool);
}
