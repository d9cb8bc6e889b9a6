/* paddle pipeline show: draws a definition, of a file (no server is needed) or of a stored pipeline. */
#include <string.h>

#include "base/err.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/pipeline-file.h"
#include "cli/pipeline-stored.h"
#include "cli/svg.h"
#include "cli/verbs.h"
#include "pipeline/picture.h"
#include "pipeline/show.h"

static const Option show_options[] = {
        PIPELINE_OPTIONS,
        { "stored", 0, OPTION_BOOL, offsetof(PipelineOptions, stored), NULL,
          "a stored pipeline, also if there is a file of this name" },
        { "user", 'u', OPTION_STRING, offsetof(PipelineOptions, user), "NAME",
          "a stored pipeline of this user (administrators)" },
        SVG_OPTION(offsetof(PipelineOptions, svg)),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- the tree ---- */

static void print_line(const Cli *cli, const char *line)
{
        g_autofree char *visible = text_visible(line);
        g_autofree char *cut = cli->terminal.out_is_terminal
                                       ? text_cut_columns(visible, cli->terminal.width, cli->terminal.utf8)
                                       : g_strdup(visible);

        printf("%s\n", cut);
}

static void print_tree(const Cli *cli, const Definition *definition)
{
        g_autofree char *text = definition_show(definition, cli->terminal.utf8,
                                                cli->terminal.out_is_terminal ? cli->terminal.width : 0);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (int i = 0; lines[i] && (lines[i + 1] || *lines[i]); i++)
                print_line(cli, lines[i]);
}

/* ---- the picture ---- */

static bool print_picture(const Cli *cli, const Definition *definition, const char *file, GError **error)
{
        const Picture picture = { .definition = definition };
        g_autofree char *svg = picture_draw(&picture);

        return svg_put(cli, svg, strlen(svg), file, error);
}

/* ---- a stored pipeline ---- */

/* "version 2  2026-11-27 09:30:00  by ann  512 bytes" */
static void print_version(const Cli *cli, const json_t *version)
{
        g_autofree char *time = local_time_text(version, "created_at");
        g_autofree char *line =
                g_strdup_printf("version %" G_GINT64_FORMAT "  %s  by %s  %" G_GINT64_FORMAT " bytes%s%s",
                                int_of(version, "version"), time ? time : "", text_of(version, "user"),
                                int_of(version, "size"), is_set(version, "fs") ? "  file system " : "",
                                text_of(version, "fs"));

        print_line(cli, line);
}

static void print_head(const Cli *cli, const json_t *pipeline, const json_t *versions)
{
        g_autofree char *line =
                g_strdup_printf("%s (%s)  by %s%s%s", text_of(pipeline, "name"), text_of(pipeline, "id"),
                                text_of(pipeline, "user"), *text_of(pipeline, "description") ? "  " : "",
                                text_of(pipeline, "description"));

        print_line(cli, line);
        for (size_t i = 0; i < json_array_size(versions); i++)
                print_version(cli, json_array_get(versions, i));
        printf("\n");
}

static json_t *get_version(Cli *cli, const PipelineWord *word, const json_t *pipeline, const char *user,
                           GError **error)
{
        gint64 number =
                word->version ? word->version : int_of(json_object_get(pipeline, "version"), "version");
        g_autofree char *suffix = g_strdup_printf("/versions/%" G_GINT64_FORMAT, number);
        g_autofree char *path = pipeline_path(word->name, suffix, user);
        json_t *version = NULL;

        return http_call_json(cli->client, "GET", path, NULL, &version, error) ? version : NULL;
}

static bool show_stored(Cli *cli, const PipelineOptions *options, const char *text, const char *file,
                        GError **error)
{
        g_auto(PipelineWord) word = { 0 };
        g_autofree char *path = NULL, *all = NULL;
        g_autoptr(json_t) pipeline = NULL, versions = NULL, version = NULL;
        g_autoptr(Definition) definition = NULL;
        const char *body;

        if (!pipeline_word_parse(text, &word, error) || !cli_client(cli, error))
                return false;
        path = pipeline_path(word.name, "", options->user);
        all = pipeline_path(word.name, "/versions", options->user);
        if (!http_call_json(cli->client, "GET", path, NULL, &pipeline, error) ||
            !(versions = listing_items(cli->client, all, error)) ||
            !(version = get_version(cli, &word, pipeline, options->user, error)))
                return false;
        body = text_of(version, "definition");
        if (!pipeline_text_load(options, text, body, strlen(body), &definition, error))
                return false;
        if (options->svg)
                return print_picture(cli, definition, file, error);
        print_head(cli, pipeline, versions);
        print_tree(cli, definition);
        return true;
}

static bool run_show(Cli *cli, const void *target, char *const *words, GError **error)
{
        const PipelineOptions *options = target;
        const char *picture;
        g_autoptr(Definition) definition = NULL;

        if (!svg_file(options->svg, words[1], &picture, error))
                return false;
        /* this verb has always shown files */
        if (options->stored || !(pipeline_is_file(words[0]) || g_file_test(words[0], G_FILE_TEST_EXISTS)))
                return show_stored(cli, options, words[0], picture, error);
        if (!pipeline_file_load(options, words[0], &definition, error))
                return false;
        if (options->svg)
                return print_picture(cli, definition, picture, error);
        print_tree(cli, definition);
        return true;
}

const Verb verb_pipeline_show = {
        .name = "pipeline show",
        .args = "FILE | NAME[@VERSION] [--svg [PICTURE]]",
        .summary = "Draw the components of a pipeline as a tree, or as a picture",
        .about =
                "A word with a point or slash, or the name of an existing file, is a file, and no server is needed. "
                "Any other word is a stored pipeline, which is shown with its versions. --stored is for one with the "
                "name of a file. " PIPELINE_PROGRAM_HELP "\n\n"
                "Each line of the tree is a step or a DAG, with what it waits for (after), its loop, its condition (if) "
                "and the component that it uses. post_process and the library follow.\n\n"
                "--svg draws the same as a picture: lines go from a component to those that wait for it.",
        .examples = "paddle pipeline show pipeline.yaml\n"
                    "paddle pipeline show pipeline.yaml --svg pipeline.svg\n"
                    "paddle pipeline show digits@2",
        .options = show_options,
        .size = sizeof(PipelineOptions),
        .min_words = 1,
        .max_words = 2,
        .words = WORDS_FILES,
        .run = run_show,
};
