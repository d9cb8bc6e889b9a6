/* The schedules: the set of them, and their part of a batch (see schedules.h). */
#include "engine/schedules.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/log.h"
#include "base/word.h"
#include "engine/pipelines.h"
#include "model/filesystem.h"
#include "schedule/plan.h"

/* ---- the set ---- */

static void live_free(gpointer data)
{
        LiveSchedule *live = data;

        schedule_record_free(live->record);
        schedule_record_free(live->was);
        cron_unref(live->cron);
        g_array_unref(live->active);
        g_clear_pointer(&live->plan, run_plan_unref);
        g_free(live->trouble);
        g_free(live->full);
        g_free(live);
}

void schedules_init(Engine *engine)
{
        engine->schedules = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, live_free);
        engine->schedules_of =
                g_hash_table_new_full(keyed_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
        engine->schedule_times = g_sequence_new(NULL);
        user_rates_init(&engine->tick_rates, engine->config.schedule_rate);
}

void schedules_clear(Engine *engine)
{
        g_sequence_free(engine->schedule_times);
        g_hash_table_unref(engine->schedules_of);
        g_hash_table_unref(engine->schedules);
        user_rates_clear(&engine->tick_rates);
}

LiveSchedule *schedules_find(Engine *engine, gint64 seq)
{
        LiveSchedule *live = g_hash_table_lookup(engine->schedules, &seq);

        return live && !live->dropped ? live : NULL;
}

LiveSchedule *schedules_find_name(Engine *engine, const char *user, const char *name)
{
        const GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, user);

        for (guint i = 0; of_user && i < of_user->len; i++) {
                LiveSchedule *live = of_user->pdata[i];

                if (!live->dropped && strcmp(live->record->name, name) == 0)
                        return live;
        }
        return NULL;
}

guint schedules_count_of(Engine *engine, const char *user)
{
        const GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, user);
        guint n = 0;

        for (guint i = 0; of_user && i < of_user->len; i++)
                n += !((const LiveSchedule *)of_user->pdata[i])->dropped;
        return n;
}

static bool is_running(const LiveSchedule *live)
{
        return live->record->state == SCHEDULE_RUNNING && !live->dropped;
}

const char *schedules_use(Engine *engine, gint64 pipeline, int version)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->schedules);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const ScheduleRecord *record = ((LiveSchedule *)value)->record;

                if (is_running(value) && record->pipeline == pipeline &&
                    (version == 0 || record->version == version))
                        return record->name;
        }
        return NULL;
}

const char *schedules_run_user(const ScheduleRecord *record)
{
        return record->run_user ? record->run_user : record->user;
}

/* Records of servers before this version know the main one only. */
static bool names_fs(const ScheduleRecord *record, const char *fs)
{
        g_auto(GStrv) mounts = record->mounts ? g_strsplit(record->mounts, ",", -1) : NULL;

        return g_strcmp0(record->fs, fs) == 0 || (mounts && g_strv_contains((const char *const *)mounts, fs));
}

char *schedules_use_fs(Engine *engine, const char *user, const char *fs)
{
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->schedules);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const ScheduleRecord *record = ((LiveSchedule *)value)->record;

                if (is_running(value) && strcmp(schedules_run_user(record), user) == 0 &&
                    names_fs(record, fs))
                        return g_strdup_printf("used by schedule '%s' of '%s', which is running",
                                               record->name, record->user);
        }
        return NULL;
}

/* ---- when it is looked at ---- */

static int by_wake(gconstpointer a, gconstpointer b, gpointer data)
{
        gint64 left = ((const LiveSchedule *)a)->wake, right = ((const LiveSchedule *)b)->wake;

        return (left > right) - (left < right);
}

static void rest(LiveSchedule *live)
{
        if (live->timer)
                g_sequence_remove(live->timer);
        live->timer = NULL;
}

static void wake_at(Engine *engine, LiveSchedule *live, gint64 at)
{
        rest(live);
        live->wake = at;
        live->timer = g_sequence_insert_sorted(engine->schedule_times, live, by_wake, NULL);
}

/* As its record says; at once if the clock was set back. */
static void wake_next(Engine *engine, LiveSchedule *live)
{
        live->waits = false;
        if (is_running(live) && !live->asked)
                wake_at(engine, live, live->clock_back ? 0 : live->record->next_at);
        else
                rest(live);
}

gint64 schedules_due(const Engine *engine)
{
        GSequenceIter *first = g_sequence_get_begin_iter(engine->schedule_times);

        return g_sequence_iter_is_end(first) ? 0 : MAX(((LiveSchedule *)g_sequence_get(first))->wake, 1);
}

void schedules_run_entered(Engine *engine, const RunRecord *run)
{
        LiveSchedule *live = run->schedule ? g_hash_table_lookup(engine->schedules, &run->schedule) : NULL;

        if (live)
                g_array_append_val(live->active, run->seq);
}

void schedules_run_left(Engine *engine, const RunRecord *run)
{
        LiveSchedule *live = run->schedule ? g_hash_table_lookup(engine->schedules, &run->schedule) : NULL;

        for (guint i = 0; live && i < live->active->len; i++)
                if (g_array_index(live->active, gint64, i) == run->seq) {
                        g_array_remove_index(live->active, i);
                        break;
                }
        if (live && live->waits)
                wake_next(engine, live);
}

/* ---- changes ---- */

static LiveSchedule *enter(Engine *engine, ScheduleRecord *record, Cron *cron)
{
        LiveSchedule *live = g_new0(LiveSchedule, 1);
        GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, record->user);

        live->record = record;
        live->cron = cron;
        live->active = g_array_new(FALSE, FALSE, sizeof(gint64));
        g_hash_table_insert(engine->schedules, &record->seq, live);
        if (!of_user) {
                of_user = g_ptr_array_new();
                g_hash_table_insert(engine->schedules_of, g_strdup(record->user), of_user);
        }
        g_ptr_array_add(of_user, live);
        return live;
}

static void leave(Engine *engine, LiveSchedule *live)
{
        GPtrArray *of_user = g_hash_table_lookup(engine->schedules_of, live->record->user);

        g_ptr_array_remove_fast(of_user, live);
        if (of_user->len == 0)
                g_hash_table_remove(engine->schedules_of, live->record->user);
        g_hash_table_remove(engine->schedules, &live->record->seq);
}

/* Ticks that were missed are due at once. A record that was changed in the future says that the clock was set back. */
void schedules_load(Engine *engine, const StoreState *state)
{
        const GPtrArray *schedules = state->loaded[RECORD_SCHEDULE];

        engine->schedule_seq = state->last_schedule_seq;
        engine->started = engine->schedules_at = engine_now(engine);
        for (guint i = 0; schedules && i < schedules->len; i++) {
                const ScheduleRecord *stored = schedules->pdata[i];
                bool runs = stored->state == SCHEDULE_RUNNING;
                g_autoptr(GError) error = NULL;
                Cron *cron = runs ? cron_parse(stored->crontab, NULL, &error) : NULL;
                LiveSchedule *live = enter(engine, schedule_record_copy(stored), cron);

                engine->metrics.running_schedules += runs;
                if (error)
                        log_warning("a schedule cannot go on", "schedule", stored->name, "reason",
                                    error->message, NULL);
                live->clock_back = stored->updated > engine->started + SCHEDULE_BACK_MS;
                wake_next(engine, live);
        }
}

LiveSchedule *schedules_add(Engine *engine, ScheduleRecord *record, Cron *cron)
{
        LiveSchedule *live = enter(engine, record, cron);

        live->dirty = true;
        g_ptr_array_add(engine->batch.schedules, live);
        wake_next(engine, live);
        return live;
}

void schedules_touch(Engine *engine, LiveSchedule *live)
{
        if (live->dirty)
                return;
        live->dirty = true;
        live->was = schedule_record_copy(live->record);
        g_ptr_array_add(engine->batch.schedules, live);
}

void schedules_note(Engine *engine, LiveSchedule *live, const char *kind, json_t *data)
{
        g_autofree char *id = numbered_id_format("schedule", live->record->seq);

        json_object_set_new(data, "name", json_string(live->record->name));
        live->record->revision = batch_note_subject(engine,
                                                    (Subject){ SUBJECT_SCHEDULE, live->record->seq,
                                                               .owner = g_strdup(live->record->user) },
                                                    id, kind, data);
}

/* Takes `message`. */
static void say(LiveSchedule *live, char *message)
{
        g_free(live->record->message);
        live->record->message = message;
}

void schedules_end(Engine *engine, LiveSchedule *live, ScheduleState state, const char *event, char *message)
{
        schedules_touch(engine, live);
        live->record->state = (guint8)state;
        live->record->updated = engine->batch.now;
        say(live, message);
        schedules_note(engine, live, event, json_pack("{s:s?}", "reason", message));
        wake_next(engine, live);
}

void schedules_drop(Engine *engine, LiveSchedule *live, const char *by)
{
        schedules_touch(engine, live);
        schedules_note(engine, live, "schedule.deleted", json_pack("{s:s}", "by", by));
        live->dropped = true;
        rest(live);
        g_ptr_array_add(engine->batch.dropped_schedules,
                        g_memdup2(&live->record->seq, sizeof live->record->seq));
}

static GPtrArray *all_of(Engine *engine)
{
        GPtrArray *all = g_ptr_array_new();
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, engine->schedules);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (!((LiveSchedule *)value)->dropped)
                        g_ptr_array_add(all, value);
        return all;
}

void schedules_drop_of(Engine *engine, const char *user)
{
        g_autoptr(GPtrArray) all = all_of(engine);

        for (guint i = 0; i < all->len; i++) {
                LiveSchedule *live = all->pdata[i];

                if (strcmp(live->record->user, user) == 0 ||
                    strcmp(schedules_run_user(live->record), user) == 0)
                        schedules_drop(engine, live, "the deletion of its user");
        }
}

void schedules_fail_of(Engine *engine, gint64 pipeline)
{
        g_autoptr(GPtrArray) all = all_of(engine);

        for (guint i = 0; i < all->len; i++) {
                LiveSchedule *live = all->pdata[i];

                if (is_running(live) && live->record->pipeline == pipeline)
                        schedules_end(engine, live, SCHEDULE_FAILED, "schedule.failed",
                                      g_strdup("its pipeline was deleted with its user"));
        }
}

/* ---- the record of a run ---- */

json_t *schedules_request(const ScheduleRecord *record)
{
        return json_pack("{s:s, s:s*, s:s, s:s*}", "name", record->name, "fs_name", record->fs, "fs_default",
                         FILESYSTEM_HOME, "queue_default", record->queue);
}

static bool is_admin(Engine *engine, const char *name)
{
        const User *user = catalog_user(engine_catalog_now(engine), name);

        return user && user->admin;
}

static RunRecord *new_record(Engine *engine, const ScheduleRecord *schedule, gint64 tick)
{
        const StoredPipeline *stored = pipelines_find(engine, schedule->pipeline);
        const StoredVersion *version = stored ? pipelines_version(stored, schedule->version) : NULL;
        RunRecord *record = g_new0(RunRecord, 1);
        g_autoptr(json_t) request = schedules_request(schedule);

        pipeline_add_files(request, version ? version->files : NULL);
        engine_new_id(engine, record->id);
        record->user = g_strdup(schedules_run_user(schedule));
        record->name = g_strdup(schedule->name);
        record->note = g_strdup(schedule->note);
        record->fs = g_strdup(schedule->fs);
        record->request = json_format(request);
        run_record_set_version(record, schedule->pipeline, schedule->version, version ? version->hash : NULL);
        record->admin = is_admin(engine, schedule->user);
        record->state = NODE_RUNNING;
        record->attempt = 1;
        record->size = RUN_BYTES + (gint64)strlen(record->request);
        record->schedule = schedule->seq;
        record->scheduled = tick;
        return record;
}

/* ---- the text ---- */

/* The first line of `error`: why a tick has to wait; the caller's. */
static char *first_line(const GError *error)
{
        return g_strndup(error->message, strcspn(error->message, "\n"));
}

typedef struct {
        Command command;
        Engine *engine;
        gint64 seq, pipeline;
        int version;
        bool compile;      /* there are runs to create */
        RunRecord *record; /* with owner and request, as those of its runs */
        RunPlan *plan;     /* NULL: */
        char *trouble;     /* why, if it was wanted */
        char *full;        /* the owner's runs take too much in the store */
} ReadText;

static void compile_text(ReadText *read)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) request = json_parse(read->record->request, strlen(read->record->request), NULL);
        g_autoptr(PipelineVersion) version =
                store_pipeline_version(read->engine->store, read->pipeline, read->version, true, &error);

        if (version)
                read->plan = run_plan_new(read->engine, version->text, request, &error);
        if (!read->plan)
                read->trouble = g_strdup(error->message);
}

/* On a thread of the pool. */
static void read_text(bool stopped, void *arg)
{
        ReadText *read = arg;
        g_autoptr(GError) error = NULL;

        if (!stopped && !run_command_check_bytes(read->engine, read->record, &error))
                read->full = first_line(error);
        else if (!stopped && read->compile)
                compile_text(read);
        inbox_put(&read->engine->inbox, &read->command);
}

/* What was read serves the ticks of one batch: a text may be large. */
static void forget_text(LiveSchedule *live)
{
        live->checked = false;
        g_clear_pointer(&live->plan, run_plan_unref);
        g_clear_pointer(&live->trouble, g_free);
        g_clear_pointer(&live->full, g_free);
}

static bool apply_text(Engine *engine, Command *command)
{
        ReadText *read = (ReadText *)command;
        LiveSchedule *live = schedules_find(engine, read->seq);

        if (!live)
                return true;
        live->asked = false;
        forget_text(live);
        if (is_running(live)) {
                live->checked = true;
                live->plan = read->plan ? run_plan_ref(read->plan) : NULL;
                live->trouble = g_strdup(read->trouble);
                live->full = g_strdup(read->full);
        }
        wake_next(engine, live);
        return true;
}

static void free_text(Command *command)
{
        ReadText *read = (ReadText *)command;

        run_record_free(read->record);
        g_clear_pointer(&read->plan, run_plan_unref);
        g_free(read->trouble);
        g_free(read->full);
}

static const CommandOps text_ops = {
        .name = "text of a schedule", .size = sizeof(ReadText), .apply = apply_text, .free = free_text
};

static void ask_text(Engine *engine, LiveSchedule *live, bool compile)
{
        ReadText *read = command_new(&text_ops, NULL, NULL);

        read->engine = engine;
        read->seq = live->record->seq;
        read->pipeline = live->record->pipeline;
        read->version = live->record->version;
        read->compile = compile;
        read->record = new_record(engine, live->record, 0);
        rest(live);
        live->asked = thread_pool_push(engine->run_workers, live->record->user, read_text, read, NULL);
        if (live->asked)
                return;
        command_free(&read->command);
        wake_at(engine, live, engine->batch.now + SCHEDULE_HOLD_MS);
}

/* ---- runs ---- */

typedef struct {
        Engine *engine;
        LiveSchedule *live;
        SchedulePlan *plan;
        guint done;  /* ticks that have their run */
        guint begun; /* of these, runs that have begun */
        char *held;  /* why the next one has to wait; "": for the next batch; or NULL */
} Creating;

/* A run that never was: only its record. Takes `record` and `message`. */
static void record_end(Engine *engine, RunRecord *record, NodeState state, char *message)
{
        const char *kind = state == NODE_SKIPPED ? "run.skipped" : "run.failed";

        record->seq = ++engine->run_seq;
        record->state = (guint8)state;
        record->created = record->finished = engine->batch.now;
        record->message = message;
        if (!record->hash)
                record->text = g_strdup("");
        record->revision = batch_note_run(engine, record, kind, json_pack("{s:s}", "reason", message));
        g_ptr_array_add(engine->batch.new_runs, record);
        g_ptr_array_add(engine->batch.changed_runs, record);
}

static bool is_disabled(Engine *engine, const char *name)
{
        const User *user = catalog_user(engine_catalog_now(engine), name);

        return user && user->disabled;
}

/* Why its users may not begin runs now, for people; the caller's; NULL: they may. */
static char *barred(Engine *engine, const ScheduleRecord *schedule, bool admin)
{
        const char *user = schedules_run_user(schedule);

        if (!admin && strcmp(user, schedule->user) != 0)
                return g_strdup_printf("it runs as '%s', but '%s' is no administrator any more", user,
                                       schedule->user);
        if (is_disabled(engine, schedule->user))
                return g_strdup_printf("user '%s' is disabled", schedule->user);
        return is_disabled(engine, user) ? g_strdup_printf("user '%s' is disabled", user) : NULL;
}

/* False: a limit, or its users' rights, hold the tick back. */
static bool begin_run(Creating *creating, gint64 tick)
{
        Engine *engine = creating->engine;
        LiveSchedule *live = creating->live;
        g_autoptr(RunRecord) record = new_record(engine, live->record, tick);
        g_autoptr(GError) error = NULL;

        creating->held = barred(engine, live->record, record->admin);
        if (!creating->held && live->plan && !run_command_fits(engine, live->plan))
                creating->held = g_strdup("");
        if (creating->held)
                return false;
        if (!live->plan) {
                record_end(engine, g_steal_pointer(&record), NODE_FAILED, g_strdup(live->trouble));
        } else if (!run_command_check_places(engine, record, live->plan, &error)) {
                record_end(engine, g_steal_pointer(&record), NODE_FAILED, g_strdup(error->message));
        } else if (run_command_check_limits(engine, record, live->plan, &error)) {
                g_ptr_array_add(engine->batch.scheduled_runs, record);
                (void)run_command_begin(engine, g_steal_pointer(&record), live->plan);
                creating->begun++;
        } else if (err_is(error, ERR_QUOTA)) {
                creating->held = first_line(error);
                return false;
        } else {
                record_end(engine, g_steal_pointer(&record), NODE_FAILED, g_strdup(error->message));
        }
        return true;
}

static char *reason_of(const Creating *creating, TickFate fate)
{
        const ScheduleRecord *record = creating->live->record;
        g_autofree char *running = NULL;

        if (fate == TICK_EXPIRED && creating->plan->dropped && creating->done == 0)
                return g_strdup_printf(
                        "skipped: it was due more than %" G_GINT64_FORMAT
                        " s ago; the times before it have no record, since more than %d were missed",
                        record->expire_s, PLAN_EXPIRED_MAX);
        if (fate == TICK_EXPIRED)
                return g_strdup_printf("skipped: it was due more than %" G_GINT64_FORMAT " s ago",
                                       record->expire_s);
        if (fate == TICK_REPLACED)
                return g_strdup("skipped: a later run takes its place");
        running = count_format(record->concurrency, "run");
        return g_strdup_printf("skipped: %s of the schedule %s not ended", running,
                               record->concurrency == 1 ? "has" : "have");
}

/* One tick more gets a record. With `only_check`: may it? */
static bool take_tick(Engine *engine, const LiveSchedule *live, bool only_check)
{
        const char *user = live->record->user;

        return is_admin(engine, user) ||
               user_rates_take(&engine->tick_rates, user, 1, engine->batch.now, only_check, NULL);
}

static char *above_rate(const Engine *engine, const LiveSchedule *live)
{
        return g_strdup_printf("the schedules of '%s' may create %d runs a minute, skipped ones included "
                               "(paddled --schedule-rate): the next run waits",
                               live->record->user, engine->config.schedule_rate);
}

/* Gives a tick its record. False: it is held. */
static bool create_one(Creating *creating, const PlannedTick *tick)
{
        Engine *engine = creating->engine;
        LiveSchedule *live = creating->live;

        if (tick->fate == TICK_RUN)
                return begin_run(creating, tick->at);
        record_end(engine, new_record(engine, live->record, tick->at), NODE_SKIPPED,
                   reason_of(creating, tick->fate));
        return true;
}

static void create_runs(Creating *creating)
{
        Engine *engine = creating->engine;
        LiveSchedule *live = creating->live;
        const GArray *ticks = creating->plan->ticks;

        while (creating->done < ticks->len && !creating->held) {
                if (!take_tick(engine, live, true))
                        creating->held = above_rate(engine, live);
                else if (create_one(creating, &g_array_index(ticks, PlannedTick, creating->done))) {
                        (void)take_tick(engine, live, false);
                        creating->done++;
                }
        }
}

/* `active`: runs before the new ones. Those that began take the place of as many old ones as are too many. A run that could not
 * begin stops no other. */
static guint to_stop(const Creating *creating, guint active)
{
        gint64 over = (gint64)active + creating->begun - creating->live->record->concurrency;

        return creating->begun > 0 ? (guint)CLAMP(over, 0, MIN(creating->plan->stop, active)) : 0;
}

static void stop_oldest(Engine *engine, LiveSchedule *live, guint n)
{
        const char *by = "its schedule, for a later run";

        for (guint i = 0; i < MIN(n, live->active->len); i++) {
                LiveRun *run = runs_find(engine, g_array_index(live->active, gint64, i));

                if (run && run->record->state == NODE_RUNNING)
                        runs_stop_one(engine, run, false, by);
        }
}

/* ---- in a batch ---- */

static ScheduleRule rule_of(const Engine *engine, const LiveSchedule *live)
{
        const ScheduleRecord *record = live->record;

        return (ScheduleRule){ .cron = live->cron,
                               .next_at = record->next_at,
                               .end_at = record->end_at,
                               .expire_ms = record->expire_s * 1000,
                               .concurrency = record->concurrency,
                               .policy = (SchedulePolicy)record->policy,
                               .catchup = record->catchup,
                               .started = engine->started };
}

/* After the clock was set back: the next tick may be far. */
static void look_at_clock(Engine *engine, LiveSchedule *live, const ScheduleRule *rule)
{
        g_autofree char *next = NULL;

        if (!live->clock_back)
                return;
        live->clock_back = false;
        if (!schedule_is_ahead(rule, live->record->start_at, engine->batch.now))
                return;
        next = cron_format_local(live->cron, rule->next_at);
        schedules_touch(engine, live);
        live->record->updated = engine->batch.now;
        say(live,
            g_strdup_printf("the clock of the server was set back, and no time is used twice: the next run "
                            "is at %s; to run before, stop the schedule and create it again",
                            next));
}

/* Nothing is due: what was said holds. */
static bool is_early(const Engine *engine, const Creating *creating, gint64 next)
{
        return creating->plan->ticks->len == 0 && next == creating->live->record->next_at &&
               next > engine->batch.now;
}

/* The next tick, and why it waits. */
static void move_on(Engine *engine, Creating *creating)
{
        LiveSchedule *live = creating->live;
        const SchedulePlan *plan = creating->plan;
        gint64 next =
                creating->held ? g_array_index(plan->ticks, PlannedTick, creating->done).at : plan->next_at;
        const char *held = creating->held && *creating->held ? creating->held : NULL;

        if (!is_early(engine, creating, next) &&
            (next != live->record->next_at || g_strcmp0(held, live->record->message) != 0)) {
                schedules_touch(engine, live);
                live->record->next_at = next;
                live->record->updated = engine->batch.now;
                say(live, g_strdup(held));
        }
        if (!next) {
                schedules_end(engine, live, SCHEDULE_SUCCESS, "schedule.ended", NULL);
                return;
        }
        wake_next(engine, live);
        live->waits = plan->waits && !creating->held;
        if (live->waits)
                rest(live);
        else if (held)
                wake_at(engine, live, engine->batch.now + (live->full ? SCHEDULE_FULL_MS : SCHEDULE_HOLD_MS));
        else if (next <= engine->batch.now) /* behind the others that are due */
                wake_at(engine, live, engine->batch.now);
}

static bool is_read(const LiveSchedule *live)
{
        return live->plan || live->trouble || live->full;
}

/* Why the first tick has to wait, as far as this is known before the text is read. The caller's; or NULL. */
static char *hold_first(Engine *engine, LiveSchedule *live, const SchedulePlan *plan)
{
        g_autoptr(RunRecord) record = NULL;
        g_autoptr(GError) error = NULL;
        char *held;

        if (plan->ticks->len == 0)
                return NULL;
        if (live->full)
                return g_strdup(live->full);
        if (!take_tick(engine, live, true))
                return above_rate(engine, live);
        if (g_array_index(plan->ticks, PlannedTick, 0).fate != TICK_RUN)
                return NULL;
        record = new_record(engine, live->record, 0);
        held = barred(engine, live->record, record->admin);
        if (held || run_command_check_counts(engine, record, &error))
                return held;
        return first_line(error);
}

/* A held schedule is looked at each few seconds: its later ticks are not counted for that. True: it is held, and moved on. */
static bool wait_first(Engine *engine, Creating *creating, const ScheduleRule *rule)
{
        LiveSchedule *live = creating->live;
        g_auto(SchedulePlan) first = { 0 };

        schedule_plan_first(rule, live->active->len, engine->batch.now, &first);
        creating->held = hold_first(engine, live, &first);
        if (!creating->held)
                return false;
        creating->plan = &first;
        move_on(engine, creating);
        if (*creating->held) /* for seconds: the texts of many would take too much memory */
                forget_text(live);
        g_clear_pointer(&creating->held, g_free);
        return true;
}

/* The ticks that are due, at most `max`; returns what it cost, in ticks. */
static guint evaluate(Engine *engine, LiveSchedule *live, guint max)
{
        const ScheduleRule rule = rule_of(engine, live);
        g_auto(SchedulePlan) plan = { 0 };
        Creating creating = { .engine = engine, .live = live, .plan = &plan };
        guint active = live->active->len, cost;

        if (!live->cron) {
                schedules_end(engine, live, SCHEDULE_FAILED, "schedule.failed",
                              g_strdup_printf("the server does not understand its crontab '%s' any more",
                                              live->record->crontab));
                return 0;
        }
        look_at_clock(engine, live, &rule);
        if (wait_first(engine, &creating, &rule))
                return 1;
        schedule_plan(&rule, active, engine->batch.now, max, &plan);
        cost = plan.looked / SCHEDULE_LOOKS;
        if (plan.ticks->len > 0 && (!live->checked || (plan.runs > 0 && !is_read(live)))) {
                ask_text(engine, live, plan.runs > 0);
                return cost;
        }
        create_runs(&creating);
        stop_oldest(engine, live, to_stop(&creating, active));
        move_on(engine, &creating);
        if (creating.held && *creating.held) /* for seconds: the texts of many would take too much memory */
                forget_text(live);
        g_free(creating.held);
        return cost + creating.done;
}

/* The wall clock counts, and may be set back. Ticks from this moment on are later than the start. */
static void note_clock(Engine *engine)
{
        gint64 now = engine->batch.now, back = engine->schedules_at - now;
        g_autofree char *seconds = g_strdup_printf("%" G_GINT64_FORMAT, back / 1000);
        g_autoptr(GPtrArray) all = NULL;

        engine->schedules_at = now;
        engine->started = MIN(engine->started, now);
        if (back <= SCHEDULE_BACK_MS || g_hash_table_size(engine->schedules) == 0)
                return;
        log_warning("the clock was set back: schedules do not repeat times, and wait for the next one",
                    "seconds", seconds, NULL);
        all = all_of(engine);
        for (guint i = 0; i < all->len; i++) {
                ((LiveSchedule *)all->pdata[i])->clock_back = true;
                wake_next(engine, all->pdata[i]);
        }
}

void schedules_work(Engine *engine)
{
        guint left = SCHEDULE_TICKS;

        note_clock(engine);
        while (left > 0 && schedules_due(engine) && schedules_due(engine) <= engine->batch.now) {
                LiveSchedule *live = g_sequence_get(g_sequence_get_begin_iter(engine->schedule_times));
                guint cost = evaluate(engine, live, MIN(left, SCHEDULE_TICKS_ONE));

                left -= CLAMP(cost, 1, left);
        }
}

/* ---- the end of a batch ---- */

void schedules_store(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                const LiveSchedule *live = engine->batch.schedules->pdata[i];

                if (!live->dropped)
                        g_ptr_array_add(engine->batch.schedule_puts, live->record);
        }
}

void schedules_count(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                const LiveSchedule *live = engine->batch.schedules->pdata[i];

                engine->metrics.running_schedules +=
                        is_running(live) - (live->was && live->was->state == SCHEDULE_RUNNING);
        }
}

void schedules_settle(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                LiveSchedule *live = engine->batch.schedules->pdata[i];

                live->dirty = false;
                g_clear_pointer(&live->was, schedule_record_free);
                if (live->dropped)
                        leave(engine, live);
                else if (!live->timer || live->wake > engine->batch.now)
                        forget_text(live);
        }
        g_ptr_array_set_size(engine->batch.schedules, 0);
}

/* The record keeps its place, to which the table points. */
static void restore(Engine *engine, LiveSchedule *live)
{
        ScheduleRecord *now = live->record, *was = g_steal_pointer(&live->was);

        now->state = was->state;
        now->revision = was->revision;
        now->updated = was->updated;
        now->next_at = was->next_at;
        say(live, g_steal_pointer(&was->message));
        schedule_record_free(was);
        live->dropped = false;
        live->clock_back = true; /* what it said of the clock is lost */
        wake_next(engine, live);
}

void schedules_restore(Engine *engine)
{
        for (guint i = 0; i < engine->batch.schedules->len; i++) {
                LiveSchedule *live = engine->batch.schedules->pdata[i];

                live->dirty = false;
                if (live->was) {
                        restore(engine, live);
                        continue;
                }
                rest(live);
                leave(engine, live);
        }
        g_ptr_array_set_size(engine->batch.schedules, 0);
}
