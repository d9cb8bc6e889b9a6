/* The preparations of jobs (model/preparation.h): which ones a job has in its cluster, the requests to the cluster's
 * runtime, and its answers. life.c decides what they mean for the job; building.c starts those that are counted in a
 * queue. */
#include "engine/state.h"

/* As long as the runtime of a cluster is not open, its jobs are taken to need an image. This machine's is open. */
static bool is_made(Runtime *runtime, PreparationKind kind)
{
        return runtime ? runtime_has_preparation(runtime, kind) : kind == PREPARE_IMAGE;
}

/* Asks the runtime once in a batch for all jobs of an array. */
static bool is_prepared(Engine *engine, const Job *job, PreparationKind kind)
{
        PreparedMemo *memo = &engine->batch.prepared;

        if (!job->spec_seq || memo->spec_seq != job->spec_seq ||
            memo->queue != job->queue) /* 0: of a dry run */
                *memo = (PreparedMemo){ .spec_seq = job->spec_seq, .queue = job->queue };
        if (!memo->asked[kind]) {
                RuntimeAttempt attempt = attempt_of(engine, job);

                memo->prepared[kind] = runtime_is_prepared(slot_of(engine, job)->runtime, kind, &attempt);
        }
        memo->asked[kind] = true;
        return memo->prepared[kind];
}

/* ---- the list of a job ---- */

void preparing_begin(Engine *engine, Job *job)
{
        Runtime *runtime = slot_of(engine, job)->runtime;

        job_drop_preparations(job);
        for (int kind = 0; kind < PREPARE_KINDS; kind++) {
                if (!is_made(runtime, kind))
                        continue;
                if (!is_prepared(engine, job, kind))
                        (void)job_add_preparation(job, kind, building_first(engine, job, kind));
                else if (preparation_info(kind)->needs(job->spec))
                        (void)job_add_preparation(job, kind, PREPARATION_READY);
        }
}

void preparing_check(Engine *engine, Job *job)
{
        Runtime *runtime = slot_of(engine, job)->runtime;

        for (int kind = 0; kind < PREPARE_KINDS; kind++)
                if (is_made(runtime, kind) && preparation_info(kind)->needs(job->spec))
                        (void)job_add_preparation(job, kind,
                                                  is_prepared(engine, job, kind) ? PREPARATION_READY
                                                                                 : PREPARATION_WAITING);
}

void preparing_move(Engine *engine, Job *job)
{
        preparing_begin(engine, job);
        for (int i = 0; i < job->n_preparations; i++) {
                Preparation *one = &job->preparations[i];

                if (one->state == PREPARATION_RUNNING && job->state == JOB_SUSPENDED)
                        one->state = PREPARATION_WAITING; /* nothing is prepared for a held job */
                else if (one->state == PREPARATION_RUNNING)
                        one->begun = engine->batch.now;
        }
}

/* ---- a list and the runtime ----
 * The store does not tell an image from an environment, and what a job needs in a cluster is not known before its
 * runtime is open. The job waits for one of the two then, and the runtime decides for which. */

static bool is_foreign(Runtime *runtime, const Preparation *one)
{
        return one->state != PREPARATION_READY && !is_made(runtime, one->kind);
}

static bool has_foreign(Runtime *runtime, const Job *job)
{
        for (int i = 0; i < job->n_preparations; i++)
                if (is_foreign(runtime, &job->preparations[i]))
                        return true;
        return false;
}

/* Gives it the kind that the runtime makes instead. */
static void adapt(Runtime *runtime, const Job *job, Preparation *one)
{
        for (int kind = 0; is_foreign(runtime, one) && kind < PREPARE_KINDS; kind++)
                if (is_made(runtime, kind) && preparation_info(kind)->is_environment &&
                    preparation_info(one->kind)->is_environment && !job_preparation(job, kind))
                        one->kind = (guint8)kind;
}

static void adapt_all(Runtime *runtime, Job *job)
{
        for (int i = 0; i < job->n_preparations; i++)
                adapt(runtime, job, &job->preparations[i]);
}

void preparing_load(Engine *engine, Job *job)
{
        if (job->n_preparations > 0)
                adapt_all(slot_of(engine, job)->runtime, job);
}

static void adapt_live(Engine *engine, const RuntimeSlot *slot, Live *live)
{
        Life life = batch_life(engine, live);
        Job *job = live->job;

        adapt_all(slot->runtime, job);
        for (int i = 0; i < job->n_preparations; i++)
                if (is_foreign(slot->runtime, &job->preparations[i])) /* nothing is needed there */
                        life_prepared(&life, job->preparations[i].kind);
        batch_end_life(engine, live, &life);
}

void preparing_synced(Engine *engine, const RuntimeSlot *slot)
{
        g_autoptr(GList) lives = g_hash_table_get_keys(engine->by_id);

        for (GList *at = lives; at; at = at->next) {
                Live *live = at->data;

                if (has_foreign(slot->runtime, live->job) && !job_state_is_final(live->job->state) &&
                    slot_of(engine, live->job) == slot)
                        adapt_live(engine, slot, live);
        }
}

/* ---- the steps ---- */

static void resume(Engine *engine, Life *life, Preparation *one)
{
        PreparationState state;

        if (one->state != PREPARATION_WAITING && one->state != PREPARATION_RUNNING)
                return;
        if (is_prepared(engine, life->job, one->kind)) {
                life_prepared(life, one->kind);
                return;
        }
        state = building_first(engine, life->job, one->kind);
        if (state == PREPARATION_RUNNING)
                life_preparing(life, one->kind);
        else
                one->state = (guint8)state;
}

void preparing_resume(Engine *engine, Life *life)
{
        for (int i = 0; i < life->job->n_preparations; i++)
                resume(engine, life, &life->job->preparations[i]);
}

void preparing_observed(Engine *engine, const RuntimeSlot *slot, const Observation *observed)
{
        Live *live = live_find(engine, observed->task);
        const Preparation *one = live ? job_preparation(live->job, observed->preparation) : NULL;
        Life life;

        if (!one || slot_of(engine, live->job) != slot || one->state != PREPARATION_RUNNING ||
            (live->job->state != JOB_QUEUED && live->job->state != JOB_SUSPENDED))
                return;
        life = batch_life(engine, live);
        if (observed->kind == OBSERVED_PREPARED)
                life_prepared(&life, observed->preparation);
        else
                life_unprepared(&life, observed->preparation, observed->text);
        batch_end_life(engine, live, &life);
}

/* ---- requests to the runtime ---- */

/* The runtime was asked for it, and has not answered. */
static bool is_requested(const Job *job, PreparationKind kind)
{
        const Preparation *one = job && job->state == JOB_QUEUED ? job_preparation(job, kind) : NULL;

        return one && one->state == PREPARATION_RUNNING;
}

static void request(Engine *engine, const RuntimeSlot *slot, const Job *job, PreparationKind kind)
{
        RuntimeAttempt attempt = attempt_of(engine, job);

        (void)building_wants(engine->catalog, slot->runtime, job, kind, &attempt.builder);
        runtime_prepare(slot->runtime, kind, &attempt);
}

void preparing_request(Engine *engine, const RuntimeSlot *slot, const Job *was, const Job *now)
{
        bool moved =
                now->n_preparations > 0 && was && was->queue != now->queue && slot_of(engine, was) != slot;

        for (int i = 0; i < now->n_preparations; i++) {
                PreparationKind kind = now->preparations[i].kind;

                if (is_requested(now, kind) && (moved || !is_requested(was, kind)))
                        request(engine, slot, now, kind);
        }
}

/* The runtime that was asked: the job may have moved to another cluster since. A disconnected runtime is told as well:
 * once the job has ended, the engine does not know any more that it was asked. */
void preparing_abandon(Engine *engine, const RuntimeSlot *slot, const Job *was, const Job *now)
{
        for (int i = 0; was && i < was->n_preparations; i++) {
                PreparationKind kind = was->preparations[i].kind;
                const RuntimeSlot *asked = is_requested(was, kind) ? slot_of(engine, was) : NULL;

                if (asked && (job_state_is_final(now->state) || now->state == JOB_SUSPENDED || asked != slot))
                        runtime_abandon(asked->runtime, kind, now->id);
        }
}
