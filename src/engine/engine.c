/* The engine's thread and its doors (see engine.h; the way of a batch is drawn in state.h).
 *
 * The thread takes what waits, applies it, lets the clock speak, runs an admission pass, and ends the batch.
 * While a batch is committed the next one collects in the inbox. After a failed commit the clock, the
 * admission and the observations rest for a second or until a commit succeeds, whichever is first; commands
 * are tried at once, so that their callers hear what is so now. */
#include "engine/state.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

enum { BATCH_MAX = 512 }; /* inputs: bounds the time that the first of a batch waits for the last */

gint64 engine_now(const Engine *engine)
{
        return engine->config.now ? engine->config.now(engine->config.now_arg) : clock_now_ms();
}

/* ---- applying ---- */

static bool apply_account(Engine *engine, Input *input)
{
        if (input->account)
                g_ptr_array_add(engine->batch.users, input->account);
        if (input->token)
                g_ptr_array_add(engine->batch.tokens, input->token);
        if (input->kind == INPUT_DROP_TOKEN)
                g_ptr_array_add(engine->batch.dropped_tokens, input->text);
        return true;
}

static bool (*const apply[INPUT_KINDS])(Engine *engine, Input *input) = {
        [INPUT_SUBMIT] = apply_submit,      [INPUT_CANCEL] = apply_cancel,
        [INPUT_PUT_USER] = apply_account,   [INPUT_PUT_TOKEN] = apply_account,
        [INPUT_DROP_TOKEN] = apply_account, [INPUT_OBSERVATION] = apply_observation,
};

static bool is_resting(const Engine *engine)
{
        return engine->retry_at > clock_monotonic_ms();
}

/* What comes after a kept observation is kept, too: their order matters. */
static void apply_inputs(Engine *engine, GQueue *inputs, bool resting)
{
        Input *input;

        while ((input = g_queue_pop_head(inputs))) {
                if (resting && input->kind == INPUT_OBSERVATION)
                        g_queue_push_tail(&engine->held, input);
                else if (apply[input->kind](engine, input))
                        g_queue_push_tail(&engine->batch.inputs, input);
                else
                        g_queue_push_tail(&engine->batch.put_back, input);
        }
}

static void expire(Engine *engine, Live *live)
{
        Life life = batch_life(engine, live);

        life_expired(&life);
        batch_end_life(engine, live, &life);
}

static void fire_timers(Engine *engine)
{
        while (g_sequence_get_length(engine->timers) > 0) {
                Live *live = g_sequence_get(g_sequence_get_begin_iter(engine->timers));

                if (live->due > engine->batch.now)
                        return;
                if (live->job->state == JOB_RUNNING)
                        expire(engine, live);
                else
                        live_settle(engine, live, engine->batch.now); /* its back-off is over */
        }
}

static void refuse_all(Engine *engine, GQueue *inputs)
{
        g_autoptr(GError) error = NULL;
        Input *input;

        err_set(&error, ERR_UNAVAILABLE, "the server has to start anew, as its disk failed");
        while ((input = g_queue_pop_head(inputs)))
                input_answer(input, error);
}

static void turn(Engine *engine, GQueue *inputs)
{
        bool resting = is_resting(engine), idle = inputs->length == 0;

        batch_begin(engine);
        if (!resting) {
                apply_inputs(engine, &engine->held, false);
                fire_timers(engine);
        }
        apply_inputs(engine, inputs, resting);
        if (!resting) {
                engine->retry_at = 0;
                admit_pass(engine);
                retain_events(engine, idle);
                if (idle)
                        retain_jobs(engine);
        }
        batch_end(engine);
        store_checkpoint(engine->store);
}

/* ---- waiting ---- */

/* The earlier of two times, -1 standing for never. */
static gint64 sooner(gint64 a, gint64 b)
{
        return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

/* Until when to wait, monotonic ms; -1: for ever, 0: not at all. */
static gint64 next_turn(const Engine *engine)
{
        gint64 now = engine_now(engine), monotonic = clock_monotonic_ms(), until = -1,
               due = retain_due(engine);

        if (engine->retry_at > monotonic)
                return engine->retry_at;
        if (engine->held.length > 0 || retain_is_due(engine, now) ||
            (engine->pass_due && engine->connected && g_sequence_get_length(engine->eligible) > 0))
                return 0;
        if (engine->ports_at && engine->connected)
                until = engine->ports_at;
        if (due)
                until = sooner(until, monotonic + due - now);
        if (g_sequence_get_length(engine->timers) > 0) {
                const Live *first = g_sequence_get(g_sequence_get_begin_iter(engine->timers));

                until = sooner(until, monotonic + MAX(first->due - now, 0));
        }
        return until;
}

/* The next inputs. False when the engine ends. */
static bool take(Engine *engine, GQueue *ret)
{
        guint max = engine->singly > 0 ? 1 : BATCH_MAX;

        if (engine->singly > 0)
                engine->singly--;
        return inbox_take(&engine->inbox, max, engine->dead ? -1 : next_turn(engine), ret);
}

static void *run(void *arg)
{
        Engine *engine = arg;
        GQueue inputs = G_QUEUE_INIT;

        pthread_setname_np(pthread_self(), "engine");
        while (take(engine, &inputs)) {
                if (engine->dead)
                        refuse_all(engine, &inputs);
                else
                        turn(engine, &inputs);
        }
        return NULL;
}

void engine_poke(Engine *engine)
{
        inbox_poke(&engine->inbox);
}

static void observe(Observation *observation, void *arg)
{
        Engine *engine = arg;
        Input *input = input_new(INPUT_OBSERVATION, NULL, NULL);

        input->observation = observation;
        inbox_put(&engine->inbox, input);
}

/* ---- starting and stopping ---- */

static void keep_ports(Engine *engine, const Job *job)
{
        g_autofree int *ports = g_new0(int, job->n_members + 1);
        int n = 0;

        for (int i = 0; i < job->n_members; i++)
                if (job->members[i].port)
                        ports[n++] = job->members[i].port;
        if (job->extra_port)
                ports[n++] = job->extra_port;
        if (n > 0)
                engine->runtime->ops->keep_ports(engine->runtime, job->id, n, ports);
}

static void adopt(Engine *engine, Job *job, GArray *changes)
{
        Live *live = live_add(engine, job_ref(job));
        ViewChange change = { .now = live->job };

        if (!life_is_at_rest(job)) {
                live_hold(engine, live, job);
                keep_ports(engine, job);
        }
        live_settle(engine, live, engine_now(engine));
        batch_count(&engine->metrics, NULL, job);
        g_array_append_val(changes, change);
}

static void adopt_all(Engine *engine, GPtrArray *jobs)
{
        g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(ViewChange));
        g_autoptr(GPtrArray) none = g_ptr_array_new();

        for (guint i = 0; i < jobs->len; i++)
                adopt(engine, g_ptr_array_index(jobs, i), changes);
        engine->metrics.submitted = 0; /* of this run */
        engine->pass_due = true;
        batch_publish(engine, (const ViewChange *)(void *)changes->data, changes->len, none);
}

static void job_unref_p(gpointer job)
{
        job_unref(job);
}

static bool load(Engine *engine, GError **error)
{
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(job_unref_p);
        StoreState state = { 0 };
        Resources total = { 0 };

        if (!store_load(engine->store, &state, jobs, error))
                return false;
        engine->seq = state.last_seq;
        engine->revision = state.last_revision;
        engine->horizon = state.events_horizon;
        engine->boot_due = strcmp(state.boot_id, engine->boot_id) != 0;
        engine->rebooted = engine->boot_due && state.boot_id[0];
        if (!engine->runtime->ops->open(engine->runtime, observe, engine, error))
                return false;
        engine->open = true;
        engine->runtime->ops->inventory(engine->runtime, &total);
        live_inventory(engine, &total, engine_now(engine));
        adopt_all(engine, jobs);
        return true;
}

/* The thread takes no signals: those are the main loop's. */
static bool start_thread(Engine *engine, GError **error)
{
        sigset_t all, before;
        int err;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        err = pthread_create(&engine->thread, NULL, run, engine);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (err)
                return err_set_errno(error, err, "cannot start the engine's thread");
        engine->running = true;
        return true;
}

Engine *engine_new(const EngineConfig *config, GError **error)
{
        g_autoptr(Engine) engine = g_new0(Engine, 1);

        engine->config = *config;
        engine->store = config->store;
        engine->runtime = config->runtime;
        engine->dc = g_strdup(config->dc);
        g_strlcpy(engine->boot_id, config->boot_id ? config->boot_id : "", sizeof engine->boot_id);
        engine->views = views_new();
        engine->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_queue_init(&engine->held);
        inbox_init(&engine->inbox);
        batch_init(&engine->batch);
        live_init(engine);
        if (!load(engine, error) || !start_thread(engine, error))
                return NULL;
        return g_steal_pointer(&engine);
}

static void input_free_p(gpointer input)
{
        input_free(input);
}

void engine_free(Engine *engine)
{
        if (!engine)
                return;
        if (engine->running) {
                inbox_close(&engine->inbox);
                pthread_join(engine->thread, NULL);
        }
        if (engine->open)
                engine->runtime->ops->close(engine->runtime);
        inbox_clear(&engine->inbox);
        g_queue_clear_full(&engine->held, input_free_p);
        live_clear(engine);
        batch_clear(&engine->batch);
        g_hash_table_unref(engine->seen);
        views_free(engine->views);
        g_free(engine->dc);
        g_free(engine);
}

/* ---- commands ---- */

void engine_submit(Engine *engine, const char *user, Spec *spec, const char *idempotency_key, EngineDone done,
                   void *arg)
{
        Input *input = input_new(INPUT_SUBMIT, done, arg);

        input->user = g_strdup(user);
        input->text = g_strdup(idempotency_key);
        input->spec = spec_ref(spec);
        inbox_put(&engine->inbox, input);
}

void engine_cancel(Engine *engine, const char *job_id, const char *by, EngineDone done, void *arg)
{
        Input *input = input_new(INPUT_CANCEL, done, arg);

        input->user = g_strdup(by);
        input->text = g_strdup(job_id);
        inbox_put(&engine->inbox, input);
}

void engine_put_user(Engine *engine, const User *user, EngineDone done, void *arg)
{
        Input *input = input_new(INPUT_PUT_USER, done, arg);

        input->account = g_new0(User, 1);
        *input->account =
                (User){ .name = g_strdup(user->name), .admin = user->admin, .created = user->created };
        inbox_put(&engine->inbox, input);
}

void engine_put_token(Engine *engine, const Token *token, EngineDone done, void *arg)
{
        Input *input = input_new(INPUT_PUT_TOKEN, done, arg);

        input->token = g_new0(Token, 1);
        *input->token = (Token){ .id = g_strdup(token->id),
                                 .user = g_strdup(token->user),
                                 .hash = g_strdup(token->hash),
                                 .note = g_strdup(token->note),
                                 .created = token->created,
                                 .expires = token->expires };
        inbox_put(&engine->inbox, input);
}

void engine_drop_token(Engine *engine, const char *id, EngineDone done, void *arg)
{
        Input *input = input_new(INPUT_DROP_TOKEN, done, arg);

        input->text = g_strdup(id);
        inbox_put(&engine->inbox, input);
}

/* ---- reading ---- */

Job *engine_job(Engine *engine, const char *id)
{
        return views_job(engine->views, id);
}

Job *engine_job_by_name(Engine *engine, const char *user, const char *name)
{
        return views_job_by_name(engine->views, user, name);
}

/* Live first: a job that leaves the views is in the store before. An id may be another job's name, so ids
 * come first. */
Job *engine_find(Engine *engine, const char *user, const char *id_or_name, GError **error)
{
        Job *job = id_is_valid(id_or_name) ? views_job(engine->views, id_or_name) : NULL;
        g_autoptr(GError) failed = NULL;

        if (!job && id_is_valid(id_or_name))
                job = store_job_by_id(engine->store, id_or_name, &failed);
        if (!job && (!failed || err_is(failed, ERR_NOT_FOUND)) && user) {
                g_clear_error(&failed);
                job = views_job_by_name(engine->views, user, id_or_name);
                if (!job)
                        job = store_job_by_name(engine->store, user, id_or_name, &failed);
        }
        if (!job && err_is(failed, ERR_NOT_FOUND))
                err_set(error, ERR_NOT_FOUND, "no job '%s' of '%s'\n`paddle list --all` shows all jobs.",
                        id_or_name, user ? user : "anybody");
        else if (!job)
                g_propagate_error(error, g_steal_pointer(&failed));
        return job;
}

gint64 engine_revision(Engine *engine)
{
        ViewState state;

        views_state(engine->views, &state);
        return state.revision;
}

void engine_watch(Engine *engine, EngineWake wake, void *arg)
{
        views_watch(engine->views, wake, arg);
}

void engine_unwatch(Engine *engine, EngineWake wake, void *arg)
{
        views_unwatch(engine->views, wake, arg);
}

bool engine_is_ready(Engine *engine)
{
        ViewState state;

        views_state(engine->views, &state);
        return state.ready;
}

void engine_metrics(Engine *engine, EngineMetrics *ret)
{
        ViewState state;

        views_state(engine->views, &state);
        *ret = state.metrics;
}
