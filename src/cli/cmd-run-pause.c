/* paddle run step, continue, break, set: a run that pauses at breakpoints. */
#include <string.h>

#include "base/err.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/run-follow.h"
#include "cli/run-words.h"
#include "cli/run-pause.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        GPtrArray *before, *after; /* texts */
        GPtrArray *parameters;     /* "NAME=VALUE" */
        bool remove, follow;
} PauseOptions;

void run_pause_put(json_t *body, const char *name, const GPtrArray *steps)
{
        json_t *list = json_array();

        for (guint i = 0; steps && i < steps->len; i++)
                json_array_append_new(list, json_string(steps->pdata[i]));
        if (json_array_size(list) > 0)
                json_object_set(body, name, list);
        json_decref(list);
}

static bool post(Cli *cli, const char *run, const char *suffix, const json_t *body, json_t **ret,
                 GError **error)
{
        g_autofree char *path = run_path(run, suffix);

        return cli_client(cli, error) && http_call_json(cli->client, "POST", path, body, ret, error);
}

/* ---- step, continue ---- */

static const Option go_options[] = {
        { "follow", 0, OPTION_BOOL, offsetof(PauseOptions, follow), NULL,
          "show the steps as they begin and end, until the run ends" },
        COMMON_OPTIONS,
        { 0 },
};

static bool go_on(Cli *cli, const PauseOptions *options, const char *suffix, char *const *words,
                  GError **error)
{
        g_autoptr(json_t) body = json_object(), run = NULL;

        if (words[1])
                json_object_set_new(body, "step", json_string(words[1]));
        if (!post(cli, words[0], suffix, body, &run, error))
                return false;
        if (options->follow)
                return run_begun(cli, run, true, error);
        printf("run %s goes on\n", text_of(run, "id"));
        return true;
}

static bool run_step(Cli *cli, const void *target, char *const *words, GError **error)
{
        return go_on(cli, target, "/step", words, error);
}

static bool run_continue(Cli *cli, const void *target, char *const *words, GError **error)
{
        return go_on(cli, target, "/continue", words, error);
}

const Verb verb_run_step = {
        .name = "run step",
        .args = "RUN [STEP]",
        .summary = "Let one paused step of a run go on, and pause at what would start next",
        .about =
                "Without STEP the one that paused first goes on. A run that is not paused pauses at the next step. "
                "`paddle run continue` ends single steps.",
        .examples = "paddle run step 6rpyr77cvstaad5v\npaddle run step train evaluate",
        .options = go_options,
        .size = sizeof(PauseOptions),
        .min_words = 1,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = run_step,
};

const Verb verb_run_continue = {
        .name = "run continue",
        .args = "RUN [STEP]",
        .summary = "Let a paused run go on to its next breakpoint",
        .about = "With STEP only this step goes on, and the others stay paused.",
        .examples = "paddle run continue 6rpyr77cvstaad5v --follow",
        .options = go_options,
        .size = sizeof(PauseOptions),
        .min_words = 1,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = run_continue,
};

/* ---- breakpoints ---- */

static const Option break_options[] = {
        { "before", 0, OPTION_LIST, offsetof(PauseOptions, before), "STEP",
          "pause before STEP, DAG.STEP, or STEP-3 of a loop" },
        { "after", 0, OPTION_LIST, offsetof(PauseOptions, after), "STEP", "pause after STEP or DAG.STEP" },
        { "delete", 0, OPTION_BOOL, offsetof(PauseOptions, remove), NULL, "delete these breakpoints" },
        COMMON_OPTIONS,
        { 0 },
};

/* Why the run does not pause there; NULL: it may. Borrowed. */
static const char *missed_why(const json_t *run, const char *word, const char *step)
{
        const json_t *one;
        size_t i;

        json_array_foreach(json_object_get(run, "missed_breakpoints"), i, one)
                if (strcmp(text_of(one, "at"), word) == 0 && strcmp(text_of(one, "step"), step) == 0)
                        return text_of(one, "reason");
        return NULL;
}

static void print_breaks(const json_t *run, const char *name, const char *word)
{
        const json_t *list = json_object_get(run, name), *step;
        size_t i;

        json_array_foreach((json_t *)list, i, step) {
                const char *why = missed_why(run, word, json_string_value(step));

                cli_print("%s %s%s%s%s", word, json_string_value(step), why ? " (no pause: " : "",
                          why ? why : "", why ? ")" : "");
        }
}

static bool show_breaks(Cli *cli, const char *word, GError **error)
{
        g_autofree char *path = run_path(word, "");
        g_autoptr(json_t) run = NULL;

        if (!http_call_json(cli->client, "GET", path, NULL, &run, error))
                return false;
        print_breaks(run, "break_before", "before");
        print_breaks(run, "break_after", "after");
        if (!json_array_size(json_object_get(run, "break_before")) &&
            !json_array_size(json_object_get(run, "break_after")))
                cli_say(cli, "no breakpoints; `paddle run break %s --before STEP` sets one",
                        text_of(run, "id"));
        return true;
}

static bool run_break(Cli *cli, const void *target, char *const *words, GError **error)
{
        const PauseOptions *options = target;
        g_autoptr(json_t) body = json_object(), run = NULL;

        run_pause_put(body, "before", options->before);
        run_pause_put(body, "after", options->after);
        if (options->remove && json_object_size(body) == 0)
                return err_set(error, ERR_USAGE, "--delete needs --before STEP or --after STEP");
        if (!cli_client(cli, error))
                return false;
        if (json_object_size(body) > 0) {
                json_object_set_new(body, "remove", json_boolean(options->remove));
                if (!post(cli, words[0], "/breakpoints", body, &run, error))
                        return false;
        }
        return show_breaks(cli, run ? text_of(run, "id") : words[0], error);
}

const Verb verb_run_break = {
        .name = "run break",
        .args = "RUN",
        .summary = "Show the breakpoints of a run, set more, or delete some",
        .about = "What is paused already stays paused. A step that has begun does not pause any more.",
        .examples = "paddle run break 6rpyr77cvstaad5v\n"
                    "paddle run break train --before evaluate --after prepare\n"
                    "paddle run break train --delete --before evaluate",
        .options = break_options,
        .size = sizeof(PauseOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = run_break,
};

/* ---- parameters ---- */

static const Option set_options[] = {
        { "parameter", 'p', OPTION_LIST, offsetof(PauseOptions, parameters), "NAME=VALUE",
          "the new value of a parameter of the step" },
        COMMON_OPTIONS,
        { 0 },
};

static bool run_set(Cli *cli, const void *target, char *const *words, GError **error)
{
        const PauseOptions *options = target;
        const PipelineOptions pipeline = { .parameters = options->parameters };
        g_autoptr(json_t) parameters = pipeline_file_parameters(&pipeline, error);
        g_autoptr(json_t) body = NULL, run = NULL;

        if (!parameters)
                return false;
        if (json_object_size(parameters) == 0)
                return err_set(error, ERR_USAGE, "no parameter is given\nUse -p NAME=VALUE.");
        body = json_pack("{s:s, s:O}", "step", words[1], "parameters", parameters);
        if (!post(cli, words[0], "/parameters", body, &run, error))
                return false;
        cli_print("step %s of run %s has other parameters", words[1], text_of(run, "id"));
        cli_say(cli, "`paddle run continue %s %s` lets it go on", text_of(run, "id"), words[1]);
        return true;
}

const Verb verb_run_set = {
        .name = "run set",
        .args = "RUN STEP",
        .summary = "Change parameters of a step before which a run is paused",
        .about =
                "The values hold for this step, and for what uses them. They are kept with the run, also over a retry. A "
                "step that has begun keeps its parameters.",
        .examples = "paddle run set 6rpyr77cvstaad5v evaluate -p threshold=0.9",
        .options = set_options,
        .size = sizeof(PauseOptions),
        .min_words = 2,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = run_set,
};
