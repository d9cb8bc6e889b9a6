/* Nodes that wait for the end of a job whose result they may take from the cache (see runs-cache.h).
 *
 * A run keeps its own nodes by the job for which they wait; the engine only knows which runs wait for a job. When the job
 * has ended, each of these runs wakes its nodes within its part of a batch, so a million nodes take many batches. */
#include "engine/run-waits.h"
#include "engine/runs-cache.h"

/* The nodes of one run that wait for one job. */
typedef struct {
        gint64 job;               /* seq */
        GArray *nodes;            /* guint32 */
        guint woken;              /* number of these that wait for a slot by now */
        GList *place;             /* in cache_ended of the run; NULL: the job has not ended */
        bool dirty;               /* in cache_waits_dirty of the run */
        guint was_len, was_woken; /* as they were committed while dirty */
        bool was_ended;
} CacheWait;

static void free_wait(gpointer data)
{
        CacheWait *wait = data;

        g_array_unref(wait->nodes);
        g_free(wait);
}

static void unref_set(gpointer set)
{
        g_hash_table_unref(set);
}

void runs_cache_init_waits(Engine *engine)
{
        engine->cache_waits = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, unref_set);
        engine->cache_ended = g_array_new(FALSE, FALSE, sizeof(gint64));
}

void runs_cache_clear_waits(Engine *engine)
{
        g_hash_table_unref(engine->cache_waits);
        g_array_unref(engine->cache_ended);
}

void runs_cache_enter_waits(LiveRun *live)
{
        live->cache_waits = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_wait);
        live->cache_waits_dirty = g_ptr_array_new();
        g_queue_init(&live->cache_ended);
}

void runs_cache_leave_waits(LiveRun *live)
{
        g_queue_clear(&live->cache_ended);
        g_clear_pointer(&live->cache_waits_dirty, g_ptr_array_unref);
        g_clear_pointer(&live->cache_waits, g_hash_table_unref);
}

/* It is going to change. */
static void touch(LiveRun *live, CacheWait *wait)
{
        if (wait->dirty)
                return;
        wait->dirty = true;
        wait->was_len = wait->nodes->len;
        wait->was_woken = wait->woken;
        wait->was_ended = wait->place != NULL;
        g_ptr_array_add(live->cache_waits_dirty, wait);
}

static CacheWait *wait_for_job(Engine *engine, LiveRun *live, gint64 job)
{
        CacheWait *wait = g_hash_table_lookup(live->cache_waits, &job);
        GHashTable *runs;

        if (wait)
                return wait;
        wait = g_new0(CacheWait, 1);
        wait->job = job;
        wait->nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
        g_hash_table_insert(live->cache_waits, &wait->job, wait);
        runs = g_hash_table_lookup(engine->cache_waits, &job);
        if (!runs) {
                runs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
                g_hash_table_insert(engine->cache_waits, g_memdup2(&job, sizeof job), runs);
        }
        g_hash_table_add(runs, g_memdup2(&live->record->seq, sizeof live->record->seq));
        return wait;
}

void runs_cache_wait_for(const RunActor *actor, guint32 node, gint64 job)
{
        CacheWait *wait = wait_for_job(actor->engine, actor->live, job);

        touch(actor->live, wait);
        g_array_append_val(wait->nodes, node);
}

/* ---- the job has ended ---- */

static void note_ended(Engine *engine, gint64 seq, gint64 job)
{
        LiveRun *live = runs_find(engine, seq);
        CacheWait *wait = live && live->machine ? g_hash_table_lookup(live->cache_waits, &job) : NULL;

        if (!wait || wait->place)
                return;
        runs_touch(engine, live);
        touch(live, wait);
        g_queue_push_tail(&live->cache_ended, wait);
        wait->place = live->cache_ended.tail;
        runs_make_due(engine, live);
}

void runs_cache_note_job_ended(Engine *engine, gint64 job)
{
        GHashTable *runs = g_hash_table_lookup(engine->cache_waits, &job);
        GHashTableIter iter;
        gpointer seq;

        if (!runs)
                return;
        g_hash_table_iter_init(&iter, runs);
        while (g_hash_table_iter_next(&iter, &seq, NULL))
                note_ended(engine, *(const gint64 *)seq, job);
        g_array_append_val(engine->cache_ended, job);
}

/* It may have been stopped, or wait for another job by now. */
static void wake(const RunActor *actor, guint32 node, gint64 job)
{
        if (runs_cache_is_waiting(actor->live, node, job))
                run_want(actor->live->machine, node);
}

/* At most half of what the run may still do in this batch, so that those that were woken can begin. */
bool runs_cache_wake_waiting(const RunActor *actor)
{
        LiveRun *live = actor->live;
        guint steps = (*actor->budget + 1) / 2;

        for (GList *link = live->cache_ended.head; link; link = link->next) {
                CacheWait *wait = link->data;

                if (wait->woken < wait->nodes->len)
                        touch(live, wait);
                for (; steps > 0 && wait->woken < wait->nodes->len; steps--, (*actor->budget)--)
                        wake(actor, g_array_index(wait->nodes, guint32, wait->woken++), wait->job);
                if (wait->woken < wait->nodes->len)
                        return true;
        }
        return false;
}

/* ---- after a commit, and after one that failed ---- */

static void forget(LiveRun *live, CacheWait *wait)
{
        if (wait->place)
                g_queue_delete_link(&live->cache_ended, wait->place);
        g_hash_table_remove(live->cache_waits, &wait->job);
}

/* The nodes of one job that still wait for it, up to RUN_WAITS_MAX of the run; at most as many are looked at. */
static void show_wait(const LiveRun *live, const CacheWait *wait, GArray *ret)
{
        guint end = MIN(wait->nodes->len, RUN_WAITS_MAX);

        for (guint i = 0; i < end && ret->len < RUN_WAITS_MAX; i++) {
                guint32 index = g_array_index(wait->nodes, guint32, i);
                const RunNode *node = run_node(live->machine, index);
                const RunWait one = { run_dag(live->machine, node->dag)->node, node->component, node->number,
                                      wait->job };

                if (runs_cache_is_waiting(live, index, wait->job))
                        g_array_append_val(ret, one);
        }
}

static void show_waits(Engine *engine, LiveRun *live)
{
        GArray *shown = g_array_new(FALSE, FALSE, sizeof(RunWait));
        GHashTableIter iter;
        gpointer wait;

        g_hash_table_iter_init(&iter, live->cache_waits);
        for (int n = 0; n < RUN_WAITS_MAX && g_hash_table_iter_next(&iter, NULL, &wait); n++)
                show_wait(live, wait, shown);
        live->shows_waits = shown->len > 0;
        run_waits_publish(engine, live->record->id, shown);
}

void runs_cache_settle_waits(Engine *engine, LiveRun *live)
{
        for (guint i = 0; i < live->cache_waits_dirty->len; i++) {
                CacheWait *wait = live->cache_waits_dirty->pdata[i];

                wait->dirty = false;
                if (wait->place && wait->woken == wait->nodes->len)
                        forget(live, wait);
        }
        if (live->cache_waits_dirty->len > 0 || live->shows_waits)
                show_waits(engine, live);
        g_ptr_array_set_size(live->cache_waits_dirty, 0);
}

static void restore(LiveRun *live, CacheWait *wait)
{
        wait->dirty = false;
        wait->woken = wait->was_woken;
        g_array_set_size(wait->nodes, wait->was_len);
        if (wait->place && !wait->was_ended) {
                g_queue_delete_link(&live->cache_ended, wait->place);
                wait->place = NULL;
        }
        if (wait->nodes->len == 0)
                forget(live, wait);
}

void runs_cache_restore_waits(LiveRun *live)
{
        for (guint i = 0; i < live->cache_waits_dirty->len; i++)
                restore(live, live->cache_waits_dirty->pdata[i]);
        g_ptr_array_set_size(live->cache_waits_dirty, 0);
}

void runs_cache_settle_ended(Engine *engine)
{
        for (guint i = 0; i < engine->cache_ended->len; i++)
                g_hash_table_remove(engine->cache_waits, &g_array_index(engine->cache_ended, gint64, i));
        g_array_set_size(engine->cache_ended, 0);
}
