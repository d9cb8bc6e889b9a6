/* paddle artifact list, delete: files that steps of runs have written and read. */
#include <string.h>

#include "base/err.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "net/url.h"

typedef struct {
        Common common;
        char *run, *fs, *path, *type, *user, *format;
        gint64 limit;
} ArtifactOptions;

/* ---- list ---- */

static const Option list_options[] = {
        { "run", 'r', OPTION_STRING, offsetof(ArtifactOptions, run), "RUN", "artifacts of this run" },
        { "fs", 0, OPTION_STRING, offsetof(ArtifactOptions, fs), "NAME",
          "without --run: artifacts on this file system; default: home" },
        { "path", 'p', OPTION_STRING, offsetof(ArtifactOptions, path), "PATH",
          "only paths that begin with this" },
        { "type", 't', OPTION_STRING, offsetof(ArtifactOptions, type), "TYPE",
          "input or output; default: both" },
        { "user", 'u', OPTION_STRING, offsetof(ArtifactOptions, user), "NAME",
          "artifacts on a file system of this user (administrators)" },
        { "limit", 'l', OPTION_INT, offsetof(ArtifactOptions, limit), "N", "at most N", .fallback = "100",
          .min = 1, .max = 1000000 },
        FORMAT_OPTION(offsetof(ArtifactOptions, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* The paths of a loop are one text, joined by commas: the first of them, and how many follow. */
static char *path_cell(const json_t *item, const Terminal *terminal)
{
        const char *paths = text_of(item, "path"), *comma = strchr(paths, ',');
        gint64 more = 0;

        for (const char *at = comma; at; at = strchr(at + 1, ','))
                more++;
        return more > 0 ? g_strdup_printf("%.*s (and %" G_GINT64_FORMAT " more)", (int)(comma - paths), paths,
                                          more)
                        : g_strdup(paths);
}

static const Column columns[] = {
        { "RUN", .member = "run", .fit = { 2, TABLE_WHOLE } },
        { "STEP", .member = "step", .wide = true, .fit = { 4, 12 } },
        { "JOB", .member = "job", .fit = { 5, TABLE_WHOLE } },
        { "NAME", .member = "name", .fit = { 0, 8 } },
        { "TYPE", .member = "type", .fit = { 3, TABLE_WHOLE } },
        { "FS", .member = "filesystem", .fit = { 4 } },
        { "PATH", .cell = path_cell, .fit = { 1, 24, .middle = true } },
        { 0 },
};

static bool artifact_list(Cli *cli, const void *target, char *const *words, GError **error)
{
        const ArtifactOptions *options = target;
        g_autoptr(GString) path = g_string_new("/v1/artifacts");

        if (options->run && (options->fs || options->user))
                return err_set(error, ERR_USAGE, "--run cannot be combined with --fs or --user");
        url_add_query(path, "run", options->run);
        url_add_query(path, "filesystem", options->fs);
        url_add_query(path, "path", options->path);
        url_add_query(path, "type", options->type);
        url_add_query(path, "user", options->user);
        return listing_show(cli, options->format, columns, "path", path->str, options->limit,
                            "no artifacts; steps declare them under `artifacts`", error);
}

const Verb verb_artifact_list = {
        .name = "artifact list",
        .args = "",
        .summary = "List files that steps of runs have written and read",
        .about =
                "Paths are below the root of the file system. An output is listed when its step has succeeded. An input that "
                "joins the outputs of a loop shows the first path and the number of the others; -o json or yaml shows all. "
                "With --run, -o wide has the step.",
        .examples = "paddle artifact list --run RUN\n"
                    "paddle artifact list --fs data --path .pipeline/ --type output",
        .options = list_options,
        .size = sizeof(ArtifactOptions),
        .run = artifact_list,
};

/* ---- delete ---- */

static const Option delete_options[] = { COMMON_OPTIONS, { 0 } };

static bool artifact_delete(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_autofree char *run = url_escape(words[0]);

        if (!cli_client(cli, error))
                return false;
        for (words++; *words; words++) {
                g_autofree char *escaped = url_escape(*words);
                g_autofree char *path = g_strdup_printf("/v1/artifacts/%s?path=%s", run, escaped);
                g_autoptr(json_t) reply = NULL;

                if (!http_call_json(cli->client, "DELETE", path, NULL, &reply, error))
                        return false;
                cli_print("artifact %s is deleted", *words);
        }
        return true;
}

const Verb verb_artifact_delete = {
        .name = "artifact delete",
        .args = "RUN PATH...",
        .summary = "Delete files that steps of a run have written, after the run has ended",
        .about = "`paddle artifact list --run RUN` shows the paths. Deleting a run deletes its records, too.",
        .examples = "paddle artifact delete RUN .pipeline/RUN/train/fit-0-2578f927/model",
        .options = delete_options,
        .size = sizeof(ArtifactOptions),
        .min_words = 2,
        .max_words = -1,
        .run = artifact_delete,
};
