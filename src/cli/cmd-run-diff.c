/* paddle run diff: in what two runs differ. */
#include <string.h>

#include "base/err.h"
#include "cli/listing.h"
#include "cli/remote.h"
#include "cli/run-diff.h"
#include "cli/run-words.h"
#include "cli/verbs.h"
#include "model/filesystem.h"
#include "net/url.h"

enum {
        FILES_MAX = 50,                    /* that are compared */
        FILE_BYTES_MAX = 16 * 1024 * 1024, /* of a file; the server reads it */
        PACKAGES_MAX = 20,                 /* pairs of packages that are compared */
        PACKAGE_FILES_MAX = 1000,          /* of a pair, with --all; the server names no more */
};

typedef struct {
        Common common;
        char *format;
        bool all;
} DiffOptions;

static const Option options[] = {
        { "all", 'a', OPTION_BOOL, offsetof(DiffOptions, all), NULL,
          "print everything that differs, and all components" },
        FORMAT_REPORT_OPTION(offsetof(DiffOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- what is read of a run ---- */

typedef struct {
        json_t *run, *definition, *steps, *artifacts;
} Side;

static void side_clear(Side *side)
{
        json_decref(side->run);
        json_decref(side->definition);
        json_decref(side->steps);
        json_decref(side->artifacts);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Side, side_clear)

static bool get(Cli *cli, const char *run, const char *suffix, json_t **ret, GError **error)
{
        g_autofree char *path = run_path(run, suffix);

        return http_call_json(cli->client, "GET", path, NULL, ret, error);
}

/* The outputs, page by page, as many as are compared. */
static json_t *read_artifacts(Cli *cli, const char *run, GError **error)
{
        g_autoptr(json_t) all = json_array();
        g_autofree char *after = NULL;

        do {
                g_autoptr(GString) path = g_string_new("/v1/artifacts?limit=1000&type=output");
                g_autoptr(json_t) page = NULL;

                url_add_query(path, "run", run);
                url_add_query(path, "after", after);
                if (!http_call_json(cli->client, "GET", path->str, NULL, &page, error))
                        return NULL;
                json_array_extend(all, json_object_get(page, "items"));
                g_free(after);
                after = is_set(page, "next") ? g_strdup(text_of(page, "next")) : NULL;
        } while (after && json_array_size(all) < RUN_DIFF_ARTIFACTS_MAX);
        return g_steal_pointer(&all);
}

/* `side->run` is known. */
static bool read_side(Cli *cli, Side *side, GError **error)
{
        const char *id = text_of(side->run, "id");

        if (!get(cli, id, "/definition", &side->definition, error) ||
            !get(cli, id, "/steps", &side->steps, error))
                return false;
        side->artifacts = read_artifacts(cli, id, error);
        return side->artifacts != NULL;
}

/* The run before this one: that which it retries, or the one of its name that was created before it. */
static bool find_earlier(Cli *cli, const json_t *run, json_t **ret, GError **error)
{
        g_autoptr(GString) path = g_string_new("/v1/runs?limit=1000");
        g_autoptr(json_t) page = NULL;
        const json_t *items, *item;
        bool seen = false;
        size_t i;

        if (is_set(run, "retry_of"))
                return get(cli, text_of(run, "retry_of"), "", ret, error);
        url_add_query(path, "name", text_of(run, "name"));
        if (!http_call_json(cli->client, "GET", path->str, NULL, &page, error))
                return false;
        items = json_object_get(page, "items");
        json_array_foreach((json_t *)items, i, item) {
                if (seen)
                        return get(cli, text_of(item, "id"), "", ret, error);
                seen = strcmp(text_of(item, "id"), text_of(run, "id")) == 0;
        }
        return err_set(
                error, ERR_NOT_FOUND,
                "there is no earlier run of '%s' to compare run '%s' with\nGive two runs: `paddle run diff A B`.",
                text_of(run, "name"), text_of(run, "id"));
}

/* ---- files of artifacts ---- */

/* The size of a file; -1: it is none, or is not there. */
static gint64 size_of(Cli *cli, const char *remote)
{
        g_autoptr(json_t) reply = remote_get(cli, remote, "?stat=true", NULL);
        const json_t *entry = json_array_get(json_object_get(reply, "items"), 0);

        return entry && strcmp(text_of(entry, "type"), "file") == 0 ? int_of(entry, "size") : -1;
}

/* True and *ret: whether both files have the same bytes, by their hashes, which the server computes. */
static bool compare_files(Cli *cli, const char *a, const char *b, bool *ret)
{
        gint64 left_size = size_of(cli, a), right_size = size_of(cli, b);
        g_autoptr(json_t) left = NULL, right = NULL;

        *ret = left_size == right_size;
        if (left_size < 0 || right_size < 0 || !*ret || left_size > FILE_BYTES_MAX)
                return left_size >= 0 && right_size >= 0 && !*ret;
        left = remote_get(cli, a, "?chunks=true", NULL);
        right = remote_get(cli, b, "?chunks=true", NULL);
        if (!left || !right)
                return false;
        *ret = json_equal(json_object_get(left, "chunks"), json_object_get(right, "chunks")) != 0;
        return true;
}

/* Those that lie in the caller's home, and are small. */
static void compare_artifacts(Cli *cli, json_t *diff)
{
        g_auto(RemoteNames) names = { 0 };
        json_t *artifact;
        size_t i;
        int files = 0;

        json_array_foreach(json_object_get(diff, "artifacts"), i, artifact) {
                g_autofree char *left = NULL, *right = NULL;
                bool same;

                if (strcmp(text_of(artifact, "in"), "both") != 0 || is_set(artifact, "differs") ||
                    strcmp(text_of(artifact, "filesystem"), FILESYSTEM_HOME) != 0 || files++ == FILES_MAX)
                        continue;
                if (!names.user && !remote_names_ask(cli, &names, NULL))
                        return;
                if (strcmp(text_of(artifact, "user"), names.user) != 0)
                        continue;
                left = remote_path_of(&names, text_of(artifact, "path_a"), NULL);
                right = remote_path_of(&names, text_of(artifact, "path_b"), NULL);
                if (left && right && compare_files(cli, left, right, &same))
                        json_object_set_new(artifact, "differs", json_boolean(!same));
        }
        run_diff_settle(diff);
}

/* ---- files of packages ---- */

static json_t *ask_package(Cli *cli, const json_t *package, int limit, GError **error)
{
        g_autofree char *hash = g_uri_escape_string(text_of(package, "a"), NULL, false),
                        *most = g_strdup_printf("%d", limit);
        g_autoptr(GString) path = g_string_new(NULL);
        json_t *reply = NULL;

        g_string_printf(path, "/v1/packages/%s/compare", hash);
        url_add_query(path, "with", text_of(package, "b"));
        url_add_query(path, "limit", most);
        return http_call_json(cli->client, "GET", path->str, NULL, &reply, error) ? reply : NULL;
}

static void compare_package(Cli *cli, json_t *package, int limit)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) reply = ask_package(cli, package, limit, &error);
        json_t *files = json_object_get(reply, "items");

        if (!reply) {
                *strchrnul(error->message, '\n') =
                        '\0'; /* its hint is about packages that are named by hand */
                json_object_set_new(package, "why", json_string(error->message));
                return;
        }
        json_object_set(package, "files", files);
        json_object_set_new(package, "more",
                            json_integer(int_of(reply, "total") - (gint64)json_array_size(files)));
}

static void compare_packages(Cli *cli, json_t *diff, bool all)
{
        json_t *package;
        size_t i;

        json_array_foreach(json_object_get(diff, "packages"), i, package)
                if (i < PACKAGES_MAX)
                        compare_package(cli, package, all ? PACKAGE_FILES_MAX : RUN_DIFF_FILES_MAX);
}

/* ---- the verb ---- */

static json_t *make_diff(Cli *cli, Side *a, Side *b, bool all, GError **error)
{
        json_t *diff;

        if (!read_side(cli, a, error) || !read_side(cli, b, error))
                return NULL;
        diff = run_diff(&(RunSide){ a->run, a->definition, a->steps, a->artifacts },
                        &(RunSide){ b->run, b->definition, b->steps, b->artifacts });
        compare_packages(cli, diff, all);
        compare_artifacts(cli, diff);
        return diff;
}

static bool run_diff_verb(Cli *cli, const void *target, char *const *words, GError **error)
{
        const DiffOptions *diff_options = target;
        g_auto(Side) a = { 0 }, b = { 0 };
        g_autoptr(json_t) diff = NULL;
        Format format;

        if (!format_parse(cli, diff_options->format, &format, error) || !cli_client(cli, error))
                return false;
        if (words[1] ? !get(cli, words[0], "", &a.run, error) || !get(cli, words[1], "", &b.run, error)
                     : !get(cli, words[0], "", &b.run, error) || !find_earlier(cli, b.run, &a.run, error))
                return false;
        diff = make_diff(cli, &a, &b, diff_options->all, error);
        if (!diff)
                return false;
        if (format == FORMAT_TABLE)
                run_diff_print(diff, &cli->terminal, diff_options->all, stdout);
        else
                format_print(diff, format, NULL);
        if (json_is_true(json_object_get(diff, "partial")))
                cli_say(cli, "one of the runs is large: only a part of it is compared");
        cli->status = json_is_true(json_object_get(diff, "same")) ? 0 : 1;
        return true;
}

const Verb verb_run_diff = {
        .name = "run diff",
        .args = "[A] B",
        .summary = "Compare two runs: definition, parameters, environment, artifacts, states and durations",
        .about =
                "First it says what differs at all, then how: lines of the definition; values of parameters, as they count; "
                "image, package and variables; files of packages that only one run has, or that differ; artifacts that only one run has, and files of up to 16 MiB in your home whose "
                "content differs; components with another state, or whose time differs by a second and a quarter. With one "
                "run it is compared with the run that it retries, or with the run of its name before it.\n\n"
                "The exit status is 0 only if nothing differs; durations do not count. A and B are ids, or names of "
                "pipelines: your newest run of it.",
        .examples = "paddle run diff 6rpyr77cvstaad5v x3s2bxh0rpr1e7mz\n"
                    "paddle run diff train\twhat changed since the run before",
        .options = options,
        .size = sizeof(DiffOptions),
        .min_words = 1,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = run_diff_verb,
};
