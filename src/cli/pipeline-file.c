/* Definitions in files (see pipeline-file.h). */
#include "cli/pipeline-file.h"

#include <string.h>

#include "base/document.h"
#include "base/err.h"
#include "base/file.h"
#include "base/word.h"
#include "cli/discover.h"
#include "cli/pipeline-program.h"
#include "model/filesystem.h"

const char *pipeline_file_name(const char *path)
{
        return strcmp(path, "-") == 0 ? "standard input" : path;
}

bool pipeline_is_file(const char *word)
{
        return strcmp(word, "-") == 0 || strpbrk(word, "/.");
}

json_t *pipeline_file_parameters(const PipelineOptions *options, GError **error)
{
        g_autoptr(json_t) parameters = json_object();

        for (guint i = 0; options->parameters && i < options->parameters->len; i++) {
                const char *given = options->parameters->pdata[i], *equals = strchr(given, '=');
                g_autofree char *name = equals ? g_strndup(given, (gsize)(equals - given)) : NULL;
                json_t *value = equals ? json_string(equals + 1) : NULL;

                if (!value || !*name || !g_utf8_validate(name, -1, NULL)) {
                        json_decref(value);
                        (void)err_set(error, ERR_USAGE, "--parameter: '%.80s' is not NAME=VALUE", given);
                        return NULL;
                }
                json_object_set_new(parameters, name, value);
        }
        return g_steal_pointer(&parameters);
}

static bool text_parse(const PipelineOptions *options, const char *text, gsize len, Problems *problems,
                       Definition **ret, GError **error)
{
        g_autoptr(json_t) parameters = pipeline_file_parameters(options, error);
        DefinitionRequest request = { .name = options->name,
                                      .docker_env = options->image,
                                      .fs_name = options->fs,
                                      .fs_default = options->runjson ? NULL : FILESYSTEM_HOME,
                                      .disabled = options->disabled,
                                      .parameters = parameters,
                                      .json_body = options->runjson,
                                      .image_optional = !options->runjson,
                                      .command_line = true,
                                      .warn = options->warn };

        if (parameters)
                *ret = definition_parse(text, len, &request, problems);
        return parameters != NULL;
}

static bool read_file(const char *path, char **ret, gsize *ret_len, GError **error)
{
        g_autoptr(GError) cause = NULL;

        return file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, document_limits.size, ret, ret_len,
                         &cause) ||
               err_set(error, ERR_USAGE, "%s", cause->message);
}

/* The text in a file, or that of a program, which sends nothing. */
static bool read_text(const char *path, char **ret, gsize *ret_len, GError **error)
{
        const PipelineProgram how = { .limit_ms = PIPELINE_PROGRAM_MS };

        return pipeline_program_is(path) ? pipeline_program_run(&how, path, ret, ret_len, error)
                                         : read_file(path, ret, ret_len, error);
}

bool pipeline_file_parse(const PipelineOptions *options, const char *path, Problems *problems,
                         Definition **ret, GError **error)
{
        g_autofree char *text = NULL;
        gsize len;

        if (!read_text(path, &text, &len, error) || !text_parse(options, text, len, problems, ret, error))
                return false;
        if (pipeline_program_is(path))
                problems_forget_places(problems);
        return true;
}

static void put_text(json_t *body, const char *key, const char *text)
{
        if (text)
                json_object_set_new(body, key, json_string(text));
}

bool pipeline_add_request(const PipelineOptions *options, json_t *body, GError **error)
{
        g_autoptr(json_t) parameters = pipeline_file_parameters(options, error);

        if (!parameters)
                return false;
        put_text(body, "name", options->name);
        put_text(body, "image", options->image);
        put_text(body, "disabled", options->disabled);
        if (json_object_size(parameters) > 0)
                json_object_set(body, "parameters", parameters);
        return true;
}

static bool refuse(const Problems *problems, const char *label, GError **error)
{
        g_autofree char *text = problem_format(problems_first(problems)), *count = NULL;
        const char *hint = problem_hint(problems_first(problems));
        bool option = *text == '-'; /* the error is in an option, not in the file */

        count = problems->n > 1 ? g_strdup_printf("There are %u errors; 'paddle pipeline lint' shows all.",
                                                  problems->n)
                                : NULL;
        return err_set(error, ERR_INVALID, "%s%s%s%s%s%s%s", option ? "" : label, option ? "" : ": ", text,
                       hint || count ? "\n" : "", hint ? hint : "", hint && count ? " " : "",
                       count ? count : "");
}

bool pipeline_text_load(const PipelineOptions *options, const char *label, const char *text, gsize len,
                        Definition **ret, GError **error)
{
        g_auto(Problems) problems = { 0 };

        problems_init(&problems);
        if (!text_parse(options, text, len, &problems, ret, error))
                return false;
        if (pipeline_program_is(label))
                problems_forget_places(&problems);
        return *ret || refuse(&problems, label, error);
}

bool pipeline_file_load(const PipelineOptions *options, const char *path, Definition **ret, GError **error)
{
        g_autofree char *text = NULL;
        gsize len;

        return read_text(path, &text, &len, error) &&
               pipeline_text_load(options, pipeline_file_name(path), text, len, ret, error);
}

/* The text of a program, which sends its functions. */
static bool send_program(const Cli *cli, const char *path, const char *directory, char **ret, gsize *ret_len,
                         GError **error)
{
        g_autoptr(Discovery) server =
                discover(cli->common->server, cli->common->token, DISCOVER_START, error);
        const PipelineProgram how = { .server = server,
                                      .directory = directory,
                                      .limit_ms = PIPELINE_PROGRAM_MS };

        return server && pipeline_program_run(&how, path, ret, ret_len, error);
}

json_t *pipeline_file_body(Cli *cli, const PipelineOptions *options, const char *path, const char *directory,
                           Definition **ret, GError **error)
{
        g_autofree char *text = NULL;
        json_t *value;
        gsize len;
        bool ok = pipeline_program_is(path) ? send_program(cli, path, directory, &text, &len, error)
                                            : read_file(path, &text, &len, error);

        if (!ok || !pipeline_text_load(options, pipeline_file_name(path), text, len, ret, error))
                return NULL;
        value = json_stringn(text, len);
        if (value)
                return json_pack("{s:o}", "definition", value);
        err_set(error, ERR_INVALID, "%s: the text is not UTF-8", pipeline_file_name(path));
        return NULL;
}
