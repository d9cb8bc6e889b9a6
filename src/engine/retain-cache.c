/* Deletes entries of the cache of steps: those that have expired, and the oldest ones of a user with too many; and those
 * that a user deletes. As for runs (retain-runs.c), a thread of the pool reads what is to go, and a command deletes it. The
 * entries of a deleted run go with its nodes. */
#include "engine/runs-cache.h"

enum { PAGE = 500, REST_MS = 60 * 1000, LONG_REST_MS = 3600 * 1000 };

typedef struct {
        Command command;
        Engine *engine;
        gint64 now;
        GArray *seqs; /* gint64; NULL: the store could not be read */
} CacheSweep;

static void read_sweep(bool stopped, void *arg)
{
        CacheSweep *sweep = arg;

        if (!stopped)
                sweep->seqs =
                        store_cache_expired(sweep->engine->store, sweep->now, CACHE_OF_USER_MAX, PAGE, NULL);
        inbox_put(&sweep->engine->inbox, &sweep->command);
}

static void drop(Engine *engine, gint64 seq)
{
        g_ptr_array_add(engine->batch.dropped_cache, g_memdup2(&seq, sizeof seq));
}

static bool apply_sweep(Engine *engine, Command *command)
{
        const CacheSweep *sweep = (const CacheSweep *)command;
        guint n = sweep->seqs ? sweep->seqs->len : 0;

        for (guint i = 0; i < n; i++)
                drop(engine, g_array_index(sweep->seqs, gint64, i));
        engine->sweeps_cache = false;
        engine->retain_cache_at = engine->batch.now + (n == PAGE ? 0 : n > 0 ? REST_MS : LONG_REST_MS);
        return true;
}

static void free_sweep(Command *command)
{
        g_clear_pointer(&((CacheSweep *)command)->seqs, g_array_unref);
}

static const CommandOps sweep_ops = {
        .name = "sweep of the cache", .size = sizeof(CacheSweep), .apply = apply_sweep, .free = free_sweep
};

void retain_cache_soon(Engine *engine)
{
        engine->retain_cache_at = MIN(engine->retain_cache_at, engine->batch.now + REST_MS);
}

void retain_cache(Engine *engine)
{
        CacheSweep *sweep;

        if (engine->sweeps_cache || engine->batch.now < engine->retain_cache_at)
                return;
        sweep = command_new(&sweep_ops, NULL, NULL);
        sweep->engine = engine;
        sweep->now = engine->batch.now;
        engine->sweeps_cache = thread_pool_push(engine->pool, NULL, read_sweep, sweep, NULL);
        if (!engine->sweeps_cache)
                command_free(&sweep->command);
}

/* ---- by a user ---- */

typedef struct {
        Command command;
        EngineCacheDone cache_done;
        gint64 seq;
} DropEntry;

static bool apply_drop(Engine *engine, Command *command)
{
        drop(engine, ((DropEntry *)command)->seq);
        return true;
}

static void answer_drop(Engine *engine, Command *command, const GError *error)
{
        ((DropEntry *)command)->cache_done(error, command->arg);
}

static const CommandOps drop_ops = {
        .name = "delete cache entry", .size = sizeof(DropEntry), .apply = apply_drop, .answer = answer_drop
};

void engine_delete_cache_entry(Engine *engine, gint64 seq, EngineCacheDone done, void *arg)
{
        DropEntry *command = command_new(&drop_ops, NULL, arg);

        command->cache_done = done;
        command->seq = seq;
        inbox_put(&engine->inbox, &command->command);
}
