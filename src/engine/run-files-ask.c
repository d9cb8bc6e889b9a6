/* Requests for files from any thread, of others than runs; and the answers to all requests (see run-files.h). */
#include "base/err.h"
#include "engine/run-files-internal.h"
#include "engine/runs.h"

/* ---- answers ---- */

void files_answer(Engine *engine, FilesTicket *ticket, const json_t *values, const GError *error)
{
        const FilesTicket asked = *ticket;

        if (!asked.answered) {
                runs_answered(engine, ticket, values, error);
                return;
        }
        *ticket = (FilesTicket){ 0 }; /* no run has the number 0 */
        asked.answered(engine, &asked, values, error);
}

void files_answer_end(FilesTicket *ticket)
{
        g_autoptr(GError) error = NULL;

        if (!ticket->answered)
                return;
        err_set(&error, ERR_UNAVAILABLE, "the server ends");
        files_answer(NULL, ticket, NULL, error);
}

/* ---- requests ---- */

typedef struct {
        Command command;
        FilesRequest request; /* `paths` NULL: it was passed on */
        char *user, *fs, *root;
} AskFiles;

static bool apply_ask(Engine *engine, Command *command)
{
        AskFiles *ask = (AskFiles *)command;

        if (ask->request.paths) /* else it is applied again */
                run_files_ask(engine->files, &ask->request);
        ask->request.paths = NULL;
        return true;
}

static void free_ask(Command *command)
{
        AskFiles *ask = (AskFiles *)command;

        if (ask->request.paths) {
                files_answer_end(&ask->request.ticket);
                files_group_unref(ask->request.group);
        }
        json_decref(ask->request.paths);
        g_free(ask->user);
        g_free(ask->fs);
        g_free(ask->root);
}

static const CommandOps ask_ops = {
        .name = "question to a file system", .size = sizeof(AskFiles), .apply = apply_ask, .free = free_ask
};

void run_files_post(Engine *engine, const FilesRequest *request)
{
        AskFiles *ask = command_new(&ask_ops, NULL, NULL);

        ask->user = g_strdup(request->user);
        ask->fs = g_strdup(request->fs);
        ask->root = g_strdup(request->root);
        ask->request = *request;
        ask->request.user = ask->user;
        ask->request.fs = ask->fs;
        ask->request.root = ask->root;
        inbox_put(&engine->inbox, &ask->command);
}

/* ---- texts ---- */

typedef struct {
        EngineTextDone done;
        void *arg;
} Reader;

static void note_text(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        g_autofree Reader *reader = ticket->arg;

        reader->done(json_string_value(json_object_get(values, "text")), error, reader->arg);
}

void engine_read_file(Engine *engine, const char *user, const char *fs, const char *path, gsize max,
                      EngineTextDone done, void *arg)
{
        Reader *reader = g_new0(Reader, 1);

        *reader = (Reader){ done, arg };
        run_files_post(engine, &(FilesRequest){ .ticket = { .answered = note_text, .arg = reader },
                                                .kind = FILES_READ,
                                                .user = user,
                                                .fs = fs,
                                                .paths = json_pack("{s:s}", "text", path),
                                                .max = max,
                                                .unnamed = true });
}

/* ---- directories ---- */

typedef struct {
        EngineDirectoryDone done;
        void *arg;
} Finder;

static void note_directory(Engine *engine, const FilesTicket *ticket, const json_t *values,
                           const GError *error)
{
        g_autofree Finder *finder = ticket->arg;

        finder->done(error, finder->arg);
}

void engine_find_directory(Engine *engine, const char *user, const char *name, const char *path,
                           EngineDirectoryDone done, void *arg)
{
        Finder *finder = g_new0(Finder, 1);

        *finder = (Finder){ done, arg };
        run_files_post(engine, &(FilesRequest){ .ticket = { .answered = note_directory, .arg = finder },
                                                .kind = FILES_STAT,
                                                .user = user,
                                                .fs = name,
                                                .root = path,
                                                .paths = json_pack("{s:s}", "directory", ""),
                                                .unnamed = true });
}
