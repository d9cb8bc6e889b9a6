/* Jobs that wait for others. job->after holds what is still awaited, as "kind:ID": of a job, or of a whole
 * array (array.h). What ends in a batch is looked up among the waiters in the same batch: an entry that holds
 * is taken off, one that can no longer hold cancels the job, whose own end then counts, too.
 *
 * The table of waiters is only an index: an entry too many does no harm, since the job's own list decides. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"

/* The jobs that wait for one job or array. */
typedef struct {
        char id[ARRAY_ID_LEN + 1];
        GArray *seqs; /* gint64: of the waiting jobs */
} Waiters;

static void waiters_free(gpointer data)
{
        Waiters *waiters = data;

        g_array_unref(waiters->seqs);
        g_free(waiters);
}

void depend_init(Engine *engine)
{
        engine->waiters = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, waiters_free);
}

void depend_clear(Engine *engine)
{
        g_hash_table_unref(engine->waiters);
}

void depend_note(Engine *engine, const Job *job)
{
        for (char **at = job->after; at && *at; at++) {
                const char *id = strchr(*at, ':');
                Waiters *waiters = id ? g_hash_table_lookup(engine->waiters, id + 1) : NULL;

                if (!id)
                        continue;
                if (!waiters) {
                        waiters = g_new0(Waiters, 1);
                        g_strlcpy(waiters->id, id + 1, sizeof waiters->id);
                        waiters->seqs = g_array_new(FALSE, FALSE, sizeof(gint64));
                        g_hash_table_insert(engine->waiters, waiters->id, waiters);
                }
                g_array_append_val(waiters->seqs, job->seq);
        }
}

/* ---- what an end means ---- */

/* Of a job, or of all jobs of an array. */
typedef struct {
        const char *what, *id, *name;
        bool ok;
        JobState state; /* of one that was not */
} Outcome;

static bool holds(AfterKind kind, const Outcome *outcome)
{
        return kind == AFTER_ANY || (kind == AFTER_OK) == outcome->ok;
}

static void give_up(Life *life, AfterKind kind, const Outcome *outcome)
{
        static const struct {
                JobState state;
                const char *words;
        } ends[] = { { JOB_FAILED, "failed" },
                     { JOB_CANCELLED, "was cancelled" },
                     { JOB_PREEMPTED, "was preempted" } };
        const char *end = "succeeded";

        for (gsize i = 0; !outcome->ok && i < G_N_ELEMENTS(ends); i++)
                if (ends[i].state == outcome->state)
                        end = ends[i].words;
        life_given_up(life, g_strdup_printf("it waited for %s '%s' (%s) to %s, but that %s", outcome->what,
                                            outcome->name, outcome->id, kind == AFTER_OK ? "succeed" : "fail",
                                            end));
}

/* One entry of one job. */
static void settle_entry(Engine *engine, Live *live, const char *entry, AfterKind kind,
                         const Outcome *outcome)
{
        Life life = batch_life(engine, live);

        if (holds(kind, outcome))
                life_after(&life, entry);
        else
                give_up(&life, kind, outcome);
        batch_end_life(engine, live, &life);
}

static void tell(Engine *engine, Live *live, const Outcome *outcome)
{
        g_auto(GStrv) entries = g_strdupv(live->job->after);

        for (char **at = entries; at && *at && !job_state_is_final(live->job->state); at++) {
                const char *id;
                AfterKind kind;

                if (after_parse(*at, &kind, &id, NULL) && strcmp(id, outcome->id) == 0)
                        settle_entry(engine, live, *at, kind, outcome);
        }
}

static void tell_all(Engine *engine, const Outcome *outcome)
{
        Waiters *waiters = g_hash_table_lookup(engine->waiters, outcome->id);

        for (guint i = 0; waiters && i < waiters->seqs->len; i++) {
                Live *live = live_by_seq(engine, g_array_index(waiters->seqs, gint64, i));

                if (live && live->job->after && !job_state_is_final(live->job->state))
                        tell(engine, live, outcome);
        }
        if (waiters)
                g_hash_table_remove(engine->waiters, waiters->id);
}

/* ---- arrays ---- */

JobState depend_array_state(Engine *engine, gint64 array)
{
        for (guint i = 0; i < engine->batch.dirty->len; i++) {
                const Job *job = ((Live *)g_ptr_array_index(engine->batch.dirty, i))->job;

                if (job->array_seq == array && job_state_is_final(job->state) && job->state != JOB_SUCCEEDED)
                        return job->state;
        }
        return live_array_state(engine, array);
}

static void array_ended(Engine *engine, const Job *last)
{
        const char *id = live_array_id(engine, last->array_seq);
        g_autofree char *name = array_name(last);
        Outcome outcome = { .what = "array", .id = id, .name = name };

        if (!id || !g_hash_table_contains(engine->waiters, id) ||
            live_array_open(engine, last->array_seq) > 0)
                return;
        outcome.state = depend_array_state(engine, last->array_seq);
        outcome.ok = outcome.state == JOB_SUCCEEDED;
        tell_all(engine, &outcome);
}

/* ---- the batch ---- */

static void tell_waiters(Engine *engine, const Job *job)
{
        g_autofree char *name = element_name(job);
        const Outcome outcome = { "job", job->id, name, job->state == JOB_SUCCEEDED, job->state };

        tell_all(engine, &outcome);
        if (job->array_seq)
                array_ended(engine, job);
}

void depend_run(Engine *engine)
{
        GPtrArray *ended = engine->batch.ended;

        for (guint i = 0; i < ended->len; i++) {
                const Job *job = ((Live *)g_ptr_array_index(ended, i))->job;

                if (job->run_seq)
                        runs_job_ended(engine, job);
                if (job->run_seq && g_hash_table_size(engine->cache_waits) > 0)
                        runs_cache_note_job_ended(engine, job->seq);
                if (g_hash_table_size(engine->waiters) > 0)
                        tell_waiters(engine, job);
        }
        g_ptr_array_set_size(ended, 0);
}
