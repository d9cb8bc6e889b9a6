/* The ticks that are due in a batch: which of them create a run, are skipped, or wait (see schedules.h). */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "engine/pipelines.h"
#include "engine/schedules.h"
#include "model/filesystem.h"
#include "schedule/plan.h"

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

RunRecord *schedules_new_run(Engine *engine, const ScheduleRecord *schedule, gint64 tick)
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
        g_autoptr(RunRecord) record = schedules_new_run(engine, live->record, tick);
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
                creating->held = text_first_line(error->message);
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
        record_end(engine, schedules_new_run(engine, live->record, tick->at), NODE_SKIPPED,
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
        schedules_set_message(
                live, g_strdup_printf(
                              "the clock of the server was set back, and no time is used twice: the next run "
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
                schedules_set_message(live, g_strdup(held));
        }
        if (!next) {
                schedules_end(engine, live, SCHEDULE_SUCCESS, "schedule.ended", NULL);
                return;
        }
        schedules_wake_next(engine, live);
        live->waits = plan->waits && !creating->held;
        if (live->waits)
                schedules_stop_timer(live);
        else if (held)
                schedules_wake_at(engine, live,
                                  engine->batch.now + (live->full ? SCHEDULE_FULL_MS : SCHEDULE_HOLD_MS));
        else if (next <= engine->batch.now) /* behind the others that are due */
                schedules_wake_at(engine, live, engine->batch.now);
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
        record = schedules_new_run(engine, live->record, 0);
        held = barred(engine, live->record, record->admin);
        if (held || run_command_check_counts(engine, record, &error))
                return held;
        return text_first_line(error->message);
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
                schedules_forget_text(live);
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
                schedules_ask_text(engine, live, plan.runs > 0);
                return cost;
        }
        create_runs(&creating);
        stop_oldest(engine, live, to_stop(&creating, active));
        move_on(engine, &creating);
        if (creating.held && *creating.held) /* for seconds: the texts of many would take too much memory */
                schedules_forget_text(live);
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
        all = schedules_all(engine);
        for (guint i = 0; i < all->len; i++) {
                ((LiveSchedule *)all->pdata[i])->clock_back = true;
                schedules_wake_next(engine, all->pdata[i]);
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
