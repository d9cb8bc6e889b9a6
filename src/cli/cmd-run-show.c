/* paddle run show: a run with its components as a tree. */
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/run-follow.h"
#include "cli/table.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *format;
} ShowRun;

static const Option options[] = {
        { "format", 'o', OPTION_STRING, offsetof(ShowRun, format), "FORM", "table, json or yaml",
          .fallback = "table", .alias = "output" },
        COMMON_OPTIONS,
        { 0 },
};

typedef struct {
        const Terminal *terminal;
        GString *indent;
        gint64 now; /* ms */
} Drawing;

/* A line of a table with one column; cut where the terminal ends. */
static void print_line(const Drawing *drawing, const char *before, const char *state, const char *after)
{
        bool colour = drawing->terminal->out_colour;
        g_autofree char *plain = g_strconcat(before, state, after, NULL);
        g_autofree char *cut = drawing->terminal->out_is_terminal
                                       ? text_cut(plain, drawing->terminal->width, drawing->terminal->utf8)
                                       : g_strdup(plain);
        gsize from = strlen(before), to = from + strlen(state);

        if (!colour || strlen(cut) < to)
                printf("%s\n", cut);
        else
                printf("%s%s%s%s%s\n", before, state_paint(state), state, PAINT_END, cut + to);
}

/* "  3.2 s"; "" before it begins. */
static char *duration_of(const Drawing *drawing, const json_t *item, const char *from, const char *to)
{
        gint64 begun = time_of(item, from), ended = time_of(item, to);
        g_autofree char *text =
                begun ? duration_format(MAX((ended ? ended : drawing->now) - begun, 0)) : g_strdup("");

        return g_strdup_printf("%s%s", begun ? "  " : "", text);
}

/* "  3 items: 1 running, 2 succeeded" */
static char *counts_of(const json_t *item)
{
        GString *text = g_string_new(NULL);
        const char *state;
        const json_t *n;

        if (!is_set(item, "count"))
                return g_string_free(text, FALSE);
        g_string_append_printf(text, "  %" G_GINT64_FORMAT " items:", int_of(item, "count"));
        json_object_foreach((json_t *)json_object_get(item, "states"), state, n)
                g_string_append_printf(text, "%s %" JSON_INTEGER_FORMAT " %s",
                                       g_str_has_suffix(text->str, ":") ? "" : ",", json_integer_value(n),
                                       state);
        return g_string_free(text, FALSE);
}

static char *name_of(const json_t *item)
{
        g_autofree char *name = text_visible(text_of(item, "name"));

        return is_set(item, "number") ? g_strdup_printf("%s-%" G_GINT64_FORMAT, name, int_of(item, "number"))
                                      : g_steal_pointer(&name);
}

static void draw(Drawing *drawing, const json_t *item, bool last);

static void draw_all(Drawing *drawing, const json_t *items)
{
        for (size_t i = 0; i < json_array_size(items); i++)
                draw(drawing, json_array_get(items, i), i + 1 == json_array_size(items));
}

static void draw(Drawing *drawing, const json_t *item, bool last)
{
        bool utf8 = drawing->terminal->utf8;
        bool skipped = strcmp(text_of(item, "state"), "skipped") == 0;
        g_autofree char *name = name_of(item), *counts = counts_of(item),
                        *message = text_visible(text_of(item, "message"));
        g_autofree char *time =
                skipped ? g_strdup("") : duration_of(drawing, item, "started_at", "finished_at");
        g_autofree char *before =
                g_strdup_printf("%s%s%s  ", drawing->indent->str,
                                utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "), name);
        g_autofree char *after =
                g_strdup_printf("%s%s%s%s%s%s", time, counts, is_set(item, "job") ? "  job " : "",
                                text_of(item, "job"), *message ? "  " : "", message);
        gsize indent = drawing->indent->len;

        print_line(drawing, before, text_of(item, "state"), after);
        g_string_append(drawing->indent, last ? "   " : utf8 ? "│  " : "|  ");
        draw_all(drawing, json_object_get(item, "children"));
        g_string_truncate(drawing->indent, indent);
}

static void print_tree(const Cli *cli, const json_t *run)
{
        Drawing drawing = { &cli->terminal, g_string_new(NULL), clock_now_ms() };
        g_autofree char *name = text_visible(text_of(run, "name")),
                        *message = text_visible(text_of(run, "message"));
        g_autofree char *head = g_strdup_printf("%s (%s)  ", name, text_of(run, "id"));
        g_autofree char *time = duration_of(&drawing, run, "created_at", "finished_at");
        g_autofree char *rest =
                g_strdup_printf("%s  by %s%s%s", time, text_of(run, "user"), *message ? "  " : "", message);

        print_line(&drawing, head, text_of(run, "state"), rest);
        draw_all(&drawing, json_object_get(run, "items"));
        g_string_free(drawing.indent, TRUE);
}

static bool run_show(Cli *cli, const void *target, char *const *words, GError **error)
{
        const ShowRun *show = target;
        g_autofree char *path = run_path(words[0], "/tree");
        g_autoptr(json_t) run = NULL;
        Format format;

        if (!format_parse(show->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", path, NULL, &run, error))
                return false;
        if (format == FORMAT_JSON || format == FORMAT_YAML)
                format_print(run, format, NULL);
        else
                print_tree(cli, run);
        if (json_is_true(json_object_get(run, "partial")))
                cli_say(cli, "the run is large: only a part of it is shown");
        return true;
}

const Verb verb_run_show = {
        .name = "run show",
        .args = "RUN",
        .summary = "Show a run: its components as a tree, with their states and times",
        .about =
                "Of a loop with more than 20 items those that run or did not succeed are shown. `paddle logs JOB` shows the "
                "log of a step.",
        .examples = "paddle run show 6rpyr77cvstaad5v",
        .options = options,
        .size = sizeof(ShowRun),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = run_show,
};
