/* Definitions in files (see pipeline-file.h). */
#include "cli/pipeline-file.h"

#include <string.h>

#include "base/document.h"
#include "base/err.h"
#include "base/file.h"
#include "base/word.h"

const char *pipeline_file_name(const char *path)
{
        return strcmp(path, "-") == 0 ? "standard input" : path;
}

static json_t *parameters_of(const PipelineOptions *options, GError **error)
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

bool pipeline_file_parse(const PipelineOptions *options, const char *path, Problems *problems,
                         Definition **ret, GError **error)
{
        g_autoptr(json_t) parameters = parameters_of(options, error);
        DefinitionRequest request = { .name = options->name,
                                      .docker_env = options->image,
                                      .fs_name = options->fs,
                                      .disabled = options->disabled,
                                      .parameters = parameters,
                                      .json_body = options->runjson,
                                      .image_optional = !options->runjson,
                                      .command_line = true,
                                      .warn = options->warn };
        g_autoptr(GError) cause = NULL;
        g_autofree char *text = NULL;
        gsize len;

        if (!parameters)
                return false;
        if (!file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, document_limits.size, &text, &len,
                       &cause))
                return err_set(error, ERR_USAGE, "%s", cause->message);
        *ret = definition_parse(text, len, &request, problems);
        return true;
}

static void put_text(json_t *body, const char *key, const char *text)
{
        if (text)
                json_object_set_new(body, key, json_string(text));
}

json_t *pipeline_file_request(const PipelineOptions *options, const char *path, GError **error)
{
        g_autoptr(json_t) parameters = parameters_of(options, error), body = NULL;
        g_autoptr(GError) cause = NULL;
        g_autofree char *text = NULL;
        json_t *definition;
        gsize len;

        if (!parameters)
                return NULL;
        if (!file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, document_limits.size, &text, &len,
                       &cause)) {
                err_set(error, ERR_USAGE, "%s", cause->message);
                return NULL;
        }
        definition = json_stringn(text, len);
        if (!definition) {
                err_set(error, ERR_INVALID, "%s: the text is not UTF-8", pipeline_file_name(path));
                return NULL;
        }
        body = json_pack("{s:o}", "definition", definition);
        put_text(body, "name", options->name);
        put_text(body, "image", options->image);
        put_text(body, "disabled", options->disabled);
        if (json_object_size(parameters) > 0)
                json_object_set(body, "parameters", parameters);
        return g_steal_pointer(&body);
}

bool pipeline_file_load(const PipelineOptions *options, const char *path, Definition **ret, GError **error)
{
        g_auto(Problems) problems = { 0 };
        g_autofree char *text = NULL, *count = NULL;
        const char *hint;
        bool option;

        problems_init(&problems);
        if (!pipeline_file_parse(options, path, &problems, ret, error))
                return false;
        if (*ret)
                return true;
        text = problem_format(problems_first(&problems));
        hint = problem_hint(problems_first(&problems));
        count = problems.n > 1 ? g_strdup_printf("There are %u errors; 'paddle pipeline lint' shows all.",
                                                 problems.n)
                               : NULL;
        option = *text == '-'; /* the error is in an option, not in the file */
        return err_set(error, ERR_INVALID, "%s%s%s%s%s%s%s", option ? "" : pipeline_file_name(path),
                       option ? "" : ": ", text, hint || count ? "\n" : "", hint ? hint : "",
                       hint && count ? " " : "", count ? count : "");
}
