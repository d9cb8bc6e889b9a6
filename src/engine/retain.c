/* Retention: old events and jobs that finished long ago go in small batches, when nobody waits.
 *
 * Revisions are dense, so a horizon that moves by n drops n events. Finished jobs are swept from the newest
 * to the oldest, a page a turn; a sweep that has come to the end rests for a while. An array goes whole:
 * without some of its jobs it would be in another state, and its first one stands for it. */
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

/* ---- jobs ---- */

static const JobQuery finished = {
        .states = 1u << JOB_SUCCEEDED | 1u << JOB_FAILED | 1u << JOB_CANCELLED | 1u << JOB_PREEMPTED,
        .limit = JOBS_PAGE,
};

static void drop(Engine *engine, gint64 first, int n)
{
        for (gint64 seq = first; seq < first + n; seq++)
                g_ptr_array_add(engine->batch.dropped_jobs, g_memdup2(&seq, sizeof seq));
}

/* All its jobs ended long ago. */
static bool array_is_old(Engine *engine, gint64 array_seq, gint64 before)
{
        ArrayCount count;
        int ended = 0;

        if (!store_array_count(engine->store, array_seq, &count, NULL))
                return false;
        for (int state = 0; state < JOB_STATES; state++)
                if (job_state_is_final((JobState)state))
                        ended += count.counts[state];
        return ended == count.size && count.updated <= before;
}

/* Jobs of an array follow each other, so that it is looked at once in a sweep, or twice. */
static void drop_if_old(Engine *engine, const Job *job, gint64 before)
{
        if (!job->array_seq && job->finished <= before)
                drop(engine, job->seq, 1);
        if (!job->array_seq || job->array_seq == engine->retain_array)
                return;
        engine->retain_array = job->array_seq;
        if (array_is_old(engine, job->array_seq, before))
                drop(engine, job->array_seq, array_size(job->spec));
}

static bool jobs_are_due(const Engine *engine, gint64 now)
{
        return engine->config.keep_finished_ms > 0 && now >= engine->retain_at;
}

void retain_jobs(Engine *engine)
{
        gint64 now = engine->batch.now, keep = engine->config.keep_finished_ms;
        g_autoptr(GPtrArray) page = NULL;
        JobQuery query = finished;
        gint64 next = 0;

        if (!jobs_are_due(engine, now))
                return;
        query.before_seq = engine->retain_seq;
        page = store_jobs(engine->store, &query, &next,
                          NULL); /* what cannot be read now is swept the next time */
        engine->retain_seq = page ? next : 0;
        for (guint i = 0; page && i < page->len; i++)
                drop_if_old(engine, g_ptr_array_index(page, i), now - keep);
        if (engine->retain_seq > 0)
                return;
        engine->retain_array = 0;
        engine->retain_at = now + CLAMP(keep / 10, 1, JOBS_REST_MAX_MS);
}

/* ---- when ---- */

bool retain_is_due(const Engine *engine, gint64 now)
{
        return surplus(engine) >= EVENTS_STEP || jobs_are_due(engine, now);
}

gint64 retain_due(const Engine *engine)
{
        return engine->config.keep_finished_ms > 0 ? engine->retain_at : 0;
}
