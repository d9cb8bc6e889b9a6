/* paddle pipeline lint: checks a definition. Needs no server. */
#include "base/err.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/verbs.h"
#include "pipeline/show.h"

/* ---- lint ---- */

static const Option lint_options[] = {
        PIPELINE_OPTIONS,
        FORMAT_REPORT_OPTION(offsetof(PipelineOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

static json_t *problem_json(const Problem *problem)
{
        g_autofree char *sentence = problem_sentence(problem);
        const char *hint = problem_hint(problem);

        return json_pack("{s:s, s:i, s:i, s:s, s:s, s:s}", "class", problem_class_name(problem->class),
                         "line", (int)problem->line, "column", (int)problem->column, "path", problem->path,
                         "message", sentence, "hint", hint ? hint : "");
}

static json_t *list_json(const GPtrArray *problems)
{
        json_t *list = json_array();

        for (guint i = 0; i < problems->len; i++)
                json_array_append_new(list, problem_json(problems->pdata[i]));
        return list;
}

static json_t *result_json(const Problems *problems, const char *file)
{
        return json_pack("{s:s, s:b, s:i, s:o, s:o}", "file", file, "valid", problems->n == 0, "errors",
                         (int)problems->n, "problems", list_json(problems->list), "warnings",
                         list_json(problems->warnings));
}

/* FILE:LINE:COLUMN, as editors and compilers write it; the option alone if it has the error. */
static void print_problem(const Problem *problem, const char *file)
{
        g_autofree char *sentence = problem_sentence(problem), *at = NULL;
        const char *hint = problem_hint(problem), *path = problem->path;

        at = problem->line  ? g_strdup_printf("%s:%u:%u: ", file, problem->line, problem->column)
             : *path == '-' ? g_strdup("")
                            : g_strdup_printf("%s: ", file);
        if (problem->class == PE_WARNING)
                cli_print("%s%s: warning: %s", at, path, sentence);
        else
                cli_print("%s%s%s%s (%s)", at, path, *path ? ": " : "", sentence,
                          problem_class_name(problem->class));
        if (hint)
                cli_print("  %s", hint);
}

static void print_problems(Cli *cli, const Problems *problems, const char *file)
{
        g_autofree char *count = count_format(problems->n, "error");

        for (guint i = 0; i < problems->list->len; i++)
                print_problem(problems->list->pdata[i], file);
        fflush(stdout); /* the count is the last line also where both streams are one file */
        if (problems->n > problems->list->len)
                cli_say(cli, "only the first %u are shown", problems->list->len);
        cli_say(cli, "%s: %s", file, count);
}

static void print_valid(const Definition *definition, const Problems *problems, const char *file)
{
        g_autofree char *count = definition_count(definition);
        g_autofree char *warnings = count_format(problems->warnings->len, "warning");

        for (guint i = 0; i < problems->warnings->len; i++)
                print_problem(problems->warnings->pdata[i], file);
        printf("%s: valid (%s)%s%s\n", file, count, problems->warnings->len ? ", " : "",
               problems->warnings->len ? warnings : "");
}

typedef struct {
        PipelineOptions options;
        json_t *results; /* a list, or NULL: each file is printed */
} Lint;

static bool lint_file(Cli *cli, const char *word, void *arg, GError **error)
{
        Lint *lint = arg;
        const char *file = pipeline_file_name(word);
        g_autoptr(Definition) definition = NULL;
        g_auto(Problems) problems = { 0 };

        problems_init(&problems);
        if (!pipeline_file_parse(&lint->options, word, &problems, &definition, error))
                return false;
        problems_sort(&problems);
        cli->status = problems.n ? 1 : cli->status;
        if (lint->results)
                json_array_append_new(lint->results, result_json(&problems, file));
        else if (problems.n)
                print_problems(cli, &problems, file);
        else
                print_valid(definition, &problems, file);
        return true;
}

static bool run_lint(Cli *cli, const void *target, char *const *words, GError **error)
{
        Lint lint = { .options = *(const PipelineOptions *)target };
        guint n = g_strv_length((char **)words);
        g_autoptr(json_t) results = json_array();
        Format format;
        bool ok;

        lint.options.warn = true;
        if (!format_parse(cli, lint.options.format, &format, error))
                return false;
        lint.results = format == FORMAT_TABLE ? NULL : results;
        ok = cli_each(cli, words, n, lint_file, &lint, error);
        if (json_array_size(results) > 0)
                format_print(n == 1 ? json_array_get(results, 0) : results, format, NULL);
        return ok;
}

const Verb verb_pipeline_lint = {
        .name = "pipeline lint",
        .args = "FILE...",
        .summary = "Check definitions of pipelines and print all their errors",
        .about = "FILE is YAML or JSON; '-' is standard input. " PIPELINE_PROGRAM_HELP
                 " Each error has its line and column, and its class "
                 "(PE-10). The exit status is 1 if there are errors. No server is needed.\n\n"
                 "A warning is about something valid that cannot work, such as a loop over a number.\n\n"
                 "The options set what a run could set: an image, a main file system, parameters.",
        .examples = "paddle pipeline lint pipeline.yaml\n"
                    "paddle pipeline lint -p epochs=3 --image python:3.11 pipeline.yaml",
        .options = lint_options,
        .size = sizeof(PipelineOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_FILES,
        .run = run_lint,
};
