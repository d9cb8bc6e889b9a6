/* The engine's thread, its start and end, and what other threads read of it (see engine.h; the way of a batch is
 * drawn in state.h).
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
#include "base/log.h"
#include "model/array.h"
#include "store/guard.h"

enum {
        BATCH_MAX = 512, /* commands: bounds the time that the first of a batch waits for the last */
        USAGE_MS = 60000,
        FLUSH_MS = 1000,      /* of the scheduler's journal */
        CLOCK_MS = 60 * 1000, /* after which the wall clock is looked at again: it may jump */
        /* A generated name ends with the first 6 characters of the id: the 4 behind the start keep such names apart. */
        ID_START = 2, /* characters */
        ID_START_USES = 128,
};

gint64 engine_now(const Engine *engine)
{
        return engine->config.now ? engine->config.now(engine->config.now_arg) : clock_now_ms();
}

bool engine_may_write(const Engine *engine, const char *user, GError **error)
{
        const EngineConfig *config = &engine->config;

        return !config->may_write || config->may_write(user, config->may_write_arg, error);
}

void engine_new_id(Engine *engine, char ret[ID_LEN + 1])
{
        if (engine->config.new_id) {
                engine->config.new_id(ret, engine->config.new_id_arg);
                return;
        }
        id_new(ret);
        if (engine->id_start_left-- == 0) {
                memcpy(engine->id_start, ret, sizeof engine->id_start);
                engine->id_start_left = ID_START_USES - 1;
        }
        memcpy(ret, engine->id_start, ID_START);
}

/* ---- applying ---- */

static bool is_resting(const Engine *engine)
{
        return engine->retry_at > clock_monotonic_ms();
}

/* Observations that follow a kept one are kept, too: their order matters. */
static void apply_all(Engine *engine, GQueue *commands, bool resting)
{
        Command *command;

        while ((command = g_queue_pop_head(commands))) {
                store_forbid_reads(command->ops->name);
                if (resting && command->ops->is_observation)
                        g_queue_push_tail(&engine->held, command);
                else if (command->ops->apply(engine, command))
                        g_queue_push_tail(&engine->batch.commands, command);
                else
                        g_queue_push_tail(&engine->batch.put_back, command);
        }
}

static void fire_timers(Engine *engine)
{
        while (g_sequence_get_length(engine->timers) > 0) {
                Live *live = g_sequence_get(g_sequence_get_begin_iter(engine->timers));
                Life life;

                if (live->due > engine->batch.now)
                        return;
                if (live_put_off(engine, live))
                        continue;
                life = batch_life(engine, live);
                life_clock(&life);
                batch_end_life(engine, live, &life);
        }
}

static void refuse_all(Engine *engine, GQueue *commands)
{
        g_autoptr(GError) error = NULL;
        Command *command;

        err_set(&error, ERR_UNAVAILABLE, "the server has to be restarted, because its disk failed");
        while ((command = g_queue_pop_head(commands)))
                command_answer(engine, command, error);
}

/* Usage goes with a batch that is there anyway, at most once a minute. */
static void keep_usage(Engine *engine)
{
        gint64 now = clock_monotonic_ms();

        if (engine->batch.dirty->len == 0 || engine->usage_at > now)
                return;
        engine->usage_at = now + USAGE_MS;
        feed_take_usage(engine, engine->batch.usage);
}

static void flush_journal(Engine *engine, bool idle)
{
        g_autoptr(GError) error = NULL;
        gint64 now = clock_monotonic_ms();

        if (!engine->flush_at && !idle)
                engine->flush_at = now + FLUSH_MS;
        if (!engine->flush_at || now < engine->flush_at)
                return;
        engine->flush_at = 0;
        if (!journal_flush(engine->journal, &error))
                log_warning(
                        "the scheduler's journal cannot be written; decisions are not recorded for a while",
                        "error", error->message, NULL);
}

/* The flush of the scheduler's journal: everything that was decided before this command. */
static bool apply_flush(Engine *engine, Command *command)
{
        engine->flush_at = 1; /* it is due */
        flush_journal(engine, true);
        return true;
}

static const CommandOps flush_ops = { .name = "flush journal",
                                      .size = sizeof(Command),
                                      .apply = apply_flush };

void engine_flush_journal(Engine *engine, EngineDone done, void *arg)
{
        inbox_put(&engine->inbox, command_new(&flush_ops, done, arg));
}

/* Everything that changes drafts. The store is not read here: what commands need of it they bring along (reads.h). */
static void fill_batch(Engine *engine, GQueue *commands, bool resting, bool idle)
{
        store_forbid_reads("timers");
        if (!resting) {
                apply_all(engine, &engine->held, false);
                fire_timers(engine);
        }
        apply_all(engine, commands, resting);
        store_forbid_reads("dependencies and admission");
        depend_run(engine);
        if (!resting) {
                engine->retry_at = 0;
                schedules_work(engine);
                runs_work(engine);
                admit_pass(engine);
                keep_usage(engine);
        }
        store_forbid_reads("retention");
        if (!resting)
                retain_events(engine, idle);
        if (!resting && idle) {
                retain_jobs(engine);
                retain_runs(engine);
                retain_cache(engine);
        }
        store_forbid_reads(NULL);
}

static void turn(Engine *engine, GQueue *commands)
{
        bool resting = is_resting(engine), idle = commands->length == 0;

        batch_begin(engine);
        fill_batch(engine, commands, resting, idle);
        batch_end(engine);
        store_checkpoint(engine->store);
        flush_journal(engine, idle);
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
        gint64 now = engine_now(engine), monotonic = clock_monotonic_ms(), until, due = retain_due(engine),
               runs = runs_due(engine), schedules = schedules_due(engine);

        if (engine->retry_at > monotonic)
                return engine->retry_at;
        if (engine->held.length > 0 || retain_is_due(engine, now) || runs == G_MININT64)
                return 0;
        until = admit_due(engine);
        if (until == 0)
                return 0;
        if (engine->flush_at)
                until = sooner(until, engine->flush_at);
        if (due)
                until = sooner(until, monotonic + due - now);
        if (runs)
                until = sooner(until, monotonic + MAX(runs - now, 0));
        if (schedules)
                until = sooner(until, monotonic + CLAMP(schedules - now, 0, CLOCK_MS));
        if (!engine->sweeps_runs)
                until = sooner(until, monotonic + MAX(engine->retain_runs_at - now, 0));
        if (!engine->sweeps_cache)
                until = sooner(until, monotonic + MAX(engine->retain_cache_at - now, 0));
        if (g_sequence_get_length(engine->timers) > 0) {
                const Live *first = g_sequence_get(g_sequence_get_begin_iter(engine->timers));

                until = sooner(until, monotonic + MAX(first->due - now, 0));
        }
        return until;
}

/* The next commands. False when the engine ends. */
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
        GQueue commands = G_QUEUE_INIT;

        pthread_setname_np(pthread_self(), "engine");
        while (take(engine, &commands)) {
                if (engine->dead)
                        refuse_all(engine, &commands);
                else
                        turn(engine, &commands);
        }
        return NULL;
}

void engine_poke(Engine *engine)
{
        inbox_poke(&engine->inbox);
}

/* ---- starting and stopping ---- */

static void keep_ports(Engine *engine, const Job *job)
{
        g_autofree int *ports = g_new0(int, job->n_members + 1);
        Runtime *runtime = slot_of(engine, job)->runtime;
        int n = 0;

        for (int i = 0; i < job->n_members; i++)
                if (job->members[i].port)
                        ports[n++] = job->members[i].port;
        if (job->extra_port)
                ports[n++] = job->extra_port;
        if (n > 0 && runtime)
                runtime->ops->keep_ports(runtime, job->id, n, ports);
}

static void adopt(Engine *engine, Job *job, GArray *changes)
{
        Live *live = live_add(engine, job_ref(job));
        ViewChange change = { .now = live->job };

        preparing_load(engine, job);
        if (!life_is_at_rest(job))
                keep_ports(engine, job);
        live_settle(engine, live);
        depend_note(engine, job);
        batch_count(&engine->metrics, NULL, job);
        g_array_append_val(changes, change);
}

static void adopt_all(Engine *engine, GPtrArray *jobs)
{
        g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(ViewChange));
        g_autoptr(GPtrArray) none = g_ptr_array_new();

        for (guint i = 0; i < jobs->len; i++)
                adopt(engine, g_ptr_array_index(jobs, i), changes);
        feed_jobs(engine);
        engine->metrics.submitted = engine->metrics.evictions = 0; /* of this run */
        engine->pass_due = engine->figures_due = true;
        batch_publish(engine, (const ViewChange *)(void *)changes->data, changes->len, none);
}

static bool open_scheduler(Engine *engine, GError **error)
{
        JournalSink sink;

        if (engine->journal_dir && !journal_files(engine->journal_dir, &sink, error))
                return false;
        engine->scheduler = scheduler_new(&engine->config.scheduler);
        engine->journal = journal_new(engine->scheduler, engine->journal_dir ? &sink : NULL, NULL);
        return true;
}

static bool load(Engine *engine, GError **error)
{
        g_auto(StoreState) state = { 0 };

        if (!store_load(engine->store, &state, error))
                return false;
        engine->seq = state.last_seq;
        engine->object_seq = state.last_object_seq;
        engine->revision = state.last_revision;
        engine->horizon = state.events_horizon;
        engine->boot_due = strcmp(state.boot_id, engine->boot_id) != 0;
        engine->rebooted = engine->boot_due && state.boot_id[0];
        if (!objects_load(engine, state.loaded[RECORD_OBJECT], error) || !open_scheduler(engine, error))
                return false;
        if (!slots_open(engine, error))
                return false;
        feed_queues(engine, engine->catalog);
        feed_usage(engine, state.loaded[RECORD_USAGE]);
        adopt_all(engine, state.loaded[RECORD_JOB]);
        engine->run_seq = state.last_run_seq;
        pipelines_load(engine, &state);
        schedules_load(engine, &state);
        runs_load(engine, &state);
        return live_load_arrays(engine, error);
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

static void copy_config(Engine *engine, const EngineConfig *config)
{
        engine->config = *config;
        engine->store = config->store;
        engine->dc = g_strdup(config->dc);
        engine->node_name = g_strdup(config->node_name ? config->node_name : "local");
        engine->node_labels = g_strdupv((char **)config->node_labels);
        engine->journal_dir = g_strdup(config->journal_dir);
        engine->config.homes = g_strdup(config->homes);
        if (config->scheduler.topology)
                engine->topology = g_strsplit(config->scheduler.topology, ",", -1);
        g_strlcpy(engine->boot_id, config->boot_id ? config->boot_id : "", sizeof engine->boot_id);
}

Engine *engine_new(const EngineConfig *config, GError **error)
{
        g_autoptr(Engine) engine = g_new0(Engine, 1);

        copy_config(engine, config);
        engine->views = views_new();
        engine->queue_ids = ids_new();
        engine->user_ids = ids_new();
        slots_init(engine);
        engine->portless = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_queue_init(&engine->held);
        inbox_init(&engine->inbox);
        reads_init(&engine->reads);
        batch_init(&engine->batch);
        decisions_init(&engine->decisions);
        live_init(engine);
        depend_init(engine);
        submit_init(engine);
        engine->pool = thread_pool_new(
                &(ThreadPoolConfig){ .name = "engine reads", .threads = 1, .background = true });
        runs_init(engine);
        pipelines_init(engine);
        schedules_init(engine);
        if (!load(engine, error) || !start_thread(engine, error))
                return NULL;
        return g_steal_pointer(&engine);
}

/* Stores the recent usage of users once more. If this commit fails, at most a minute of it is lost. */
static void store_usage(Engine *engine)
{
        g_autoptr(GPtrArray) usage = g_ptr_array_new_with_free_func((GDestroyNotify)usage_free);
        g_autofree StoreRecord *records = NULL;
        StoreFailure failure;

        feed_take_usage(engine, usage);
        records = g_new(StoreRecord, usage->len);
        for (guint i = 0; i < usage->len; i++)
                records[i] = (StoreRecord){ RECORD_USAGE, RECORD_PUT, usage->pdata[i] };
        if (usage->len > 0 && !engine->dead)
                (void)store_commit(engine->store, &(StoreBatch){ records, usage->len }, &failure, NULL);
}

static void command_free_p(gpointer command)
{
        command_free(command);
}

void engine_free(Engine *engine)
{
        if (!engine)
                return;
        if (engine->running) {
                inbox_close(&engine->inbox);
                pthread_join(engine->thread, NULL);
                store_usage(engine);
        }
        thread_pool_free(engine->pool); /* its works end in the inbox */
        slots_close(engine);
        runs_stop(engine);
        inbox_clear(&engine->inbox);
        g_queue_clear_full(&engine->held, command_free_p);
        live_clear(engine);
        depend_clear(engine);
        submit_clear(engine);
        runs_clear(engine);
        schedules_clear(engine);
        pipelines_clear(engine);
        batch_clear(&engine->batch);
        reads_clear(&engine->reads);
        decisions_clear(&engine->decisions);
        journal_free(engine->journal);
        scheduler_free(engine->scheduler);
        catalog_unref(engine->catalog);
        ids_free(engine->queue_ids);
        ids_free(engine->user_ids);
        g_array_unref(engine->portless);
        views_free(engine->views);
        slots_free(engine);
        g_strfreev(engine->node_labels);
        g_strfreev(engine->topology);
        g_free(engine->node_name);
        g_free(engine->journal_dir);
        g_free((char *)engine->config.homes);
        g_free(engine->dc);
        g_free(engine);
}

/* ---- reading ---- */

Job *engine_job(Engine *engine, const char *id)
{
        return views_job(engine->views, id);
}

Catalog *engine_catalog(Engine *engine)
{
        return views_catalog(engine->views);
}

gint64 engine_queue_open(Engine *engine, const char *queue)
{
        return views_open_in(engine->views, queue);
}

SchedulerFigures *engine_figures(Engine *engine)
{
        return views_figures(engine->views);
}

int engine_queue_id(Engine *engine, const char *queue)
{
        return ids_find(engine->queue_ids, queue);
}

Job *engine_job_by_name(Engine *engine, const char *user, const char *name)
{
        return views_job_by_name(engine->views, user, name);
}

static bool no_array(const char *user, const char *array, GError **error)
{
        return err_set(error, ERR_NOT_FOUND, "no array '%s' of '%s'\n`paddle list` shows the newest jobs.",
                       array, user ? user : "anybody");
}

bool engine_no_job(const char *user, const char *name, GError **error)
{
        g_autofree char *array = NULL;
        int index;

        if (element_parse(name, &array, &index)) /* whether the array has that index is not told */
                return no_array(user, array, error);
        if (!user)
                return err_set(error, ERR_NOT_FOUND,
                               "no job '%s' of anybody\n`paddle list --all` shows all jobs.", name);
        return err_set(error, ERR_NOT_FOUND, "no job '%s' of '%s'\n`paddle list` shows the newest jobs.",
                       name, user);
}

static bool is_run(Engine *engine, const char *user, const char *word)
{
        const RunQuery query = { .user = user, .name = word, .limit = 1 };
        gint64 next;
        g_autoptr(RunRecord) run =
                id_is_valid(word) ? store_run_by_id(engine->store, word, false, NULL) : NULL;
        g_autoptr(GPtrArray) named = run ? NULL : store_runs(engine->store, &query, &next, NULL);

        return run ? strcmp(run->user, user) == 0 : named && named->len > 0;
}

/* An error if the word is a run of this user, by id or name: its steps are the jobs. */
static bool no_run(Engine *engine, const char *user, const char *word, GError **error)
{
        return !user || !is_run(engine, user, word) ||
               err_set(error, ERR_NOT_FOUND,
                       "'%s' is a run, not a job\n`paddle run show %s` shows the jobs of its steps, `paddle run logs "
                       "%s` their output; `paddle run wait %s` waits for it, `paddle run stop %s` stops it.",
                       word, word, word, word, word);
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
                (void)(no_run(engine, user, id_or_name, error) && engine_no_job(user, id_or_name, error));
        else if (!job)
                g_propagate_error(error, g_steal_pointer(&failed));
        return job;
}

/* ---- arrays ---- */

static gint64 find_array(Engine *engine, const char *user, const char *word)
{
        const char *first = array_id_first(word);
        g_autoptr(Job) job = first ? engine_find(engine, NULL, first, NULL) : NULL;
        gint64 seq;

        if (job && job->array_seq == job->seq)
                return job->seq;
        return user && name_is_valid(word) && store_array_by_name(engine->store, user, word, &seq, NULL) ? seq
                                                                                                         : 0;
}

static Job *find_of_array(Engine *engine, gint64 seq)
{
        const JobQuery query = { .array_seq = seq, .limit = 1 };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(engine->store, &query, &next, NULL);

        return jobs && jobs->len > 0 ? job_ref(jobs->pdata[0]) : NULL;
}

/* Elements have numbers in a row. */
static Job *find_element(Engine *engine, const char *user, const char *array, int index, GError **error)
{
        gint64 seq = find_array(engine, user, array);
        g_autoptr(Job) one = seq ? find_of_array(engine, seq) : NULL;
        int place = one ? array_place(one->spec, index) : -1;
        Job *job = NULL;

        if (place >= 0)
                job = views_job_by_seq(engine->views, seq + place);
        if (place >= 0 && !job)
                job = store_job_by_seq(engine->store, seq + place, NULL);
        if (!one || (!job && user && strcmp(one->user, user) != 0))
                (void)no_array(user, array, error);
        else if (!job)
                err_set(error, ERR_NOT_FOUND, "array '%s' has no job %d; its jobs are %.*s", array, index,
                        (int)strcspn(one->spec->array, "%"), one->spec->array);
        return job;
}

Job *engine_look_up(Engine *engine, const char *user, const char *word, gint64 *ret_array, GError **error)
{
        g_autofree char *name = NULL;
        g_autoptr(Job) job = NULL;
        g_autoptr(GError) failed = NULL;
        gint64 array;
        Job *one;
        int index;

        *ret_array = 0;
        if (element_parse(word, &name, &index))
                return find_element(engine, user, name, index, error);
        job = engine_find(engine, user, word, &failed);
        if (job && strcmp(job->id, word) == 0)
                return g_steal_pointer(&job);
        array = find_array(engine, user, word);
        one = array > 0 && (!job || job->seq < array) ? find_of_array(engine, array) : NULL;
        if (one) {
                *ret_array = array;
                return one;
        }
        if (!job)
                g_propagate_error(error, g_steal_pointer(&failed));
        return g_steal_pointer(&job);
}

bool engine_array_open(Engine *engine, gint64 array_seq, gint64 *ret_revision)
{
        return views_array_open(engine->views, array_seq, NULL, ret_revision);
}

GHashTable *engine_open_packages(Engine *engine)
{
        return views_packages(engine->views);
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
