/* Removes artifacts, by the file workers: all of a run that is deleted, or one of a run that has ended, with its records:
 *
 *   engine_delete_artifact ─▶ RemoveFile: no live run has it ─▶ a worker ─▶ DropRecords ─▶ the caller's answer */
#include "engine/run-files.h"
#include "engine/runs.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"

enum { FOUND_MAX = 1000 }; /* records of a path that are looked at */

/* The records, and the answer. */
typedef struct {
        Command command;
        EngineRunDone run_done;
        RunRecord *run;
        GPtrArray *records; /* ArtifactRecord, of the run's output at the path */
        GError *failure;    /* of the worker */
} DropRecords;

typedef struct {
        Command command;
        DropRecords *drop; /* NULL: it was passed on */
} RemoveFile;

/* ---- the records ---- */

static bool apply_drop(Engine *engine, Command *command)
{
        const DropRecords *drop = (const DropRecords *)command;

        if (drop->failure) {
                command->error = g_error_copy(drop->failure);
                return true;
        }
        for (guint i = 0; i < drop->records->len; i++) {
                const ArtifactRecord *record = drop->records->pdata[i];
                ArtifactRecord *key = g_new0(ArtifactRecord, 1);

                *key = (ArtifactRecord){ .run = record->run,
                                         .node = record->node,
                                         .name = g_strdup(record->name) };
                g_ptr_array_add(engine->batch.dropped_artifacts, key);
        }
        return true;
}

static void answer_drop(Engine *engine, Command *command, const GError *error)
{
        const DropRecords *drop = (const DropRecords *)command;

        drop->run_done(error ? NULL : drop->run, false, error, command->arg);
}

static void free_drop(Command *command)
{
        DropRecords *drop = (DropRecords *)command;

        run_record_free(drop->run);
        g_ptr_array_unref(drop->records);
        g_clear_error(&drop->failure);
}

static const CommandOps drop_ops = { .name = "delete artifact",
                                     .size = sizeof(DropRecords),
                                     .apply = apply_drop,
                                     .answer = answer_drop,
                                     .free = free_drop };

/* ---- the file ---- */

/* Once for each request. `engine` NULL: the server ends. */
static void note_removed(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        DropRecords *drop = ticket->arg;

        if (!engine) {
                command_answer(NULL, &drop->command, error);
                return;
        }
        drop->failure = error ? g_error_copy(error) : NULL;
        inbox_put(&engine->inbox, &drop->command);
}

static bool apply_remove(Engine *engine, Command *command)
{
        RemoveFile *remove = (RemoveFile *)command;
        DropRecords *drop = g_steal_pointer(&remove->drop);
        const ArtifactRecord *first;

        if (!drop) /* it is applied again */
                return true;
        first = drop->records->pdata[0];
        if (runs_find(engine, drop->run->seq)) {
                err_set(&drop->failure, ERR_CONFLICT,
                        "run '%s' has not ended: its artifacts may be in use\n"
                        "Wait for its end, or stop it: `paddle run stop %s`.",
                        drop->run->id, drop->run->id);
                inbox_put(&engine->inbox, &drop->command);
                return true;
        }
        run_files_ask(engine->files,
                      &(FilesRequest){ .ticket = { .answered = note_removed, .arg = drop },
                                       .kind = FILES_REMOVE,
                                       .user = first->user,
                                       .fs = first->fs,
                                       .paths = json_pack("{s:s}", first->name, first->path) });
        return true;
}

static void free_remove(Command *command)
{
        DropRecords *drop = ((RemoveFile *)command)->drop;
        g_autoptr(GError) error = NULL;

        if (!drop)
                return;
        err_set(&error, ERR_UNAVAILABLE, "the server ends");
        command_answer(NULL, &drop->command, error);
}

static const CommandOps remove_ops = {
        .name = "remove artifact", .size = sizeof(RemoveFile), .apply = apply_remove, .free = free_remove
};

/* ---- the request ---- */

/* Outputs of the run at exactly this path; NULL with an error. */
static GPtrArray *find_records(Engine *engine, const RunRecord *run, const char *path, GError **error)
{
        const ArtifactQuery query = { .run = run->seq, .path = path, .limit = FOUND_MAX };
        g_autoptr(GPtrArray) found = store_artifacts(engine->store, &query, error);

        if (!found)
                return NULL;
        for (guint i = found->len; i-- > 0;) {
                const ArtifactRecord *record = found->pdata[i];

                if (!record->output || strcmp(record->path, path) != 0)
                        g_ptr_array_remove_index(found, i);
        }
        if (found->len > 0)
                return g_steal_pointer(&found);
        err_set(error, ERR_NOT_FOUND,
                "no step of run '%s' has written the artifact '%.300s'\n"
                "`paddle artifact list --run %s` shows the paths.",
                run->id, path, run->id);
        return NULL;
}

void engine_delete_artifact(Engine *engine, const char *run_id, const char *path, EngineRunDone done,
                            void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run = store_run_by_id(engine->store, run_id, false, &error);
        GPtrArray *records = run ? find_records(engine, run, path, &error) : NULL;
        RemoveFile *remove;

        if (!records) {
                done(NULL, false, error, arg);
                return;
        }
        remove = command_new(&remove_ops, NULL, NULL);
        remove->drop = command_new(&drop_ops, NULL, arg);
        remove->drop->run_done = done;
        remove->drop->run = g_steal_pointer(&run);
        remove->drop->records = records;
        inbox_put(&engine->inbox, &remove->command);
}

/* ---- the directory of a deleted run ---- */

bool runs_find_directory(const Engine *engine, RunRecord *run, char **ret_fs, char **ret_path)
{
        g_autoptr(RunPlan) plan = NULL;
        g_autoptr(json_t) request = NULL;
        RenderContext context = { .run_id = run->id };

        if (!store_run_text(engine->store, run, NULL) || !run->text || !strstr(run->text, "artifacts"))
                return false;
        request = run->request ? json_parse(run->request, strlen(run->request), NULL) : NULL;
        plan = run_plan_new(engine, run->text, request, NULL);
        if (!plan || !plan->artifacts || !plan->definition->has_main_fs)
                return false;
        *ret_fs = g_strdup(definition_text(plan->definition, plan->definition->main_fs.name));
        context.definition = plan->definition;
        *ret_path = render_run_directory(&context);
        return true;
}

static void note_directory(Engine *engine, const FilesTicket *ticket, const json_t *values,
                           const GError *error)
{
        g_autofree char *id = ticket->arg;

        if (engine && error)
                log_warning("the artifacts of a deleted run are left on its file system", "run", id, "error",
                            error->message, NULL);
}

void runs_remove_directory(Engine *engine, const RunRecord *run, const char *fs, const char *path)
{
        run_files_ask(engine->files,
                      &(FilesRequest){ .ticket = { .answered = note_directory, .arg = g_strdup(run->id) },
                                       .kind = FILES_REMOVE,
                                       .user = run->user,
                                       .fs = fs,
                                       .paths = json_pack("{s:s}", ".pipeline", path) });
}
