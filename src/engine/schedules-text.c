/* The text of a schedule's pipeline: a worker reads and compiles it for the ticks of one batch (see schedules.h). */
#include <string.h>

#include "base/text-cut.h"
#include "engine/schedules.h"

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
        if (read->plan && !run_plan_use_packages(read->engine, read->plan, version->user, &error))
                g_clear_pointer(&read->plan, run_plan_unref);
        if (!read->plan)
                read->trouble = g_strdup(error->message);
}

/* On a thread of the pool. */
static void read_text(bool stopped, void *arg)
{
        ReadText *read = arg;
        g_autoptr(GError) error = NULL;

        if (!stopped && !run_command_check_bytes(read->engine, read->record, &error))
                read->full = text_first_line(error->message);
        else if (!stopped && read->compile)
                compile_text(read);
        inbox_put(&read->engine->inbox, &read->command);
}

void schedules_forget_text(LiveSchedule *live)
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
        schedules_forget_text(live);
        if (schedules_is_running(live)) {
                live->checked = true;
                live->plan = read->plan ? run_plan_ref(read->plan) : NULL;
                live->trouble = g_strdup(read->trouble);
                live->full = g_strdup(read->full);
        }
        schedules_wake_next(engine, live);
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

void schedules_ask_text(Engine *engine, LiveSchedule *live, bool compile)
{
        ReadText *read = command_new(&text_ops, NULL, NULL);

        read->engine = engine;
        read->seq = live->record->seq;
        read->pipeline = live->record->pipeline;
        read->version = live->record->version;
        read->compile = compile;
        read->record = schedules_new_run(engine, live->record, 0);
        schedules_stop_timer(live);
        live->asked = thread_pool_push(engine->run_workers, live->record->user, read_text, read, NULL);
        if (live->asked)
                return;
        command_free(&read->command);
        schedules_wake_at(engine, live, engine->batch.now + SCHEDULE_HOLD_MS);
}
