/* paddle pipeline create, list, update, delete: stored pipelines. */
#include "base/err.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/pipeline-stored.h"
#include "cli/run-package.h"
#include "cli/verbs.h"
#include "net/url.h"

typedef struct {
        Common common;
        char *format, *description, *fs, *user, *name, *package_path;
        bool all, no_package, allow_large;
        gint64 limit;
} StoreOptions;

/* clang-format off */
#define STORE_OPTIONS                                                                                        \
        { "description", 'd', OPTION_STRING, offsetof(StoreOptions, description), "TEXT",                    \
          "what it is for, at most 256 bytes" },                                                             \
        { "fs", 0, OPTION_STRING, offsetof(StoreOptions, fs), "NAME",                                        \
          "main file system of its runs if the file names none" },                                           \
        { "package-path", 0, OPTION_STRING, offsetof(StoreOptions, package_path), "DIR",                     \
          "directory to store with it, in which the commands of all steps begin; by default that of FILE" },  \
        { "no-package", 0, OPTION_BOOL, offsetof(StoreOptions, no_package), NULL, "store no directory" },     \
        { "allow-large", 0, OPTION_BOOL, offsetof(StoreOptions, allow_large), NULL,                          \
          "store it even if it is over 2 GiB or 100,000 files" }
#define USER_OPTION                                                                                          \
        { "user", 'u', OPTION_STRING, offsetof(StoreOptions, user), "NAME",                                  \
          "a pipeline of this user (administrators)" }
/* clang-format on */

/* ---- create, update ---- */

/* Sends the definition in `file`; *ret is the pipeline. */
static bool send_file(Cli *cli, const StoreOptions *options, const char *path, const char *file, json_t **ret,
                      GError **error)
{
        const PipelineOptions about = { .fs = options->fs };
        RunDirectory directory = { .file = file,
                                   .package_path = options->package_path,
                                   .none = options->no_package,
                                   .allow_large = options->allow_large };
        g_autoptr(Definition) definition = NULL;
        g_autoptr(json_t) body = NULL;

        if (!run_package_check(&directory, error))
                return false;
        body = pipeline_file_body(cli, &about, file, options->package_path, &definition, error);
        if (!body)
                return false;
        directory.unused = !definition_uses_package(definition);
        directory.definition = definition;
        if (options->description)
                json_object_set_new(body, "description", json_string(options->description));
        if (options->fs)
                json_object_set_new(body, "fs", json_string(options->fs));
        return run_package_send(cli, &directory, body, error) &&
               http_call_json(cli->client, "POST", path, body, ret, error);
}

static void print_stored(Cli *cli, const json_t *pipeline)
{
        const json_t *version = json_object_get(pipeline, "version");

        printf("%s@%" G_GINT64_FORMAT "\n", text_of(pipeline, "name"), int_of(version, "version"));
        fflush(stdout);
        cli_say(cli, "`paddle run create %s` runs it", text_of(pipeline, "name"));
}

static const Option create_options[] = { STORE_OPTIONS, COMMON_OPTIONS, { 0 } };

static bool run_create(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autoptr(json_t) pipeline = NULL;

        if (!send_file(cli, target, "/v1/pipelines", words[0], &pipeline, error))
                return false;
        print_stored(cli, pipeline);
        return true;
}

const Verb verb_pipeline_create = {
        .name = "pipeline create",
        .args = "FILE",
        .summary = "Store a pipeline on the server, to run it any number of times",
        .about =
                "FILE is the definition, YAML or JSON; '-' is standard input. " PIPELINE_PROGRAM_HELP
                " It is stored under the name that it has. The directory of the file is stored with it, as `paddle run "
                "create -f` sends it, unless no step begins in it: the commands of all its runs begin there, also of those "
                "that a schedule begins. --package-path stores another directory, --no-package none.\n\n"
                "NAME@1 goes to standard output: the name and the number of the version.",
        .examples = "paddle pipeline create pipeline.yaml -d 'nightly training'\n"
                    "paddle run create digits -p train.epochs=3",
        .options = create_options,
        .size = sizeof(StoreOptions),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run_create,
};

static const Option update_options[] = { STORE_OPTIONS, USER_OPTION, COMMON_OPTIONS, { 0 } };

static bool run_update(Cli *cli, const void *target, char *const *words, GError **error)
{
        const StoreOptions *options = target;
        g_autofree char *path = pipeline_path(words[0], "/versions", options->user);
        g_autoptr(json_t) pipeline = NULL;

        if (!send_file(cli, options, path, words[1], &pipeline, error))
                return false;
        print_stored(cli, pipeline);
        return true;
}

const Verb verb_pipeline_update = {
        .name = "pipeline update",
        .args = "NAME FILE",
        .summary = "Store a new version of a pipeline",
        .about =
                "The definition in FILE must have the name of the pipeline. Runs use the newest version unless they "
                "name another one: NAME@VERSION. Runs that have begun go on with theirs. The directory of the file is stored, too: "
                "see `paddle help pipeline create`.",
        .examples = "paddle pipeline update digits pipeline.yaml",
        .options = update_options,
        .size = sizeof(StoreOptions),
        .min_words = 2,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = run_update,
};

/* ---- list ---- */

static const Option list_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(StoreOptions, user), "NAME",
          "pipelines of this user (administrators)" },
        { "all", 'a', OPTION_BOOL, offsetof(StoreOptions, all), NULL,
          "pipelines of all users (administrators)" },
        { "name", 0, OPTION_STRING, offsetof(StoreOptions, name), "NAME", "only pipelines with this name" },
        { "limit", 'l', OPTION_INT, offsetof(StoreOptions, limit), "N", "at most N", .fallback = "1000",
          .min = 1, .max = 1000000 },
        FORMAT_OPTION(offsetof(StoreOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

static char *cell_version(const json_t *item, const Terminal *terminal)
{
        gint64 version = int_of(json_object_get(item, "version"), "version");

        return version ? g_strdup_printf("%" G_GINT64_FORMAT, version) : NULL;
}

static const Column columns[] = {
        { "NAME", .member = "name" },
        { ">VERSION", .cell = cell_version },
        { "ID", .member = "id", .fit = { 3 } },
        { "USER", .member = "user", .fit = { 4 } },
        { "CREATED", .member = "created_at", .fit = { 6, 17 } },
        { "UPDATED", .member = "updated_at", .fit = { 5, 17 } },
        { "DESCRIPTION", .member = "description", .fit = { 2, 16 } },
        { 0 },
};

static bool run_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const StoreOptions *options = target;
        g_autoptr(GString) path = g_string_new("/v1/pipelines");

        url_add_query(path, "user", options->user);
        url_add_query(path, "all", options->all ? "true" : NULL);
        url_add_query(path, "name", options->name);
        return listing_show(cli, options->format, columns, "name", path->str, options->limit,
                            "no stored pipelines; `paddle pipeline create FILE` stores one", error);
}

const Verb verb_pipeline_list = {
        .name = "pipeline list",
        .args = "",
        .summary = "List stored pipelines",
        .options = list_options,
        .size = sizeof(StoreOptions),
        .run = run_list,
};

/* ---- delete ---- */

static const Option delete_options[] = { USER_OPTION, COMMON_OPTIONS, { 0 } };

static bool delete_one(Cli *cli, const char *text, void *arg, GError **error)
{
        const StoreOptions *options = arg;
        g_auto(PipelineWord) word = { 0 };
        g_autofree char *suffix = NULL, *path = NULL;
        g_autoptr(json_t) reply = NULL;

        if (!pipeline_word_parse(text, &word, error))
                return false;
        suffix = word.version ? g_strdup_printf("/versions/%" G_GINT64_FORMAT, word.version) : g_strdup("");
        path = pipeline_path(word.name, suffix, options->user);
        if (!http_call_json(cli->client, "DELETE", path, NULL, &reply, error))
                return false;
        cli_print("pipeline %s is deleted", text);
        return true;
}

static bool run_delete(Cli *cli, const void *target, char *const *words, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), delete_one, (void *)target, error);
}

const Verb verb_pipeline_delete = {
        .name = "pipeline delete",
        .args = "NAME[@VERSION]...",
        .summary = "Delete stored pipelines, or one version of them",
        .about = "The only version of a pipeline cannot be deleted alone. Runs that were made of it stay.",
        .examples = "paddle pipeline delete digits@2\npaddle pipeline delete digits",
        .options = delete_options,
        .size = sizeof(StoreOptions),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = run_delete,
};
