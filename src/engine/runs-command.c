/* The commands on runs of pipelines: create, stop, delete (see runs.h). */
#include "engine/pipelines.h"
#include "engine/run-files.h"
#include "engine/runs.h"
#include "engine/submit.h"

#include <string.h>

#include "base/err.h"
#include "pipeline/source.h"

/* ---- what the commands share ---- */

void run_command_answer(Engine *engine, Command *command, const GError *error)
{
        RunCommand *wanted = (RunCommand *)command;

        wanted->run_done(error ? NULL : wanted->answer, command->repeated, error, command->arg);
}

RunRecord *run_record_copy(const RunRecord *record)
{
        RunRecord *copy = g_memdup2(record, sizeof *record);

        copy->user = g_strdup(record->user);
        copy->name = g_strdup(record->name);
        copy->key = g_strdup(record->key);
        copy->message = g_strdup(record->message);
        copy->source = g_strdup(record->source);
        copy->fs = g_strdup(record->fs);
        copy->note = g_strdup(record->note);
        copy->retry_id = g_strdup(record->retry_id);
        copy->control = g_strdup(record->control);
        copy->text = copy->request = copy->hash = NULL;
        return copy;
}

void run_command_set(RunCommand *wanted, const RunRecord *record)
{
        run_record_free(wanted->answer);
        wanted->answer = run_record_copy(record);
}

/* ---- create ---- */

typedef struct {
        RunCommand run;
        RunRecord *record; /* with text and request; stored by the batch */
        RunPlan *plan;
        GError *failure; /* of its sub path */
} CreateRun;

/* Also of one run alone: aliases make a short text long. */
static bool check_memory(const Engine *engine, const RunRecord *record, const RunOwner *open,
                         const RunPlan *plan, GError **error)
{
        if (plan->memory > RUN_MEMORY_MAX)
                return err_set(error, ERR_TOO_LARGE,
                               "the definition has %" G_GSIZE_FORMAT
                               " MiB with its lists, and the limit is %d\n"
                               "Make its lists shorter, or let fewer steps repeat them.",
                               plan->memory >> 20, RUN_MEMORY_MAX >> 20);
        if (open->memory + plan->memory > RUN_MEMORY_MAX)
                return err_set(
                        error, ERR_QUOTA,
                        "the definitions of the runs of '%s' would have more than %d MiB together with their lists\n"
                        "Try again when some of the runs have ended.",
                        record->user, RUN_MEMORY_MAX >> 20);
        return engine->run_memory + plan->memory <= RUN_MEMORY_ALL ||
               err_set(error, ERR_QUOTA,
                       "the definitions of the runs of all users would have more than %d MiB together with their "
                       "lists\nTry again when some of the runs have ended.",
                       RUN_MEMORY_ALL >> 20);
}

static const RunOwner *owner_of(Engine *engine, const char *user)
{
        static const RunOwner none = { 0 };
        const RunOwner *open = runs_owner(engine, user);

        return open ? open : &none;
}

bool run_command_check_counts(Engine *engine, const RunRecord *record, GError **error)
{
        if (g_hash_table_size(engine->runs) >= RUNS_MAX)
                return err_set(
                        error, ERR_QUOTA,
                        "the server has %d runs that have not ended, and takes no more\nTry again when some "
                        "have ended.",
                        RUNS_MAX);
        return record->admin || owner_of(engine, record->user)->runs < RUNS_OF_USER_MAX ||
               err_set(error, ERR_QUOTA,
                       "'%s' has %d runs that have not ended, and may not have more\nTry again when some "
                       "have ended.",
                       record->user, RUNS_OF_USER_MAX);
}

static bool check_open(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error)
{
        const RunOwner *open = owner_of(engine, record->user);

        if (!run_command_check_counts(engine, record, error))
                return false;
        if (open->texts > 0 && open->texts + plan->text > RUN_TEXTS_MAX)
                return err_set(
                        error, ERR_QUOTA,
                        "the definitions of the runs of '%s' would be longer than %d MiB together\nTry again "
                        "when some of the runs have ended.",
                        record->user, RUN_TEXTS_MAX >> 20);
        return check_memory(engine, record, open, plan, error);
}

/* One that was created since the key was looked up. */
static bool check_key(Engine *engine, const RunRecord *record, GError **error)
{
        GHashTableIter iter;
        gpointer value;

        if (!record->key)
                return true;
        g_hash_table_iter_init(&iter, engine->runs);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const RunRecord *other = ((LiveRun *)value)->record;

                if (g_strcmp0(other->key, record->key) == 0 && strcmp(other->user, record->user) == 0)
                        return err_set(error, ERR_CONFLICT,
                                       "another request with the idempotency key '%s' came at the same time\n"
                                       "Send the request again to see its run.",
                                       record->key);
        }
        return true;
}

/* The version may have been deleted since its text was read; then nothing keeps the text. */
static bool check_version(Engine *engine, const RunRecord *record, GError **error)
{
        const StoredPipeline *stored = record->hash ? pipelines_find(engine, record->pipeline) : NULL;

        return !record->hash || (stored && pipelines_version(stored, record->version)) ||
               err_set(error, ERR_GONE,
                       "version %d of pipeline '%s' was just deleted\n`paddle pipeline list` shows the stored pipelines.",
                       record->version, record->name);
}

/* The user's own file systems, whose kinds can be used. The same is checked again for each job. */
bool run_command_check_filesystems(Engine *engine, const char *user, const RunPlan *plan, GError **error)
{
        const Definition *definition = plan->definition;

        for (guint i = 0; i < plan->filesystems->len; i++) {
                const char *name = plan->filesystems->pdata[i];
                g_auto(FilesystemPlace) place = { 0 };

                if (!catalog_filesystem_place(engine_catalog_now(engine), "", user, name, &place, error))
                        return err_prefix(error, "fs_options: ");
                if (i == 0 && definition->has_main_fs && place.read_only && plan->artifacts)
                        return err_set(
                                error, ERR_INVALID,
                                "fs_options.main_fs: the artifacts cannot be written to file system '%s', "
                                "which is read-only\n"
                                "Name another one, or change it: `paddle fs set %s --no-read-only`.",
                                name, name);
        }
        return true;
}

/* That of steps that name none. The same is checked again for each job, and for other queues only then: their names may
 * be parameters. */
static bool check_queue(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error)
{
        return !plan->queue || submit_queue(engine, plan->queue, record->user, record->admin, error);
}

bool run_command_fits(const Engine *engine, const RunPlan *plan)
{
        return engine->batch.run_texts == 0 || engine->batch.run_texts + plan->text <= RUN_TEXTS_BATCH;
}

bool run_command_check_places(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error)
{
        return engine_may_write(engine, record->user, error) &&
               run_command_check_filesystems(engine, record->user, plan, error) &&
               check_queue(engine, record, plan, error);
}

bool run_command_check_limits(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error)
{
        return check_open(engine, record, plan, error) &&
               (record->admin || submit_take_rate(engine, record->user, 1, false, error));
}

bool run_command_check(Engine *engine, const RunRecord *record, const RunPlan *plan, GError **error)
{
        return check_key(engine, record, error) && run_command_check_places(engine, record, plan, error) &&
               run_command_check_limits(engine, record, plan, error);
}

LiveRun *run_command_begin(Engine *engine, RunRecord *record, RunPlan *plan)
{
        LiveRun *live;

        record->seq = ++engine->run_seq;
        record->created = engine->batch.now;
        g_ptr_array_add(engine->batch.new_runs, record);
        live = runs_add(engine, run_record_copy(record), plan);
        runs_note(engine, live, "run.created", json_pack("{s:s}", "name", record->name));
        run_begin(live->machine);
        runs_make_due(engine, live);
        return live;
}

static bool apply_create(Engine *engine, Command *command)
{
        CreateRun *create = (CreateRun *)command;
        RunRecord *record = create->record;
        LiveRun *live;

        if (create->failure) {
                command->error = g_error_copy(create->failure);
                return true;
        }
        if (!run_command_fits(engine, create->plan))
                return false;
        if (!run_command_check(engine, record, create->plan, &command->error) ||
            !check_version(engine, record, &command->error))
                return true;
        live = run_command_begin(engine, record, create->plan);
        run_command_set(&create->run, live->record);
        return true;
}

static void free_create(Command *command)
{
        CreateRun *create = (CreateRun *)command;

        run_record_free(create->run.answer);
        run_record_free(create->record);
        g_clear_pointer(&create->plan, run_plan_unref);
        g_clear_error(&create->failure);
}

static const CommandOps create_ops = { .name = "create run",
                                       .size = sizeof(CreateRun),
                                       .apply = apply_create,
                                       .answer = run_command_answer,
                                       .free = free_create };

/* ---- the sub path of its main file system ---- */

static const char *sub_path_of(const CreateRun *create)
{
        const Definition *definition = create->plan->definition;

        return definition->has_main_fs ? definition_text(definition, definition->main_fs.sub_path) : "";
}

/* Called once with what is at the sub path. `engine` NULL: the server ends. If the worker could not look, the run is
 * created, and its first step says why. */
static void note_sub_path(Engine *engine, const FilesTicket *ticket, const json_t *values,
                          const GError *error)
{
        CreateRun *create = ticket->arg;
        const json_t *found = json_object_get(values, "sub_path");

        if (!engine) {
                command_answer(NULL, &create->run.command, error);
                return;
        }
        if (json_is_true(json_object_get(found, "exists")) && !json_is_true(json_object_get(found, "is_dir")))
                err_set(&create->failure, ERR_CONFLICT,
                        "fs_options.main_fs: sub_path '%.300s' is a file, and must be a directory\n"
                        "Name another sub_path, or remove the file.",
                        sub_path_of(create));
        inbox_put(&engine->inbox, &create->run.command);
}

/* Without holding the engine's thread. */
static void look_at_sub_path(Engine *engine, CreateRun *create)
{
        const Definition *definition = create->plan->definition;

        run_files_post(engine,
                       &(FilesRequest){ .ticket = { .answered = note_sub_path, .arg = create },
                                        .kind = FILES_STAT,
                                        .user = create->record->user,
                                        .fs = definition_text(definition, definition->main_fs.name),
                                        .paths = json_pack("{s:s}", "sub_path", sub_path_of(create)) });
}

/* Whether a main file system was at hand is not the caller's: servers before this version had none. */
static json_t *read_wish(const char *request)
{
        json_t *wish = json_parse(request, strlen(request), NULL);

        json_object_del(wish, "fs_default");
        return wish;
}

static bool is_same(const RunRecord *earlier, const RunRecord *record)
{
        g_autoptr(json_t) was = read_wish(earlier->request), is = read_wish(record->request);

        return strcmp(earlier->text, record->text) == 0 && json_equal(was, is);
}

bool run_command_check_bytes(Engine *engine, const RunRecord *record, GError **error)
{
        const gint64 max = engine->config.max_run_bytes;
        gint64 bytes = 0;

        if (record->admin || max <= 0)
                return true;
        return store_run_bytes(engine->store, record->user, &bytes, error) &&
               (bytes < max ||
                err_set(error, ERR_QUOTA,
                        "the runs of '%s' take %" G_GINT64_FORMAT
                        " MiB of the server's database, and the limit is %" G_GINT64_FORMAT
                        " MiB\nDelete runs that have ended: `paddle run list` shows them, and `paddle "
                        "run delete ID` deletes one with its jobs and logs.",
                        record->user, bytes >> 20, max >> 20));
}

bool run_command_repeated(Engine *engine, const RunRecord *record, EngineRunDone done, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) earlier =
                record->key ? store_run_by_key(engine->store, record->user, record->key, &error) : NULL;

        if (!record->key || err_is(error, ERR_NOT_FOUND))
                return false;
        if (earlier && !is_same(earlier, record))
                err_set(&error, ERR_CONFLICT,
                        "idempotency key '%s' was used for run %s with another definition or other parameters\n"
                        "Use a new key for a new run.",
                        record->key, earlier->id);
        done(error ? NULL : earlier, true, error, arg);
        return true;
}

void run_record_set_version(RunRecord *record, gint64 pipeline, int version, const char *hash)
{
        g_autofree char *id = numbered_id_format("ppl", pipeline);

        record->pipeline = pipeline;
        record->version = version;
        record->hash = g_strdup(hash);
        g_free(record->source);
        record->source = g_strdup_printf("%s-%d", id, version);
}

static RunRecord *new_record(Engine *engine, const EngineRun *run)
{
        RunRecord *record = g_new0(RunRecord, 1);

        engine_new_id(engine, record->id);
        record->user = g_strdup(run->user);
        record->key = g_strdup(run->idempotency_key);
        record->text = g_strdup(run->text);
        record->request = run->request ? json_format(run->request) : g_strdup("{}");
        record->admin = run->admin;
        record->state = NODE_RUNNING;
        record->note = g_strdup(run->note);
        record->source = g_strdup(run->source);
        record->fs = g_strdup(json_string_value(json_object_get(run->request, "fs_name")));
        if (run->version)
                run_record_set_version(record, run->version->pipeline, run->version->version,
                                       run->version->hash);
        record->attempt = 1;
        record->size = RUN_BYTES + (gint64)(strlen(record->text) + strlen(record->request));
        return record;
}

void engine_create_run(Engine *engine, const EngineRun *run, EngineRunDone done, void *arg)
{
        g_autoptr(RunRecord) record = new_record(engine, run);
        g_autoptr(GPtrArray) breaks = break_list_new();
        g_autoptr(RunPlan) plan = NULL;
        g_autoptr(GError) error = NULL;
        const char *sender = run->version ? run->version->user : run->user;
        CreateRun *create;

        if (run_command_repeated(engine, record, done, arg))
                return;
        if (run_command_check_bytes(engine, record, &error))
                plan = run_plan_new(engine, run->text, run->request, &error);
        if (!plan || !run_plan_use_packages(engine, plan, sender, &error)) {
                done(NULL, false, error, arg);
                return;
        }
        if (!runs_take_breaks(record, plan->definition, run->request, NULL, breaks, &error)) {
                done(NULL, false, error, arg);
                return;
        }
        record->name = g_strdup(definition_text(plan->definition, plan->definition->name));
        if (!record->source && plan->caches)
                record->source = definition_source(run->text, strlen(run->text));
        create = command_new(&create_ops, NULL, arg);
        create->run.run_done = done;
        create->record = g_steal_pointer(&record);
        create->plan = g_steal_pointer(&plan);
        if (*sub_path_of(create))
                look_at_sub_path(engine, create);
        else
                inbox_put(&engine->inbox, &create->run.command);
}

/* ---- stop ---- */

/* On a run by its id. */
typedef struct {
        RunCommand run;
        char *id, *by;
        bool force;
        RunRecord *read;   /* as it was when the command was created; NULL: there is none */
        RunRecord *keeper; /* of a deletion: a run that keeps results of it; NULL: there is none */
} ActOnRun;

static void free_act(Command *command)
{
        ActOnRun *act = (ActOnRun *)command;

        run_record_free(act->run.answer);
        run_record_free(act->read);
        run_record_free(act->keeper);
        g_free(act->id);
        g_free(act->by);
}

static void no_run(const ActOnRun *act, GError **error)
{
        err_set(error, ERR_NOT_FOUND, "there is no run '%s'\n`paddle run list` shows the newest runs.",
                act->id);
}

static void refuse_ended(const ActOnRun *act, GError **error)
{
        if (!act->read)
                no_run(act, error);
        else if (node_is_final((NodeState)act->read->state))
                err_set(error, ERR_CONFLICT, "run '%s' has already ended: %s", act->id,
                        node_state_name((NodeState)act->read->state));
        else
                err_set(error, ERR_CONFLICT, "run '%s' has just ended", act->id);
}

static bool apply_stop(Engine *engine, Command *command)
{
        ActOnRun *act = (ActOnRun *)command;
        LiveRun *live = runs_find_id(engine, act->id);

        if (!live || live->record->state != NODE_RUNNING) {
                refuse_ended(act, &command->error);
                return true;
        }
        runs_stop_one(engine, live, act->force, act->by);
        run_command_set(&act->run, live->record);
        return true;
}

static const CommandOps stop_ops = { .name = "stop run",
                                     .size = sizeof(ActOnRun),
                                     .apply = apply_stop,
                                     .answer = run_command_answer,
                                     .free = free_act };

static ActOnRun *act_new(Engine *engine, const CommandOps *ops, const char *id, const char *by,
                         EngineRunDone done, void *arg)
{
        ActOnRun *act = command_new(ops, NULL, arg);

        act->run.run_done = done;
        act->id = g_strdup(id);
        act->by = g_strdup(by);
        act->read = store_run_by_id(engine->store, id, false, NULL);
        return act;
}

void engine_stop_run(Engine *engine, const char *id, bool force, const char *by, EngineRunDone done,
                     void *arg)
{
        ActOnRun *act = act_new(engine, &stop_ops, id, by, done, arg);

        act->force = force;
        inbox_put(&engine->inbox, &act->run.command);
}

/* ---- delete ---- */

/* its jobs and files are used. */
static bool check_keepers(Engine *engine, const ActOnRun *act, GError **error)
{
        const LiveRun *live = runs_keeper_of(engine, act->read->seq);
        const char *keeper = live ? live->record->id : act->keeper ? act->keeper->id : NULL;

        if (!keeper || (act->force && !(live && live->record->dropped)))
                return true;
        return err_set(
                error, ERR_CONFLICT,
                "run '%s' cannot be deleted: run '%s' keeps results of it, as a retry or from the cache\n"
                "Delete that run first. `paddle run delete --force %s` deletes this one anyway, with the logs "
                "and files of the steps that are kept.",
                act->id, keeper, act->id);
}

static bool check_delete(Engine *engine, const ActOnRun *act, GError **error)
{
        if (runs_find_id(engine, act->id))
                return err_set(error, ERR_CONFLICT,
                               "run '%s' has not ended: only a run that has ended can be deleted\n"
                               "Stop it first: `paddle run stop %s`.",
                               act->id, act->id);
        if (!act->read) {
                no_run(act, error);
                return false;
        }
        if (!node_is_final((NodeState)act->read->state))
                return err_set(error, ERR_CONFLICT, "run '%s' has just ended\nTry again.", act->id);
        return check_keepers(engine, act, error);
}

/* The nodes and jobs go later, in small batches (retain-runs.c). */
static bool apply_delete(Engine *engine, Command *command)
{
        ActOnRun *act = (ActOnRun *)command;
        RunRecord *dropped;

        if (!check_delete(engine, act, &command->error))
                return true;
        dropped = run_record_copy(act->read);
        dropped->dropped = true;
        dropped->revision = batch_note_run(engine, dropped, "run.deleted", json_pack("{s:s}", "by", act->by));
        g_ptr_array_add(engine->batch.changed_runs, dropped);
        engine->retain_runs_at = 0;
        engine->sweep_again = engine->sweeps_runs;
        run_command_set(&act->run, dropped);
        return true;
}

static const CommandOps delete_ops = { .name = "delete run",
                                       .size = sizeof(ActOnRun),
                                       .apply = apply_delete,
                                       .answer = run_command_answer,
                                       .free = free_act };

void engine_delete_run(Engine *engine, const char *id, bool force, const char *by, EngineRunDone done,
                       void *arg)
{
        ActOnRun *act = act_new(engine, &delete_ops, id, by, done, arg);

        act->force = force;
        act->keeper = act->read ? store_run_user_of(engine->store, act->read->seq, NULL) : NULL;
        inbox_put(&engine->inbox, &act->run.command);
}
