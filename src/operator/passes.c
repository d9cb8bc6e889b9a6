/* Passes over jobs (see passes.h). */
#include "operator/passes.h"

#include <string.h>

#include "base/log.h"
#include "base/resident.h"
#include "base/timer.h"
#include "kube/event.h"
#include "operator/run.h"
#include "operator/view.h"

enum {
        TRIM_MS = 500,   /* from the first list or a pass until the memory that it used is given back */
        WARNED_MAX = 64, /* messages about one generation of a job */
};

struct JobState {
        Passes *passes;
        char *key;
        char *uid;    /* of the job that was looked at */
        Run *run;     /* under way, or NULL */
        bool asking;  /* `begin` has left the pass to later */
        bool touched; /* while it could not be looked at */
        bool more;    /* PLAN_AGAIN */
        bool gone;    /* the job that the pass under way is about */
        bool failed;  /* something before the pass: it is to come again */
        Expect expect;
        gint64 began_us, again_ms; /* again_ms: the plan's */
        GHashTable *warned;        /* messages that its owner has been told of this generation; or NULL */
        gint64 generation;
        char *refusal; /* of something that the server will never take; or NULL */
};

struct Passes {
        PassesConfig config;
        KubeRecorder *recorder;
        KubeQueue *queue;
        GHashTable *states; /* key -> JobState */
        bool leading, stopping, synced;
        void (*stopped)(void *arg);
        void *stopped_arg;
        Timer *trim;
        Figures figures;
};

/* ---- what is remembered ---- */

/* It is about another job from now on. */
static void state_clear(JobState *state)
{
        expect_clear(&state->expect);
        g_clear_pointer(&state->warned, g_hash_table_unref);
        g_clear_pointer(&state->refusal, g_free);
        g_clear_pointer(&state->uid, g_free);
}

static void state_free(void *data)
{
        JobState *state = data;

        run_free(state->run);
        state_clear(state);
        g_free(state->key);
        g_free(state);
}

static bool is_busy(const JobState *state)
{
        return state && (state->run || state->asking);
}

/* The job is to be looked at, now or when it can be. */
static void touch(Passes *passes, const char *key, bool ends_back_off)
{
        JobState *state = g_hash_table_lookup(passes->states, key);

        if (!passes->leading || !passes->synced)
                return; /* all are looked at once that is so */
        if (ends_back_off)
                kube_queue_forget(passes->queue, key);
        if (is_busy(state) || (state && expect_is_pending(&state->expect)))
                state->touched = true;
        else
                kube_queue_add(passes->queue, key);
}

static void on_expired(void *arg)
{
        const JobState *state = arg;

        log_debug("what was done to a job does not show; looking again", "job", state->key, NULL);
        touch(state->passes, state->key, false);
}

static JobState *state_of(Passes *passes, const char *key)
{
        JobState *state = g_hash_table_lookup(passes->states, key);

        if (state)
                return state;
        state = g_new0(JobState, 1);
        state->passes = passes;
        state->key = g_strdup(key);
        state->expect = (Expect){ .find = passes->config.find,
                                  .find_arg = passes->config.arg,
                                  .expired = on_expired,
                                  .arg = state };
        g_hash_table_insert(passes->states, state->key, state);
        return state;
}

/* A job of this name that is another one than before is known by its uid. */
static void state_take(JobState *state, const json_t *job)
{
        if (g_strcmp0(state->uid, kube_uid(job)) == 0)
                return;
        state_clear(state);
        state->uid = g_strdup(kube_uid(job));
}

static const json_t *find_job(const Passes *passes, const char *key)
{
        const char *slash = strchr(key, '/');
        g_autofree char *namespace = g_strndup(key, (gsize)(slash - key));

        return passes->config.find(passes->config.kind, namespace, slash + 1, passes->config.arg);
}

/* ---- the end of a pass ---- */

static void tell_stopped(Passes *passes)
{
        void (*stopped)(void *arg) = passes->stopped;

        if (!passes->stopping || passes->figures.active > 0 || !stopped)
                return;
        passes->stopped = NULL;
        stopped(passes->stopped_arg);
}

/* Freed memory lies between what is kept: a third of the heap after fifty new jobs. */
static void on_trim(void *arg)
{
        resident_give_back();
}

static void trim_soon(Passes *passes)
{
        if (!passes->trim)
                timer_set(&passes->trim, NULL, TRIM_MS, on_trim, passes);
}

/* There is more to do only where what was done has succeeded: the rest of what is refused is refused. */
static WorkResult end_pass(JobState *state, WorkResult result)
{
        Passes *passes = state->passes;
        bool again = state->touched || (state->more && result == WORK_DONE);

        figures_count_pass(&passes->figures, state->began_us, result, again, state->again_ms);
        passes->figures.active--;
        trim_soon(passes);
        if (again && !expect_is_pending(&state->expect)) {
                state->touched = false;
                kube_queue_add(passes->queue, state->key);
        }
        return result;
}

static void keep_refusal(JobState *state, const char *refusal)
{
        if (!state->passes->config.keeps_refusal || !refusal || state->refusal)
                return;
        state->refusal = g_strdup(refusal);
        state->touched = true;
}

static void on_run_done(Run *run, WorkResult result, GPtrArray *expected, void *arg)
{
        JobState *state = arg;
        Passes *passes = state->passes;

        keep_refusal(state, run_refusal(run));
        run_free(run);
        state->run = NULL;
        if (state->gone) /* its results are not awaited */
                g_ptr_array_set_size(expected, 0);
        expect_take(&state->expect, expected);
        result = end_pass(state, state->failed ? WORK_RETRY : result);
        kube_queue_finish(passes->queue, state->key, result);
        tell_stopped(passes);
}

/* ---- a pass ---- */

/* Its owner hears a thing once, until the job changes. */
static void warn_once(JobState *state, const json_t *job, const Action *action)
{
        gint64 generation = kube_get_int(job, "metadata.generation", 0);

        if (state->warned &&
            (state->generation != generation || g_hash_table_size(state->warned) >= WARNED_MAX))
                g_clear_pointer(&state->warned, g_hash_table_unref);
        if (!state->warned)
                state->warned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        state->generation = generation;
        if (!g_hash_table_add(state->warned, g_strdup(action->message)))
                return;
        kube_event(state->passes->recorder, job, EVENT_WARNING, action->reason, "%s", action->message);
        log_warning("a job waits for its owner", "kind", state->passes->config.kind->kind, "job", state->key,
                    "why", action->message, NULL);
}

WorkResult passes_act(JobState *state, const json_t *job, Plan *plan)
{
        Passes *passes = state->passes;
        WorkResult result = plan_result(plan);

        state_take(state, job);
        state->gone = state->touched = false;
        state->more = plan->end == PLAN_AGAIN;
        state->again_ms = plan->again_ms;
        if (plan->again_ms)
                kube_queue_add_after(passes->queue, state->key, plan->again_ms);
        for (guint i = 0; i < plan->actions->len; i++) {
                const Action *action = plan->actions->pdata[i];

                if (action->verb == ACTION_WARN)
                        warn_once(state, job, action);
        }
        state->run = run_start(&(RunConfig){ .client = passes->config.client,
                                             .recorder = passes->recorder,
                                             .etcd = passes->config.etcd,
                                             .kind = passes->config.kind,
                                             .label = passes->config.label,
                                             .job = job,
                                             .plan = plan,
                                             .done = on_run_done,
                                             .arg = state });
        return state->run ? WORK_LATER : end_pass(state, state->failed ? WORK_RETRY : result);
}

/* Called by the queue. */
static WorkResult begin(const char *key, void *arg)
{
        Passes *passes = arg;
        const json_t *job = find_job(passes, key);
        JobState *state;
        WorkResult result;

        if (!job)
                g_hash_table_remove(passes->states, key); /* nothing of it is under way */
        if (!job || !passes->leading || passes->stopping)
                return WORK_DONE;
        state = state_of(passes, key);
        state_take(state, job);
        if (expect_is_pending(&state->expect))
                return WORK_WAIT; /* until it shows, or no longer can */
        state->began_us = g_get_monotonic_time();
        state->touched = state->more = state->failed = state->gone = false;
        state->again_ms = 0;
        passes->figures.active++;
        result = passes->config.begin(state, job, passes->config.arg);
        state->asking = result == WORK_LATER && !state->run;
        return result;
}

const json_t *passes_job(const JobState *state)
{
        return state->passes->stopping ? NULL : find_job(state->passes, state->key);
}

void passes_go_on(JobState *state, const json_t *job, Plan *plan, bool failed)
{
        Passes *passes = state->passes;
        WorkResult result;

        state->asking = false;
        state->failed = failed;
        result = job ? passes_act(state, job, plan) : end_pass(state, WORK_DONE);
        if (result != WORK_LATER)
                kube_queue_finish(passes->queue, state->key, result);
        tell_stopped(passes);
}

const char *passes_key(const JobState *state)
{
        return state->key;
}

const char *passes_refusal(const JobState *state)
{
        return state->refusal;
}

void *passes_arg(const JobState *state)
{
        return state->passes->config.arg;
}

/* ---- what happens ---- */

/* Forgets the job. */
static void drop(Passes *passes, const char *key)
{
        JobState *state = g_hash_table_lookup(passes->states, key);

        kube_queue_forget(passes->queue, key);
        if (is_busy(state))
                state->gone = state->touched = true; /* the next `begin` finds no job, or another one */
        else
                g_hash_table_remove(passes->states, key);
}

bool passes_is_gone(const json_t *old, const json_t *new)
{
        return old && (!new || strcmp(kube_uid(old), kube_uid(new)) != 0);
}

/* True if the job's spec has changed, or its deletion has begun. */
static bool asks_anew(const json_t *old, const json_t *new)
{
        return !old || kube_is_deleting(old) != kube_is_deleting(new) ||
               kube_get_int(old, "metadata.generation", 0) != kube_get_int(new, "metadata.generation", 0);
}

void passes_see_job(Passes *passes, const json_t *old, const json_t *new)
{
        const json_t *job = new ? new : old;
        g_autofree char *key = view_key(kube_namespace(job), kube_name(job));
        bool gone = passes_is_gone(old, new);

        if (gone)
                drop(passes, key);
        if (new)
                touch(passes, key, gone || asks_anew(old, new));
}

void passes_see_owned(Passes *passes, const char *key, const json_t *old, const json_t *new)
{
        touch(passes, key, !old || !new);
}

static void touch_job(const json_t *job, void *arg)
{
        g_autofree char *key = view_key(kube_namespace(job), kube_name(job));

        touch(arg, key, false);
}

static void look_at_all(Passes *passes)
{
        if (passes->leading && passes->synced)
                passes->config.each(touch_job, passes, passes->config.arg);
}

void passes_lead(Passes *passes)
{
        passes->leading = true;
        look_at_all(passes);
}

void passes_synced(Passes *passes)
{
        passes->synced = true;
        trim_soon(passes); /* what the start has used */
        look_at_all(passes);
}

void passes_stop(Passes *passes, void (*done)(void *arg), void *arg)
{
        passes->stopping = true;
        passes->stopped = done;
        passes->stopped_arg = arg;
        tell_stopped(passes);
}

/* ---- the whole ---- */

Passes *passes_new(const PassesConfig *config)
{
        Passes *passes = g_new0(Passes, 1);

        passes->config = *config;
        passes->states = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, state_free);
        passes->recorder = kube_recorder_new(config->client, config->component);
        passes->queue = kube_queue_new(&(KubeQueueConfig){ .work = begin, .arg = passes });
        return passes;
}

void passes_free(Passes *passes)
{
        if (!passes)
                return;
        timer_clear(&passes->trim);
        kube_queue_free(passes->queue);
        g_hash_table_unref(passes->states);
        kube_recorder_free(passes->recorder);
        g_free(passes);
}

static void count_job(const json_t *job, void *arg)
{
        ++*(guint *)arg;
}

void passes_figures(const Passes *passes, Figures *ret)
{
        *ret = passes->figures;
        ret->jobs = 0;
        passes->config.each(count_job, &ret->jobs, passes->config.arg);
        kube_queue_figures(passes->queue, &ret->queue);
}
