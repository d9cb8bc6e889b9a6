/* A batch: what is applied between two commits (see state.h).
 *
 * The first touch of a job clones its view; the old one is kept, as it is needed anyway to know what changed.
 * After the commit the drafts become the views; after a failed one they are dropped and the old views stand
 * again, so that nobody ever saw what is not durable. Answers and actions come after either, never before. */
#include "engine/state.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/runs.h"
#include "engine/task.h"
#include "store/guard.h"

enum {
        RETRY_MS = 1000,     /* after a failed commit */
        GATHER_MAX_US = 5000 /* for which the next batch waits for the callers of this one */
};

/* ---- filling ---- */

static void event_free_p(gpointer event)
{
        event_free(event);
}

static void usage_free_p(gpointer usage)
{
        usage_free(usage);
}

static void object_unref_p(gpointer object)
{
        object_unref(object);
}

static void run_record_free_p(gpointer record)
{
        run_record_free(record);
}

static void run_child_free_p(gpointer child)
{
        run_child_record_free(child);
}

static void artifact_free_p(gpointer artifact)
{
        artifact_record_free(artifact);
}

static void run_node_free_p(gpointer node)
{
        run_node_record_free(node);
}

static void pipeline_free_p(gpointer pipeline)
{
        pipeline_record_free(pipeline);
}

static void version_free_p(gpointer version)
{
        pipeline_version_free(version);
}

static void cache_entry_free_p(gpointer entry)
{
        cache_entry_free(entry);
}

static void stray_free_p(gpointer stray)
{
        g_free(((Stray *)stray)->task);
        g_free(stray);
}

/* The lists of a batch: what frees their items, and as what records the items are stored. */
static const struct {
        gsize offset;
        GDestroyNotify free;
        bool stored;
        RecordKind kind;
        RecordOp op;
} lists[] = {
        { offsetof(Batch, dirty), NULL }, /* see add_drafts */
        { offsetof(Batch, ended), NULL },
        { offsetof(Batch, events), event_free_p, true, RECORD_EVENT, RECORD_PUT },
        { offsetof(Batch, objects), object_unref_p, true, RECORD_OBJECT, RECORD_PUT },
        { offsetof(Batch, dropped_objects), object_unref_p, true, RECORD_OBJECT, RECORD_DROP },
        { offsetof(Batch, tokens), NULL, true, RECORD_TOKEN, RECORD_PUT },
        { offsetof(Batch, dropped_jobs), g_free, true, RECORD_JOB, RECORD_DROP },
        { offsetof(Batch, dropped_tokens), g_free, true, RECORD_TOKEN, RECORD_DROP },
        { offsetof(Batch, logged_out), g_free, true, RECORD_LOGIN, RECORD_DROP },
        { offsetof(Batch, usage), usage_free_p, true, RECORD_USAGE, RECORD_PUT },
        { offsetof(Batch, runs), NULL },
        { offsetof(Batch, new_runs), NULL, true, RECORD_NEW_RUN, RECORD_PUT },
        { offsetof(Batch, run_puts), NULL, true, RECORD_RUN, RECORD_PUT },
        { offsetof(Batch, changed_runs), run_record_free_p, true, RECORD_RUN, RECORD_PUT },
        { offsetof(Batch, run_nodes), run_node_free_p, true, RECORD_RUN_NODE, RECORD_PUT },
        { offsetof(Batch, run_children), run_child_free_p, true, RECORD_RUN_CHILD, RECORD_PUT },
        { offsetof(Batch, dropped_nodes), run_node_free_p, true, RECORD_RUN_NODE, RECORD_DROP },
        { offsetof(Batch, dropped_children), g_free, true, RECORD_RUN_CHILD, RECORD_DROP },
        { offsetof(Batch, artifacts), artifact_free_p, true, RECORD_ARTIFACT, RECORD_PUT },
        { offsetof(Batch, dropped_artifacts), artifact_free_p, true, RECORD_ARTIFACT, RECORD_DROP },
        { offsetof(Batch, cache_entries), cache_entry_free_p, true, RECORD_CACHE_ENTRY, RECORD_PUT },
        { offsetof(Batch, dropped_cache), g_free, true, RECORD_CACHE_ENTRY, RECORD_DROP },
        { offsetof(Batch, dropped_runs), g_free, true, RECORD_RUN, RECORD_DROP },
        { offsetof(Batch, pipelines), g_free },
        { offsetof(Batch, pipeline_puts), pipeline_free_p, true, RECORD_PIPELINE, RECORD_PUT },
        { offsetof(Batch, new_versions), NULL, true, RECORD_PIPELINE_VERSION, RECORD_PUT },
        { offsetof(Batch, dropped_versions), version_free_p, true, RECORD_PIPELINE_VERSION, RECORD_DROP },
        { offsetof(Batch, dropped_pipelines), g_free, true, RECORD_PIPELINE, RECORD_DROP },
        { offsetof(Batch, schedules), NULL },
        { offsetof(Batch, schedule_puts), NULL, true, RECORD_SCHEDULE, RECORD_PUT },
        { offsetof(Batch, dropped_schedules), g_free, true, RECORD_SCHEDULE, RECORD_DROP },
        { offsetof(Batch, scheduled_runs), run_record_free_p },
        { offsetof(Batch, strays), stray_free_p },
        { offsetof(Batch, unwanted), stray_free_p },
};

static GPtrArray **list_at(Batch *batch, gsize i)
{
        return (GPtrArray **)(void *)((char *)batch + lists[i].offset);
}

void batch_init(Batch *batch)
{
        g_queue_init(&batch->commands);
        g_queue_init(&batch->put_back);
        for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
                *list_at(batch, i) = g_ptr_array_new_with_free_func(lists[i].free);
        batch->records = g_array_new(FALSE, FALSE, sizeof(StoreRecord));
}

void batch_clear(Batch *batch)
{
        for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
                g_ptr_array_unref(*list_at(batch, i));
        g_array_unref(batch->records);
        g_clear_pointer(&batch->catalog, catalog_unref);
}

void batch_begin(Engine *engine)
{
        Batch *batch = &engine->batch;

        for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
                g_ptr_array_set_size(*list_at(batch, i), 0);
        if (batch->catalog != engine->catalog) {
                g_clear_pointer(&batch->catalog, catalog_unref);
                batch->catalog = catalog_ref(engine->catalog);
        }
        batch->prepared = (PreparedMemo){ 0 };
        batch->now = engine_now(engine);
        engine->pass_time = MAX(engine->pass_time, batch->now);
        batch->revision = engine->revision;
        batch->horizon = 0;
        batch->number++;
        batch->run_steps = RUN_STEPS_ALL;
        batch->run_texts = 0;
        batch->run_answers = 0;
        for (guint i = 0; i < engine->slots->len; i++)
                ((RuntimeSlot *)engine->slots->pdata[i])->synced = false;
}

static void touch(Engine *engine, Live *live)
{
        if (live->dirty)
                return;
        live->was = live->job;
        live->job = job_draft(live->was);
        live->dirty = true;
        g_ptr_array_add(engine->batch.dirty, live);
}

Live *batch_add_job(Engine *engine, Job *job)
{
        Live *live = live_add(engine, job);

        live->dirty = true;
        g_ptr_array_add(engine->batch.dirty, live);
        return live;
}

static bool is_ordered(const Engine *engine, const RuntimeSlot *slot, const Job *job)
{

        RuntimeAttempt attempt = attempt_of(engine, job);
        return runtime_orders(slot->runtime, &attempt);
}

Life batch_life(Engine *engine, Live *live)
{
        const RuntimeSlot *slot = slot_of(engine, live->job);

        touch(engine, live);
        return (Life){ .job = live->job,
                       .now = engine->batch.now,
                       .notes = g_array_new(FALSE, FALSE, sizeof(LifeNote)),
                       .gates = slot->runtime && slot->runtime->ops->gates,
                       .orders = is_ordered(engine, slot, live->job) };
}

static Event *add_event(Batch *batch, const char *kind)
{
        Event *event = g_new0(Event, 1);

        event->revision = ++batch->revision;
        event->time = batch->now;
        event->kind = g_strdup(kind);
        g_ptr_array_add(batch->events, event);
        return event;
}

static void add_job_event(Batch *batch, Job *job, LifeNote *note)
{
        Event *event = add_event(batch, note->kind);

        event->subject = (Subject){ SUBJECT_JOB, job->seq, .owner = g_strdup(job->user) };
        g_strlcpy(event->subject.id, job->id, sizeof event->subject.id);
        event->data = g_steal_pointer(&note->data);
        job->revision = event->revision;
        job->updated = event->time;
}

void batch_end_life(Engine *engine, Live *live, Life *life)
{
        for (guint i = 0; i < life->notes->len; i++)
                add_job_event(&engine->batch, live->job, &g_array_index(life->notes, LifeNote, i));
        g_clear_pointer(&life->notes, g_array_unref);
        if (job_state_is_final(live->job->state))
                g_ptr_array_add(engine->batch.ended, live);
        live_settle(engine, live);
}

gint64 batch_note_run(Engine *engine, const RunRecord *run, const char *kind, json_t *data)
{
        return batch_note_subject(engine, (Subject){ SUBJECT_RUN, run->seq, .owner = g_strdup(run->user) },
                                  run->id, kind, data);
}

gint64 batch_note_subject(Engine *engine, Subject subject, const char *id, const char *kind, json_t *data)
{
        Event *event = add_event(&engine->batch, kind);

        event->subject = subject;
        g_strlcpy(event->subject.id, id, sizeof event->subject.id);
        event->data = json_format(data);
        json_decref(data);
        return event->revision;
}

gint64 batch_note(Engine *engine, const char *kind, const char *user, json_t *data)
{
        Event *event = add_event(&engine->batch, kind);

        event->subject.owner = g_strdup(user);
        event->data = json_format(data);
        json_decref(data);
        return event->revision;
}

/* ---- committing ---- */

static bool stores_boot(const Engine *engine)
{
        return slot_local(engine)->synced && engine->boot_due;
}

static void add_record(Batch *batch, RecordKind kind, RecordOp op, const void *data)
{
        const StoreRecord record = { (guint8)kind, (guint8)op, data };

        g_array_append_val(batch->records, record);
}

static void add_drafts(Batch *batch)
{
        for (guint i = 0; i < batch->dirty->len; i++) {
                const Live *live = g_ptr_array_index(batch->dirty, i);

                add_record(batch, live->was ? RECORD_JOB : RECORD_NEW_JOB, RECORD_PUT, live->job);
        }
}

/* An object that is put more than once, or dropped again, is written only as it is in the end. */
static bool is_outdated(const Batch *batch, const Object *object)
{
        return catalog_find(batch->catalog, object->kind, object->name) != object;
}

static void add_list(Batch *batch, gsize i)
{
        const GPtrArray *list = *list_at(batch, i);
        bool puts_objects = lists[i].kind == RECORD_OBJECT && lists[i].op == RECORD_PUT;

        for (guint n = 0; n < list->len; n++)
                if (!puts_objects || !is_outdated(batch, list->pdata[n]))
                        add_record(batch, lists[i].kind, lists[i].op, list->pdata[n]);
}

/* All that the batch stores; false: nothing. */
static bool fill_records(Engine *engine)
{
        Batch *batch = &engine->batch;

        runs_store(engine);
        schedules_store(engine);
        g_array_set_size(batch->records, 0);
        add_drafts(batch);
        for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
                if (lists[i].stored)
                        add_list(batch, i);
        if (batch->horizon)
                add_record(batch, RECORD_HORIZON, RECORD_PUT, &batch->horizon);
        if (stores_boot(engine))
                add_record(batch, RECORD_BOOT, RECORD_PUT, engine->boot_id);
        return batch->records->len > 0;
}

static void die(Engine *engine, const GError *error)
{
        engine->dead = true;
        log_error("a commit ended in an unknown state; the server has to be restarted", "error",
                  error->message, NULL);
        if (engine->config.fatal)
                engine->config.fatal(error, engine->config.fatal_arg);
}

static void count_commit(Engine *engine, gint64 started_us)
{
        EngineMetrics *metrics = &engine->metrics;

        metrics->commit_us_last = g_get_monotonic_time() - started_us;
        metrics->commit_us_max = MAX(metrics->commit_us_max, metrics->commit_us_last);
        metrics->batches++;
        metrics->batch_jobs_max = MAX(metrics->batch_jobs_max, (gint64)engine->batch.dirty->len);
}

static bool commit(Engine *engine, GError **error)
{
        const GArray *records = engine->batch.records;
        const StoreBatch all = { (const StoreRecord *)(void *)records->data, records->len };
        StoreFailure failure = STORE_FAILED_CLEAN;
        gint64 started = g_get_monotonic_time();
        g_autoptr(GError) failed = NULL;

        if (store_commit(engine->store, &all, &failure, &failed)) {
                count_commit(engine, started);
                return true;
        }
        if (failure == STORE_FAILED_FATAL)
                die(engine, failed);
        g_propagate_error(error, g_steal_pointer(&failed));
        return false;
}

/* ---- after a failed commit ---- */

static void release_ports(Engine *engine, const Job *job)
{
        Runtime *runtime = slot_of(engine, job)->runtime;

        if (runtime)
                runtime->ops->release_ports(runtime, job->id);
}

/* The catalog of the batch says which runtime they are of. */
static void restore_ports(Engine *engine, Live *live)
{
        if (live->leased)
                release_ports(engine, live->job);
        live->leased = false;
}

/* Removes a new job; restores the old view of a changed one. */
static void restore_view(Engine *engine, Live *live)
{
        Job *draft = live->job;

        if (live->was) {
                live->job = g_steal_pointer(&live->was);
                live->dirty = false;
                live_settle(engine, live);
                depend_note(engine, live->job);
        } else {
                live_remove(engine, live);
        }
        job_unref(draft);
}

static bool holds(const Live *live)
{
        return !life_is_at_rest(live->job) || building_runs(live);
}

/* The scheduler is told again: first of what holds nothing, and that what did hold something is gone, so that
 * what each held is free again when it takes it back; one may have grown into what another left. */
static void restore_fed(Engine *engine, GPtrArray *lives, bool what_holds)
{
        for (guint i = 0; i < lives->len; i++) {
                Live *live = g_ptr_array_index(lives, i);

                if (what_holds == holds(live))
                        feed_again(engine, live);
                else if (!what_holds)
                        feed_drop(engine, live);
        }
}

/* From here on what is asked of the catalog is asked of the one that is stored. */
static bool restore_catalog(Engine *engine)
{
        Batch *batch = &engine->batch;

        if (batch->catalog == engine->catalog)
                return false;
        catalog_unref(batch->catalog);
        batch->catalog = catalog_ref(engine->catalog);
        return true;
}

static void restore(Engine *engine)
{
        Batch *batch = &engine->batch;
        g_autoptr(GPtrArray) kept = g_ptr_array_new();
        bool other_catalog;

        for (guint i = 0; i < batch->dirty->len; i++)
                restore_ports(engine, g_ptr_array_index(batch->dirty, i));
        other_catalog = restore_catalog(engine);
        for (guint i = 0; i < batch->dirty->len; i++) {
                Live *live = g_ptr_array_index(batch->dirty, i);

                if (live->was)
                        g_ptr_array_add(kept, live);
                restore_view(engine, live);
        }
        if (other_catalog) {
                feed_queues(engine, engine->catalog);
                feed_shares(engine);
        }
        restore_fed(engine, kept, false);
        restore_fed(engine, kept, true);
        runs_restore(engine);
        pipelines_restore(engine);
        schedules_restore(engine);
        engine->pass_due = true;
}

static void note_failure(Engine *engine, const GError *error)
{
        engine->retry_at = clock_monotonic_ms() + RETRY_MS;
        if (!engine->failing && !engine->dead)
                log_warning("a commit failed; nothing of it was acknowledged, trying again each second",
                            "error", error->message, NULL);
        engine->failing =
                true; /* one line for the first, one for the end: a full disk may be the log's, too */
        if (!err_is(error, ERR_EXISTS)) /* a command's own mistake */
                views_set_trouble(engine->views, error->message);
}

/* Moves the commands of the batch to `ret`; the observations are kept, unconfirmed, before those that were
 * kept already. */
static void keep_observations(Engine *engine, GQueue *ret)
{
        GQueue kept = G_QUEUE_INIT;
        Command *command;

        while ((command = g_queue_pop_head(&engine->batch.commands)))
                g_queue_push_tail(command->ops->is_observation ? &kept : ret, command);
        while ((command = g_queue_pop_tail(&kept)))
                g_queue_push_head(&engine->held, command);
}

/* On a full disk all callers get the error. Any other clean failure is caused by one command, and it is not known by
 * which: each command is applied again, alone. */
static void answer_failed(Engine *engine, const GError *error)
{
        GQueue commands = G_QUEUE_INIT;
        Command *command;

        keep_observations(engine, &commands);
        note_failure(engine, error);
        if (commands.length > 1 && !engine->dead && !err_is(error, ERR_NO_SPACE)) {
                engine->singly = commands.length;
                for (GList *link = commands.head; link; link = link->next)
                        command_again(link->data);
                inbox_put_back(&engine->inbox, &commands);
        }
        while ((command = g_queue_pop_head(&commands)))
                command_answer(engine, command, error);
}

/* ---- after a commit ---- */

static int running_members(const Job *job)
{
        int n = 0;

        for (int i = 0; job && i < job->n_members; i++)
                n += job->members[i].state == MEMBER_RUNNING || job->members[i].state == MEMBER_READY;
        return n;
}

static bool is_open(const Job *job)
{
        return job && !job_state_is_final(job->state);
}

static bool is_in(const Job *job, JobState state)
{
        return job && job->state == state;
}

void batch_count(EngineMetrics *metrics, const Job *was, const Job *now)
{
        metrics->open_jobs += is_open(now) - is_open(was);
        metrics->queued_jobs += is_in(now, JOB_QUEUED) - is_in(was, JOB_QUEUED);
        metrics->running_jobs += is_in(now, JOB_RUNNING) - is_in(was, JOB_RUNNING);
        metrics->running_members += running_members(now) - running_members(was);
        metrics->submitted += !was;
        metrics->succeeded += is_in(now, JOB_SUCCEEDED);
        metrics->failed += is_in(now, JOB_FAILED);
        metrics->cancelled += is_in(now, JOB_CANCELLED);
        metrics->evictions += is_in(now, JOB_PREEMPTING) && !is_in(was, JOB_PREEMPTING);
}

static void take_replies(Engine *engine)
{
        for (GList *link = engine->batch.commands.head; link; link = link->next) {
                Command *command = link->data;

                if (command->live)
                        command->job = job_ref(command->live->job);
                engine->metrics.observations += command->ops->is_observation;
        }
}

/* The drafts become views; jobs that ended leave. */
static GArray *settle_drafts(Engine *engine)
{
        GArray *changes = g_array_new(FALSE, FALSE, sizeof(ViewChange));

        for (guint i = 0; i < engine->batch.dirty->len; i++) {
                Live *live = g_ptr_array_index(engine->batch.dirty, i);
                ViewChange change = { live->was, live->job };
                bool later;

                g_array_append_val(changes, change);
                batch_count(&engine->metrics, change.was, change.now);
                if (live->leased && life_is_at_rest(live->job)) /* started and stopped in one batch */
                        release_ports(engine, live->job);
                later = feed_later(live);
                live->dirty = live->leased = false;
                live->was = NULL;
                if (job_state_is_final(live->job->state))
                        live_remove(engine, live);
                else if (later)
                        live_settle(engine, live);
        }
        return changes;
}

/* Jobs for which no ports could be leased: readers are told so. */
static void note_portless(const Engine *engine, ViewState *state)
{
        int n = 0;

        for (guint i = 0; i < engine->portless->len && n < VIEW_PORTLESS_MAX; i++)
                state->portless[n++] = g_array_index(engine->portless, gint64, i);
}

void batch_publish(Engine *engine, const ViewChange *changes, guint n, GPtrArray *ret_dropped)
{
        ViewState state = { .revision = engine->revision,
                            .ready = engine->opened && !engine->dead,
                            .connected = slot_local(engine)->connected,
                            .metrics = engine->metrics };
        SchedulerFigures *figures = NULL;

        if (engine->figures_due) {
                figures = scheduler_figures(engine->scheduler, engine->pass_time);
                engine->figures_due = false;
                engine->metrics.total = figures->total;
                engine->metrics.free = figures->free;
        }
        state.metrics.total = engine->metrics.total;
        state.metrics.free = engine->metrics.free;
        note_portless(engine, &state);
        views_publish(engine->views, changes, n, &state, engine->catalog, figures, ret_dropped);
        if (figures)
                scheduler_figures_unref(figures);
}

/* The catalog of the batch is the one that holds from now on. */
static void settle_catalog(Engine *engine)
{
        if (engine->batch.catalog == engine->catalog)
                return;
        catalog_unref(engine->catalog);
        engine->catalog = catalog_ref(engine->batch.catalog);
        slots_settle(engine);
}

static void answer_all(Engine *engine)
{
        Command *command;

        store_forbid_reads("an answer");
        while ((command = g_queue_pop_head(&engine->batch.commands)))
                command_answer(engine, command, NULL);
        store_forbid_reads(NULL);
}

/* Of an attempt that is over: its job may be finished, and stored. */
static gint64 stray_expires(Engine *engine, const Live *live, const TaskName *name)
{
        g_autoptr(Job) stored = live ? NULL : store_job_by_id(engine->store, name->job_id, NULL);

        return ttl_expires(&engine->config.ttl, stored, name->attempt);
}

/* Tasks that no job knows: those that ended are forgotten, with their directory; those that run are killed.
 */
static void handle_strays(Engine *engine)
{
        for (guint i = 0; i < engine->batch.strays->len; i++) {
                const Stray *stray = g_ptr_array_index(engine->batch.strays, i);
                Runtime *runtime = stray->slot->runtime;
                TaskName name;
                Live *live;

                if (!runtime)
                        continue;
                runtime->ops->forget(runtime, stray->task);
                if (!task_parse(stray->task, &name))
                        continue;
                live = live_find(engine, name.job_id);
                if (!live || live->job->attempt != name.attempt || life_is_at_rest(live->job))
                        runtime->ops->clean(runtime, name.job_id, name.attempt,
                                            stray_expires(engine, live, &name));
        }
        for (guint i = 0; i < engine->batch.unwanted->len; i++) {
                const Stray *stray = g_ptr_array_index(engine->batch.unwanted, i);
                Runtime *runtime = stray->slot->runtime;

                if (runtime)
                        runtime->ops->stop(runtime, &(const char *){ stray->task }, 1, 0);
        }
}

/* A slot that is synced now asks for everything that its jobs want. */
static void resync(Engine *engine)
{
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, engine->by_id);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                const Live *live = key;

                if (slot_of(engine, live->job)->synced)
                        actions_run(engine, NULL, live->job);
        }
}

static void act(Engine *engine, const GArray *changes)
{
        bool any =
                slots_mark_synced(engine, false); /* what starts and stops there is asked for below, once */

        for (guint i = 0; i < changes->len; i++) {
                const ViewChange *change = &g_array_index(changes, ViewChange, i);

                actions_run(engine, change->was, change->now);
        }
        handle_strays(engine);
        if (any) {
                (void)slots_mark_synced(engine, true);
                resync(engine);
        }
}

static void note_synced(Engine *engine)
{
        if (slots_mark_synced(engine, true) && slot_local(engine)->synced) {
                engine->opened = true;
                engine->boot_due = engine->rebooted = false;
        }
}

static void free_final(const GArray *changes)
{
        for (guint i = 0; i < changes->len; i++) {
                const ViewChange *change = &g_array_index(changes, ViewChange, i);

                if (job_state_is_final(change->now->state))
                        job_unref(change->now);
        }
}

static void publish_and_act(Engine *engine)
{
        bool news = engine->batch.revision > engine->revision;
        g_autoptr(GPtrArray) dropped = g_ptr_array_new_with_free_func((GDestroyNotify)job_unref);
        g_autoptr(GArray) changes = NULL;

        engine->revision = engine->batch.revision;
        engine->horizon = MAX(engine->horizon, engine->batch.horizon);
        note_synced(engine);
        take_replies(engine);
        settle_catalog(engine);
        changes = settle_drafts(engine);
        schedules_count(engine);
        batch_publish(engine, (const ViewChange *)(void *)changes->data, changes->len, dropped);
        if (news)
                views_wake(engine->views, engine->revision);
        reads_publish(engine, changes);
        answer_all(engine);
        runs_settle(engine);
        pipelines_settle(engine);
        schedules_settle(engine);
        act(engine, changes);
        free_final(changes);
}

/* The callers of this batch often come back at once. Without a wait, the first of them is committed alone, or with those
 * that came during this commit, and the others wait for a whole commit more. The wait pays off if it is shorter than the
 * commit that it saves. */
static void expect_callers(Engine *engine)
{
        gint64 wait_us = MIN(engine->metrics.commit_us_last, GATHER_MAX_US);
        guint n = 0;

        for (GList *link = engine->batch.commands.head; link; link = link->next)
                n += ((Command *)link->data)->done != NULL;
        inbox_expect(&engine->inbox, n, g_get_monotonic_time() + wait_us);
}

static void note_success(Engine *engine)
{
        engine->retry_at = 0;
        if (engine->failing) {
                views_set_trouble(engine->views, NULL);
                log_info("commits succeed again", NULL);
        }
        engine->failing = false;
}

void batch_end(Engine *engine)
{
        g_autoptr(GError) error = NULL;
        bool empty = !fill_records(engine);

        if (!empty && !commit(engine, &error)) {
                restore(engine);
                answer_failed(engine, error);
        } else {
                if (!empty) {
                        note_success(engine);
                        expect_callers(engine);
                } else if (engine->failing && clock_monotonic_ms() >= engine->retry_at) {
                        views_set_trouble(engine->views, NULL); /* nothing is left to be stored */
                }
                publish_and_act(engine);
        }
        inbox_put_back(&engine->inbox, &engine->batch.put_back);
}
