/* Retention: old events, and jobs that finished long ago, are deleted in small batches when no command waits.
 *
 * Revisions are consecutive, so a horizon that moves by n deletes n events. Finished jobs are swept from the newest to
 * the oldest, one page at a time; the next sweep begins a while after the last page. An array is deleted as a whole:
 * without some of its jobs it would be in another state, and it is found by its first one.
 *
 *      engine's thread, idle ─▶ pool: reads a page from the store ─▶ command: its old jobs are deleted ─▶ idle ... */
#include "engine/state.h"

#include "model/array.h"

enum {
        KEEP_EVENTS = 1000000,
        EVENTS_STEP = 1000,  /* dropped in one batch */
        EVENTS_LATE = 16384, /* excess at which a busy engine trims, too */
        JOBS_PAGE = 100,
        JOBS_REST_MAX_MS = 3600 * 1000,
};

/* ---- events ---- */

static gint64 surplus(const Engine *engine)
{
        gint64 keep = engine->config.keep_events > 0 ? engine->config.keep_events : KEEP_EVENTS;

        return engine->revision - engine->horizon - keep;
}

void retain_events(Engine *engine, bool idle)
{
        if (surplus(engine) >= (idle ? EVENTS_STEP : EVENTS_LATE))
                engine->batch.horizon = engine->horizon + EVENTS_STEP;
}

/* ---- a page of finished jobs ---- */

typedef struct {
        Command command;
        Engine *engine;
        gint64 before; /* ms: jobs that ended later are kept */
        gint64 seq,
                array; /* in: where the page begins, and the array that the sweep met last. Out: for the next page;
                              `seq` 0: it was the last one */
        GArray *old; /* gint64: numbers of the jobs to delete */
} Sweep;

static const JobQuery finished = {
        .states = 1u << JOB_SUCCEEDED | 1u << JOB_FAILED | 1u << JOB_CANCELLED | 1u << JOB_PREEMPTED,
        .limit = JOBS_PAGE,
};

static void add_old(Sweep *sweep, gint64 first, int n)
{
        for (gint64 seq = first; seq < first + n; seq++)
                g_array_append_val(sweep->old, seq);
}

/* All its jobs ended long ago. */
static bool array_is_old(const Sweep *sweep, gint64 array_seq)
{
        ArrayCount count;
        int ended = 0;

        if (!store_array_count(sweep->engine->store, array_seq, &count, NULL))
                return false;
        for (int state = 0; state < JOB_STATES; state++)
                if (job_state_is_final((JobState)state))
                        ended += count.counts[state];
        return ended == count.size && count.updated <= sweep->before;
}

/* Jobs of an array follow each other, so each array is looked at once in a sweep, or twice. */
static void look_at(Sweep *sweep, const Job *job)
{
        if (job->run_seq) /* it goes with its run */
                return;
        if (!job->array_seq && job->finished <= sweep->before)
                add_old(sweep, job->seq, 1);
        if (!job->array_seq || job->array_seq == sweep->array)
                return;
        sweep->array = job->array_seq;
        if (array_is_old(sweep, job->array_seq))
                add_old(sweep, job->array_seq, array_size(job->spec));
}

/* On a thread of the pool. A page that cannot be read now is read in the next sweep. */
static void read_page(bool stopped, void *arg)
{
        Sweep *sweep = arg;
        JobQuery query = finished;
        g_autoptr(GPtrArray) page = NULL;
        gint64 next = 0;

        query.before_seq = sweep->seq;
        if (!stopped)
                page = store_jobs(sweep->engine->store, &query, &next, NULL);
        sweep->seq = page ? next : 0;
        for (guint i = 0; page && i < page->len; i++)
                look_at(sweep, page->pdata[i]);
        inbox_put(&sweep->engine->inbox, &sweep->command);
}

/* ---- the command ---- */

static bool apply_sweep(Engine *engine, Command *command)
{
        const Sweep *sweep = (Sweep *)command;

        for (guint i = 0; i < sweep->old->len; i++)
                g_ptr_array_add(engine->batch.dropped_jobs,
                                g_memdup2(&g_array_index(sweep->old, gint64, i), sizeof(gint64)));
        engine->sweeps = false;
        engine->retain_seq = sweep->seq;
        engine->retain_array = sweep->seq ? sweep->array : 0;
        if (sweep->seq == 0)
                engine->retain_at =
                        engine->batch.now + CLAMP(engine->config.keep_finished_ms / 10, 1, JOBS_REST_MAX_MS);
        return true;
}

static void free_sweep(Command *command)
{
        g_array_unref(((Sweep *)command)->old);
}

static const CommandOps sweep_ops = {
        .name = "sweep", .size = sizeof(Sweep), .apply = apply_sweep, .free = free_sweep
};

static bool jobs_are_due(const Engine *engine, gint64 now)
{
        return engine->config.keep_finished_ms > 0 && !engine->sweeps && now >= engine->retain_at;
}

void retain_jobs(Engine *engine)
{
        Sweep *sweep;

        if (!jobs_are_due(engine, engine->batch.now))
                return;
        sweep = command_new(&sweep_ops, NULL, NULL);
        sweep->engine = engine;
        sweep->before = engine->batch.now - engine->config.keep_finished_ms;
        sweep->seq = engine->retain_seq;
        sweep->array = engine->retain_array;
        sweep->old = g_array_new(FALSE, FALSE, sizeof(gint64));
        engine->sweeps = thread_pool_push(engine->pool, NULL, read_page, sweep, NULL);
        if (!engine->sweeps)
                command_free(&sweep->command);
}

/* ---- when ---- */

bool retain_is_due(const Engine *engine, gint64 now)
{
        return surplus(engine) >= EVENTS_STEP || jobs_are_due(engine, now);
}

gint64 retain_due(const Engine *engine)
{
        return engine->config.keep_finished_ms > 0 && !engine->sweeps ? engine->retain_at : 0;
}
