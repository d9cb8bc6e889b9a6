/* paddle run retry: the rest of a run that has ended. */
#include <string.h>

#include "base/err.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/run-follow.h"
#include "cli/run-words.h"
#include "cli/run-pause.h"
#include "cli/verbs.h"

enum { CHAIN_MAX = 20 /* earlier runs that are looked at */ };

typedef struct {
        Common common;
        char *from, *key;
        char *file, *directory; /* refused: a retry has the files of the first run */
        GPtrArray *parameters;  /* "NAME=VALUE" */
        GPtrArray *before, *after;
        bool follow;
} RetryOptions;

static const Option options[] = {
        { "from", 0, OPTION_STRING, offsetof(RetryOptions, from), "STEP",
          "also run again STEP, or DAG.STEP, and all that depends on it" },
        { "parameter", 'p', OPTION_LIST, offsetof(RetryOptions, parameters), "NAME=VALUE",
          "change a parameter; what depends on it runs again" },
        { "idempotency-key", 0, OPTION_STRING, offsetof(RetryOptions, key), "KEY",
          "a second retry with the same key gives the first run" },
        { "file", 'f', OPTION_STRING, offsetof(RetryOptions, file), "FILE", NULL },
        { "package-path", 0, OPTION_STRING, offsetof(RetryOptions, directory), "DIR", NULL },
        RUN_BREAK_OPTIONS(RetryOptions),
        { "follow", 0, OPTION_BOOL, offsetof(RetryOptions, follow), NULL,
          "show the steps as they begin and end; exits with 0 only if the run succeeded" },
        COMMON_OPTIONS,
        { 0 },
};

static json_t *body_of(const RetryOptions *retry, GError **error)
{
        const PipelineOptions pipeline = { .parameters = retry->parameters };
        g_autoptr(json_t) parameters = pipeline_file_parameters(&pipeline, error);
        json_t *body;

        if (!parameters)
                return NULL;
        body = json_object();
        if (retry->from)
                json_object_set_new(body, "from", json_string(retry->from));
        if (json_object_size(parameters) > 0)
                json_object_set(body, "parameters", parameters);
        run_pause_put(body, "break_before", retry->before);
        run_pause_put(body, "break_after", retry->after);
        return body;
}

/* The run of which all these are retries, as far as it is there: its files are used. */
static json_t *first_run(Cli *cli, const json_t *run)
{
        g_autofree char *id = g_strdup(text_of(run, "retry_of"));
        json_t *first = NULL;

        for (int i = 0; *id && i < CHAIN_MAX; i++) {
                g_autofree char *path = run_path(id, "");
                json_t *earlier = NULL;

                if (!http_call_json(cli->client, "GET", path, NULL, &earlier, NULL))
                        break;
                json_decref(first);
                first = earlier;
                g_free(id);
                id = g_strdup(is_set(first, "retry_of") ? text_of(first, "retry_of") : "");
        }
        return first;
}

/* Who has repaired a file since expects it to count. */
static void say_files(Cli *cli, const json_t *run)
{
        g_autoptr(json_t) first = first_run(cli, run);
        g_autofree char *time = first ? local_time_text(first, "created_at") : NULL;

        if (first)
                cli_say(cli,
                        "it uses the definition and the files that were sent with run %s at %s; "
                        "changed ones need `paddle run create`",
                        text_of(first, "id"), time);
}

static bool check_options(const RetryOptions *retry, GError **error)
{
        if (!retry->file && !retry->directory)
                return true;
        return err_set(
                error, ERR_USAGE,
                "a retry takes no %s: it uses the definition and the files of the run that it retries\n"
                "Changed files need a new run: `paddle run create`.",
                retry->file ? "--file" : "--package-path");
}

static bool run_retry(Cli *cli, const void *target, char *const *words, GError **error)
{
        const RetryOptions *retry = target;
        g_autofree char *path = run_path(words[0], "/retry");
        g_autoptr(json_t) body = check_options(retry, error) ? body_of(retry, error) : NULL, run = NULL;

        if (!body || !cli_client(cli, error) || !run_post(cli, path, retry->key, body, &run, error))
                return false;
        say_files(cli, run);
        return run_begun(cli, run, retry->follow, error);
}

const Verb verb_run_retry = {
        .name = "run retry",
        .args = "RUN",
        .summary = "Retry a run that has ended: steps that succeeded keep their results",
        .about =
                "A new run begins, and its id is printed. Steps that succeeded or were skipped are kept. Steps that "
                "failed, were stopped or never began run, and so does post_process. A loop runs only the items that are "
                "missing. A step whose output files were deleted runs again if something needs them.\n\n"
                "It uses the definition and the files that were sent with the earlier run. For changed ones create a new run; "
                "with the cache it takes the results of steps that have not changed. The earlier run stays until you delete it, which is possible when no other run keeps its "
                "results.\n\nRUN is an id, or the name of a pipeline: your newest run of it.",
        .examples = "paddle run retry 6rpyr77cvstaad5v --follow\n"
                    "paddle run retry train --from evaluate\n"
                    "paddle run retry train -p train.epochs=5",
        .options = options,
        .size = sizeof(RetryOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = run_retry,
};
