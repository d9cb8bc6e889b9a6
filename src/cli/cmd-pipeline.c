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
        { "format", 'o', OPTION_STRING, offsetof(PipelineOptions, format), "FORM", "table, json or yaml",
          .fallback = "table", .alias = "output" },
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

static void print_json(const Problems *problems, Format format)
{
        g_autoptr(json_t) value =
                json_pack("{s:b, s:i, s:o, s:o}", "valid", problems->n == 0, "errors", (int)problems->n,
                          "problems", list_json(problems->list), "warnings", list_json(problems->warnings));

        format_print(value, format, NULL);
}

/* FILE:LINE:COLUMN, as editors and compilers write it; the option alone if it has the error. */
static void print_problem(const Problem *problem, const char *file)
{
        g_autofree char *sentence = problem_sentence(problem), *at = NULL;
        const char *hint = problem_hint(problem);
        g_autofree char *path = text_visible(problem->path);

        at = problem->line  ? g_strdup_printf("%s:%u:%u: ", file, problem->line, problem->column)
             : *path == '-' ? g_strdup("")
                            : g_strdup_printf("%s: ", file);
        if (problem->class == PE_WARNING)
                printf("%s%s: warning: %s\n", at, path, sentence);
        else
                printf("%s%s%s%s (%s)\n", at, path, *path ? ": " : "", sentence,
                       problem_class_name(problem->class));
        if (hint)
                printf("  %s\n", hint);
}

static void print_problems(Cli *cli, const Problems *problems, const char *file)
{
        g_autofree char *count = count_format(problems->n, "error");

        for (guint i = 0; i < problems->list->len; i++)
                print_problem(problems->list->pdata[i], file);
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

static bool run_lint(Cli *cli, const void *target, char *const *words, GError **error)
{
        PipelineOptions options = *(const PipelineOptions *)target;
        g_autoptr(Definition) definition = NULL;
        g_auto(Problems) problems = { 0 };
        Format format;

        options.warn = true;
        problems_init(&problems);
        if (!format_parse(options.format, &format, error) ||
            !pipeline_file_parse(&options, words[0], &problems, &definition, error))
                return false;
        problems_sort(&problems);
        cli->status = problems.n ? 1 : 0;
        if (format == FORMAT_JSON || format == FORMAT_YAML) {
                print_json(&problems, format);
        } else if (problems.n) {
                print_problems(cli, &problems, pipeline_file_name(words[0]));
        } else {
                print_valid(definition, &problems, pipeline_file_name(words[0]));
        }
        return true;
}

const Verb verb_pipeline_lint = {
        .name = "pipeline lint",
        .args = "FILE",
        .summary = "Check the definition of a pipeline and print all its errors",
        .about =
                "FILE is YAML or JSON; '-' is standard input. Each error has its line and column, and its class "
                "(PE-10). The exit status is 1 if there are errors. No server is needed.\n\n"
                "A warning is about something valid that cannot work, such as a loop over a number.\n\n"
                "The options set what a run could set: an image, a main file system, parameters.",
        .examples = "paddle pipeline lint pipeline.yaml\n"
                    "paddle pipeline lint -p epochs=3 --image python:3.11 pipeline.yaml",
        .options = lint_options,
        .size = sizeof(PipelineOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run_lint,
};
