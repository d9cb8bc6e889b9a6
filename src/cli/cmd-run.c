/* paddle run create, list, wait, stop, delete: runs of pipelines. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/pipeline-stored.h"
#include "cli/question.h"
#include "cli/run-follow.h"
#include "cli/run-words.h"
#include "cli/run-package.h"
#include "cli/run-pause.h"
#include "cli/verbs.h"
#include "net/url.h"

enum { NAMESAKES_MAX = 10 /* runs of one name that are named */ };

typedef struct {
        Common common;
        char *file, *format, *name, *image, *disabled, *user, *state, *stored, *key, *description,
                *package_path, *queue;
        GPtrArray *parameters; /* "NAME=VALUE" */
        GPtrArray *before, *after;
        bool follow, force, all, no_package, allow_large;
        gint64 limit, timeout_ms;
} RunOptions;

/* ---- create ---- */

static const Option create_options[] = {
        { "file", 'f', OPTION_STRING, offsetof(RunOptions, file), "FILE",
          "the definition, YAML or JSON, or a program in Python (FILE.py); '-' is standard input" },
        { "parameter", 'p', OPTION_LIST, offsetof(RunOptions, parameters), "NAME=VALUE",
          "set a parameter; STEP.NAME=VALUE sets that of one step" },
        { "image", 0, OPTION_STRING, offsetof(RunOptions, image), "IMAGE", "image for steps that have none" },
        { "queue", 'q', OPTION_STRING, offsetof(RunOptions, queue), "NAME",
          "queue of steps that name none (PF_JOB_QUEUE_NAME); otherwise default" },
        { "disabled", 0, OPTION_STRING, offsetof(RunOptions, disabled), "STEPS",
          "steps to skip, separated by commas" },
        { "name", 0, OPTION_STRING, offsetof(RunOptions, name), "NAME", "name of the run" },
        { "description", 'd', OPTION_STRING, offsetof(RunOptions, description), "TEXT",
          "what the run is for" },
        { "package-path", 0, OPTION_STRING, offsetof(RunOptions, package_path), "DIR",
          "directory to send, in which the commands of all steps begin; by default that of the file" },
        { "no-package", 0, OPTION_BOOL, offsetof(RunOptions, no_package), NULL, "send no directory" },
        { "allow-large", 0, OPTION_BOOL, offsetof(RunOptions, allow_large), NULL,
          "send it even if it is over 2 GiB or 100,000 files" },
        { "idempotency-key", 0, OPTION_STRING, offsetof(RunOptions, key), "KEY",
          "a second creation with the same key gives the first run" },
        RUN_BREAK_OPTIONS(RunOptions),
        { "follow", 0, OPTION_BOOL, offsetof(RunOptions, follow), NULL,
          "show the steps as they begin and end; exits with 0 only if the run succeeded" },
        COMMON_OPTIONS,
        { 0 },
};

/* The body of a stored pipeline. */
static json_t *stored_body(const char *word, GError **error)
{
        g_auto(PipelineWord) stored = { 0 };
        json_t *body;

        if (!pipeline_word_parse(word, &stored, error))
                return NULL;
        body = json_pack("{s:s}", "pipeline", stored.name);
        if (stored.version)
                json_object_set_new(body, "version", json_integer(stored.version));
        return body;
}

/* "-p fetch.rows 10": the value became a word of its own. */
static bool wrong_words(const RunOptions *options, const char *word, GError **error)
{
        const char *last =
                options->parameters ? options->parameters->pdata[options->parameters->len - 1] : NULL;

        if (word && last && !strchr(last, '='))
                return err_set(error, ERR_USAGE,
                               "--parameter: '%.80s' is not NAME=VALUE\nWrite -p %.80s=%.80s.", last, last,
                               word);
        if (word && last && options->file && !pipeline_is_file(word))
                return err_set(error, ERR_USAGE,
                               "'%.80s' is a second pipeline beside --file\n"
                               "If it belongs to a value, put quotes around both: -p '%.80s %.80s'.",
                               word, last, word);
        return err_set(
                error, ERR_USAGE,
                "%s\nGive a definition, paddle run create -f FILE, or a stored pipeline, paddle run create NAME.",
                word ? "two pipelines are given" : "the pipeline is missing");
}

static bool run_create(Cli *cli, const void *target, char *const *words, GError **error)
{
        const RunOptions *options = target;
        const char *word = words[0], *file = word && pipeline_is_file(word) ? word : options->file;
        const PipelineOptions pipeline = { .name = options->name,
                                           .image = options->image,
                                           .disabled = options->disabled,
                                           .parameters = options->parameters };
        RunDirectory directory = { .file = file,
                                   .package_path = options->package_path,
                                   .none = options->no_package,
                                   .allow_large = options->allow_large };
        g_autoptr(json_t) body = NULL, run = NULL;
        g_autoptr(Definition) definition = NULL;

        if (!options->file == !word)
                return wrong_words(options, word, error);
        if (!run_package_check(&directory, error))
                return false;
        body = file ? pipeline_file_body(cli, &pipeline, file, options->package_path, &definition, error)
                    : stored_body(word, error);
        directory.unused = definition && !definition_uses_package(definition);
        directory.definition = definition;
        if (!body || !pipeline_add_request(&pipeline, body, error))
                return false;
        if (options->description)
                json_object_set_new(body, "description", json_string(options->description));
        if (options->queue)
                json_object_set_new(body, "queue", json_string(options->queue));
        run_pause_put(body, "break_before", options->before);
        run_pause_put(body, "break_after", options->after);
        return run_package_send(cli, &directory, body, error) &&
               run_post(cli, "/v1/runs", options->key, body, &run, error) &&
               run_begun(cli, run, options->follow, error);
}

const Verb verb_run_create = {
        .name = "run create",
        .args = "-f FILE | PIPELINE[@VERSION]",
        .summary = "Run a pipeline: its steps become jobs",
        .about =
                "The pipeline is a definition in a file, or a stored pipeline (`paddle pipeline list`); without a version "
                "its newest one. A word with a dot or a slash is a file, with or without -f.\n\n"
                "A file FILE.py is a program that describes the pipeline with paddlecloud.pipeline. The `python3` in PATH runs it, and "
                "needs the module paddlecloud. FILE.py:NAME is one of several pipelines in it. Code below `if __name__ == "
                "\"__main__\":` is not executed. The functions of the program are sent with the modules that they use, and with the "
                "directory of --package-path.\n\n"
                "The directory of the file is sent to the server, as `paddle submit` sends the current one, and the command of "
                "each step begins in it, unless all steps have a package of their own, as functions of a program do. Packages of its requirements.txt are installed. A stored pipeline has the "
                "directory that was stored with it, unless --package-path sends another one.\n\n"
                "The id of the run goes to standard output. `paddle pipeline lint FILE` finds errors of a definition without "
                "a server, and `paddle pipeline render FILE` shows what would run.",
        .examples = "paddle run create -f pipeline.yaml --follow\n"
                    "paddle run create -f pipeline.yaml -p train.epochs=3\n"
                    "paddle run create -f pipeline.py --follow\n"
                    "paddle run create digits@2 -p train.epochs=3",
        .options = create_options,
        .size = sizeof(RunOptions),
        .max_words = 1,
        .run = run_create,
};

/* ---- list ---- */

static const Option list_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(RunOptions, user), "NAME",
          "runs of this user (administrators)" },
        { "all", 'a', OPTION_BOOL, offsetof(RunOptions, all), NULL, "runs of all users (administrators)" },
        { "name", 0, OPTION_STRING, offsetof(RunOptions, name), "NAME", "only runs with this name" },
        { "pipeline", 0, OPTION_STRING, offsetof(RunOptions, stored), "PIPELINE",
          "only runs of this stored pipeline, by name or id" },
        { "state", 's', OPTION_STRING, offsetof(RunOptions, state), "STATES",
          "only runs in these states, separated by commas: running, paused, stopping, succeeded, failed, terminated" },
        { "limit", 'l', OPTION_INT, offsetof(RunOptions, limit), "N", "at most N, the newest",
          .fallback = "20", .min = 1, .max = 1000000 },
        FORMAT_OPTION(offsetof(RunOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

static char *cell_time(const json_t *item, const Terminal *terminal)
{
        gint64 begun = time_of(item, "created_at"), ended = time_of(item, "finished_at");

        return duration_format(MAX((ended ? ended : clock_now_ms()) - begun, 0));
}

static char *cell_state(const json_t *item, const Terminal *terminal)
{
        return g_strdup(run_state_word(item));
}

static char *cell_created(const json_t *item, const Terminal *terminal)
{
        return listing_time(item, "created_at", terminal);
}

/* The first reason of a run that failed, with what is news to a reader in front: "load: no network; worker-0 exited with status
 * 3". `paddle run show` has all. */
static char *cell_message(const json_t *item, const Terminal *terminal)
{
        static const char step[] = "step '",
                          failed[] = "' failed: ", last_line[] = "; last line: ", see[] = "; see `";
        const char *message = text_of(item, "message"), *end = strstr(message, failed);
        g_auto(GStrv) reasons = NULL;
        char *last, *seen;

        if (!g_str_has_prefix(message, step) || !end)
                return g_strdup(message);
        message += strlen(step);
        reasons = g_strsplit(end + strlen(failed), run_between_reasons, 2);
        last = strstr(reasons[0], last_line);
        seen = strstr(reasons[0], see);
        if (last && seen && seen < last)
                return g_strdup_printf("%.*s: %s; %.*s", (int)(end - message), message,
                                       last + strlen(last_line), (int)(seen - reasons[0]), reasons[0]);
        return g_strdup_printf("%.*s: %s", (int)(end - message), message, reasons[0]);
}

static const Column columns[] = {
        { "ID", .member = "id", .fit = { 0, TABLE_WHOLE } },
        { "NAME", .member = "name", .fit = { 1, 8 } },
        { "STATE", .cell = cell_state, .fit = { 0, TABLE_WHOLE } },
        { "USER", .member = "user", .fit = { 6 } },
        { "CREATED", .cell = cell_created, .fit = { 3, TABLE_WHOLE } },
        { ">TIME", .cell = cell_time, .fit = { 3 } },
        { "MESSAGE", .cell = cell_message, .fit = { 2, 16, .wish = 40 } },
        { 0 },
};

/* Why a list is empty. The caller's. */
static char *no_runs(const RunOptions *options)
{
        if (options->name)
                return g_strdup_printf("no runs named '%s'; `paddle run list` shows the newest ones",
                                       options->name);
        if (options->stored || options->state)
                return g_strdup("no such runs; `paddle run list` shows the newest ones");
        return g_strdup("no runs; `paddle run create -f FILE` makes one");
}

static bool run_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const RunOptions *options = target;
        g_autofree char *none = no_runs(options);
        g_autoptr(GString) path = g_string_new("/v1/runs");

        url_add_query(path, "user", options->user);
        url_add_query(path, "all", options->all ? "true" : NULL);
        url_add_query(path, "name", options->name);
        url_add_query(path, "pipeline", options->stored);
        url_add_query(path, "state", options->state);
        return listing_show(cli, options->format, columns, "id", path->str, options->limit, none, error);
}

const Verb verb_run_list = {
        .name = "run list",
        .args = "",
        .summary = "List runs of pipelines, newest first",
        .options = list_options,
        .size = sizeof(RunOptions),
        .run = run_list,
};

/* ---- wait ---- */

static const Option wait_options[] = {
        { "timeout", 0, OPTION_DURATION, offsetof(RunOptions, timeout_ms), "TIME",
          "time limit for all of them; then it exits with 1, and the runs continue" },
        COMMON_OPTIONS,
        { 0 },
};

static bool run_wait(Cli *cli, const void *target, char *const *words, GError **error)
{
        const RunOptions *options = target;
        gint64 deadline = options->timeout_ms > 0 ? clock_monotonic_ms() + options->timeout_ms : 0;

        if (!cli_client(cli, error))
                return false;
        for (; *words; words++) {
                g_autoptr(json_t) run = NULL;

                if (!run_follow(cli, *words, false, deadline, &run, error))
                        return false;
                run_print_end(cli, run);
                fflush(stdout);
        }
        return true;
}

const Verb verb_run_wait = {
        .name = "run wait",
        .args = "RUN...",
        .summary = "Wait until runs have ended; exits with 0 only if every run succeeded",
        .options = wait_options,
        .size = sizeof(RunOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = run_wait,
};

/* ---- stop, delete ---- */

static const Option stop_options[] = {
        { "force", 0, OPTION_BOOL, offsetof(RunOptions, force), NULL,
          "also stop post_process, or do not begin it" },
        COMMON_OPTIONS,
        { 0 },
};

static bool stop_one(Cli *cli, const char *word, void *arg, GError **error)
{
        const RunOptions *options = arg;
        g_autofree char *path = run_path(word, "/stop");
        g_autoptr(json_t) body = json_pack("{s:b}", "force", options->force), reply = NULL;

        if (!http_call_json(cli->client, "POST", path, body, &reply, error))
                return false;
        printf("run %s is being stopped\n", text_of(reply, "id"));
        return true;
}

static bool run_stop(Cli *cli, const void *target, char *const *words, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), stop_one, (void *)target, error);
}

const Verb verb_run_stop = {
        .name = "run stop",
        .args = "RUN...",
        .summary = "Stop runs: what runs is cancelled, then post_process runs",
        .options = stop_options,
        .size = sizeof(RunOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = run_stop,
};

static const Option delete_options[] = {
        { "force", 0, OPTION_BOOL, offsetof(RunOptions, force), NULL,
          "also if another run keeps results of it" },
        COMMON_OPTIONS,
        { 0 },
};

/* The caller's newest runs with this name, the newest first. */
static json_t *namesakes(Cli *cli, const json_t *run, GError **error)
{
        g_autoptr(GString) path = g_string_new("/v1/runs");
        g_autofree char *limit = g_strdup_printf("%d", NAMESAKES_MAX);
        json_t *reply = NULL;

        url_add_query(path, "name", text_of(run, "name"));
        url_add_query(path, "limit", limit);
        return http_call_json(cli->client, "GET", path->str, NULL, &reply, error) ? reply : NULL;
}

static bool refuse_name(const json_t *run, const json_t *others, GError **error)
{
        const json_t *items = json_object_get(others, "items"), *item;
        g_autoptr(GString) ids = g_string_new(NULL);
        size_t i;

        json_array_foreach((json_t *)items, i, item)
                g_string_append_printf(ids, "%s%s", i ? ", " : "", text_of(item, "id"));
        return err_set(error, ERR_CONFLICT,
                       "'%s' is the name of %s%zu runs, and none is deleted: %s%s\n"
                       "Give the id: `paddle run delete %s`.",
                       text_of(run, "name"), is_set(others, "next") ? "more than " : "",
                       json_array_size(items), ids->str, is_set(others, "next") ? ", ..." : "",
                       text_of(run, "id"));
}

/* Several runs have the name: the same command again would delete the next one. */
static bool agree_to_name(Cli *cli, const json_t *run, GError **error)
{
        g_autoptr(json_t) others = namesakes(cli, run, error);
        size_t n = json_array_size(json_object_get(others, "items"));
        g_autofree char *question = NULL, *time = NULL;

        if (!others || n <= 1)
                return others != NULL;
        if (!question_is_possible(cli))
                return refuse_name(run, others, error);
        time = local_time_text(run, "created_at");
        question = g_strdup_printf("'%s' is the name of %s%zu runs. Delete the newest one, %s of %s? [y/N] ",
                                   text_of(run, "name"), is_set(others, "next") ? "more than " : "", n,
                                   text_of(run, "id"), time);
        return question_agreed(question, false) ||
               err_set(error, ERR_FAILED, "run %s is not deleted: you did not answer 'y'",
                       text_of(run, "id"));
}

/* A name may mean another run a moment later, so the run is looked up first, and its id is said. */
static bool delete_one(Cli *cli, const char *word, void *arg, GError **error)
{
        const RunOptions *options = arg;
        g_autofree char *named = run_path(word, ""), *path = NULL;
        g_autoptr(json_t) run = NULL, reply = NULL;

        if (!http_call_json(cli->client, "GET", named, NULL, &run, error))
                return false;
        if (strcmp(text_of(run, "id"), word) != 0 && !agree_to_name(cli, run, error))
                return false;
        path = run_path(text_of(run, "id"), options->force ? "?force=true" : "");
        if (!http_call_json(cli->client, "DELETE", path, NULL, &reply, error))
                return false;
        printf("run %s is deleted\n", text_of(run, "id"));
        return true;
}

static bool run_delete(Cli *cli, const void *target, char *const *words, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), delete_one, (void *)target, error);
}

const Verb verb_run_delete = {
        .name = "run delete",
        .args = "RUN...",
        .summary = "Delete runs that have ended, with their jobs and logs",
        .about =
                "RUN is an id, or the name of a run if no other run has it. If several have it, none is deleted; on a "
                "terminal paddle asks whether to delete the newest one.\n\n"
                "A run of which a retry keeps results is not deleted, unless --force is given: the retry then shows no logs "
                "of these steps.",
        .options = delete_options,
        .size = sizeof(RunOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = run_delete,
};
