/* The commands on schedules: create, stop, delete (see schedules.h). */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "engine/pipelines.h"
#include "engine/schedules.h"

/* Passes the record to the caller after the commit. */
typedef struct {
        Command command;
        EngineScheduleDone schedule_done;
        ScheduleRecord *answer; /* owned */
} ScheduleCommand;

static void answer_schedule(Engine *engine, Command *command, const GError *error)
{
        ScheduleCommand *wanted = (ScheduleCommand *)command;

        wanted->schedule_done(error ? NULL : wanted->answer, error, command->arg);
}

static void set_answer(ScheduleCommand *wanted, const LiveSchedule *live)
{
        schedule_record_free(wanted->answer);
        wanted->answer = schedule_record_copy(live->record);
}

/* ---- create ---- */

typedef struct {
        ScheduleCommand schedule;
        Engine *engine;
        ScheduleRecord *record;
        Cron *cron;
        bool admin;
        RunPlan *plan;   /* of its version; NULL: */
        GError *failure; /* why there is none */
} CreateSchedule;

static bool check_numbers(const ScheduleRecord *record, GError **error)
{
        g_autofree char *advice = schedule_name_advice(record->name);

        if (!schedule_name_is_valid(record->name))
                return err_set(
                        error, ERR_INVALID,
                        "name '%.60s' is not 2 to %d letters, digits and '_' that do not begin with a digit%s",
                        record->name, SCHEDULE_NAME_MAX, advice);
        if (record->note && strlen(record->note) > SCHEDULE_NOTE_MAX)
                return err_set(error, ERR_INVALID, "the description has %zu bytes, and may have at most %d",
                               strlen(record->note), SCHEDULE_NOTE_MAX);
        if (record->concurrency < 0 || record->concurrency > G_MAXINT32)
                return err_set(error, ERR_INVALID,
                               "concurrency %" G_GINT64_FORMAT " is not a number from 0 (unlimited) to %d",
                               record->concurrency, G_MAXINT32);
        return (record->expire_s >= 0 && record->expire_s <= G_MAXINT32) ||
               err_set(error, ERR_INVALID,
                       "expire interval %" G_GINT64_FORMAT " is not a number of seconds from 0 (never) to %d",
                       record->expire_s, G_MAXINT32);
}

static bool refuse_time(const char *what, gint64 time, GError **error)
{
        g_autofree char *text = clock_format(time);

        return err_set(error, ERR_INVALID, "the %s, %s, is not in the future", what, text);
}

static bool check_times(const ScheduleRecord *record, gint64 now, GError **error)
{
        if (record->start_at && record->start_at <= now)
                return refuse_time("start", record->start_at, error);
        if (record->end_at && record->end_at <= now)
                return refuse_time("end", record->end_at, error);
        return !record->start_at || !record->end_at || record->end_at > record->start_at ||
               err_set(error, ERR_INVALID, "the end is not after the start");
}

/* */
static bool set_first(const CreateSchedule *create, gint64 now, GError **error)
{
        ScheduleRecord *record = create->record;

        return cron_next(create->cron, record->start_at ? record->start_at : now, &record->next_at) ||
               err_set(error, ERR_INVALID,
                       "crontab '%s' is never due in %d years\nCheck its days and months.", record->crontab,
                       CRON_YEARS);
}

static bool check_count(Engine *engine, const CreateSchedule *create, GError **error)
{
        const char *user = create->record->user;

        if (schedules_find_name(engine, user, create->record->name))
                return err_set(
                        error, ERR_EXISTS,
                        "'%s' has a schedule '%s' already\n"
                        "Choose another name, or stop and delete that one: `paddle schedule delete %s`.",
                        user, create->record->name, create->record->name);
        if (g_hash_table_size(engine->schedules) >= SCHEDULES_MAX)
                return err_set(error, ERR_QUOTA,
                               "the server has %d schedules, and takes no more\n"
                               "Schedules that are over can be deleted.",
                               SCHEDULES_MAX);
        return create->admin || schedules_count_of(engine, user) < SCHEDULES_OF_USER_MAX ||
               err_set(error, ERR_QUOTA,
                       "'%s' has %d schedules, and may not have more\n"
                       "Delete one that is over: `paddle schedule delete NAME`.",
                       user, SCHEDULES_OF_USER_MAX);
}

static bool check_version(Engine *engine, const ScheduleRecord *record, GError **error)
{
        const StoredPipeline *stored = pipelines_find(engine, record->pipeline);
        g_autofree char *id = numbered_id_format("ppl", record->pipeline);

        return (stored && pipelines_version(stored, record->version)) ||
               err_set(error, ERR_NOT_FOUND,
                       "version %d of pipeline '%s' was just deleted\n`paddle pipeline list` shows the stored pipelines.",
                       record->version, stored ? stored->record->name : id);
}

/* The file systems that its runs need; they are protected while it runs. */
static bool take_filesystems(Engine *engine, CreateSchedule *create, GError **error)
{
        const char *user = schedules_run_user(create->record);
        const GPtrArray *names = create->plan->filesystems;
        g_autoptr(GString) all = g_string_new(NULL);
        g_autoptr(GError) why = NULL;

        if (!run_command_check_filesystems(engine, user, create->plan, &why))
                return err_set(error, ERR_INVALID, "its runs could not begin: %s", why->message);
        for (guint i = 0; i < names->len; i++)
                g_string_append_printf(all, "%s%s", i ? "," : "", (const char *)names->pdata[i]);
        create->record->mounts = all->len > 0 ? g_strdup(all->str) : NULL;
        return true;
}

static bool check_plan(const CreateSchedule *create, GError **error)
{
        return create->plan ||
               err_set(error, ERR_INVALID, "its runs could not begin: %s", create->failure->message);
}

static bool apply_create(Engine *engine, Command *command)
{
        CreateSchedule *create = (CreateSchedule *)command;
        gint64 now = engine->batch.now;
        LiveSchedule *live;

        if (!check_times(create->record, now, &command->error) || !set_first(create, now, &command->error) ||
            !check_version(engine, create->record, &command->error) ||
            !check_count(engine, create, &command->error) || !check_plan(create, &command->error) ||
            !take_filesystems(engine, create, &command->error))
                return true;
        create->record->seq = ++engine->schedule_seq;
        create->record->state = SCHEDULE_RUNNING;
        create->record->created = create->record->updated = now;
        live = schedules_add(engine, schedule_record_copy(create->record), cron_ref(create->cron));
        schedules_note(engine, live, "schedule.created",
                       json_pack("{s:s}", "crontab", live->record->crontab));
        set_answer(&create->schedule, live);
        return true;
}

static void free_create(Command *command)
{
        CreateSchedule *create = (CreateSchedule *)command;

        schedule_record_free(create->schedule.answer);
        schedule_record_free(create->record);
        cron_unref(create->cron);
        g_clear_pointer(&create->plan, run_plan_unref);
        g_clear_error(&create->failure);
}

static const CommandOps create_ops = { .name = "create schedule",
                                       .size = sizeof(CreateSchedule),
                                       .apply = apply_create,
                                       .answer = answer_schedule,
                                       .free = free_create };

static void compile(CreateSchedule *create)
{
        Engine *engine = create->engine;
        const ScheduleRecord *record = create->record;
        g_autoptr(json_t) request = schedules_request(record);
        g_autoptr(PipelineVersion) version = store_pipeline_version(engine->store, record->pipeline,
                                                                    record->version, true, &create->failure);

        if (version)
                create->plan = run_plan_new(engine, version->text, request, &create->failure);
}

/* On a thread of the pool: compiling may take a second. */
static void read_version(bool stopped, void *arg)
{
        CreateSchedule *create = arg;

        if (stopped)
                err_set(&create->failure, ERR_UNAVAILABLE, "the server is stopping");
        else
                compile(create);
        inbox_put(&create->engine->inbox, &create->schedule.command);
}

void engine_create_schedule(Engine *engine, const EngineSchedule *schedule, EngineScheduleDone done,
                            void *arg)
{
        g_autoptr(GError) error = NULL;
        Cron *cron = check_numbers(schedule->record, &error)
                             ? cron_parse(schedule->record->crontab, NULL, &error)
                             : NULL;
        CreateSchedule *create;

        if (!cron) {
                done(NULL, error, arg);
                return;
        }
        create = command_new(&create_ops, NULL, arg);
        create->schedule.schedule_done = done;
        create->record = schedule_record_copy(schedule->record);
        create->cron = cron;
        create->admin = schedule->admin;
        create->engine = engine;
        if (thread_pool_push(engine->run_workers, create->record->user, read_version, create, &error))
                return;
        done(NULL, error, arg);
        command_free(&create->schedule.command);
}

/* ---- stop, delete ---- */

typedef struct {
        ScheduleCommand schedule;
        gint64 seq;
        char *by;
} ActOnSchedule;

static void free_act(Command *command)
{
        ActOnSchedule *act = (ActOnSchedule *)command;

        schedule_record_free(act->schedule.answer);
        g_free(act->by);
}

static LiveSchedule *find(Engine *engine, const ActOnSchedule *act, GError **error)
{
        LiveSchedule *live = schedules_find(engine, act->seq);
        g_autofree char *id = numbered_id_format("schedule", act->seq);

        if (!live)
                err_set(error, ERR_NOT_FOUND,
                        "%s was just deleted\n`paddle schedule list` shows the schedules.", id);
        return live;
}

static bool apply_stop(Engine *engine, Command *command)
{
        ActOnSchedule *act = (ActOnSchedule *)command;
        LiveSchedule *live = find(engine, act, &command->error);

        if (live && live->record->state != SCHEDULE_RUNNING)
                err_set(&command->error, ERR_CONFLICT, "schedule '%s' has already ended: %s",
                        live->record->name, schedule_state_name((ScheduleState)live->record->state));
        if (command->error)
                return true;
        schedules_end(engine, live, SCHEDULE_TERMINATED, "schedule.stopped",
                      g_strdup_printf("stopped by %s", act->by));
        set_answer(&act->schedule, live);
        return true;
}

static const CommandOps stop_ops = { .name = "stop schedule",
                                     .size = sizeof(ActOnSchedule),
                                     .apply = apply_stop,
                                     .answer = answer_schedule,
                                     .free = free_act };

static bool apply_delete(Engine *engine, Command *command)
{
        ActOnSchedule *act = (ActOnSchedule *)command;
        LiveSchedule *live = find(engine, act, &command->error);

        if (live && live->record->state == SCHEDULE_RUNNING)
                err_set(&command->error, ERR_CONFLICT,
                        "schedule '%s' is running: only one that is over can be deleted\n"
                        "Stop it first: `paddle schedule stop %s`.",
                        live->record->name, live->record->name);
        if (command->error)
                return true;
        schedules_drop(engine, live, act->by);
        set_answer(&act->schedule, live);
        return true;
}

static const CommandOps delete_ops = { .name = "delete schedule",
                                       .size = sizeof(ActOnSchedule),
                                       .apply = apply_delete,
                                       .answer = answer_schedule,
                                       .free = free_act };

static void act_on(Engine *engine, const CommandOps *ops, gint64 seq, const char *by, EngineScheduleDone done,
                   void *arg)
{
        ActOnSchedule *act = command_new(ops, NULL, arg);

        act->schedule.schedule_done = done;
        act->seq = seq;
        act->by = g_strdup(by);
        inbox_put(&engine->inbox, &act->schedule.command);
}

void engine_stop_schedule(Engine *engine, gint64 seq, const char *by, EngineScheduleDone done, void *arg)
{
        act_on(engine, &stop_ops, seq, by, done, arg);
}

void engine_delete_schedule(Engine *engine, gint64 seq, const char *by, EngineScheduleDone done, void *arg)
{
        act_on(engine, &delete_ops, seq, by, done, arg);
}
