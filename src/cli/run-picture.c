/* A run as a tree (see run-picture.h). */
#include "cli/run-picture.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/run-words.h"
#include "cli/table.h"
#include "pipeline/render.h"

typedef enum {
        LINE_TREE, /* the states are in one column, and what follows in another */
        LINE_PLAIN,
        LINE_WHOLE, /* not cut: the terminal wraps it */
} LineKind;

typedef struct {
        LineKind kind;
        char *before, *state, *after;
} Line;

typedef struct {
        const RunPicture *picture;
        const Terminal *terminal;
        GString *indent;
        GArray *lines;
        int left;      /* lines that may follow; G_MAXINT: any number */
        gint64 hidden; /* lines that did not */
        bool screen;   /* it has a height */
} Drawing;

static void line_clear(void *data)
{
        Line *line = data;

        g_free(line->before);
        g_free(line->state);
        g_free(line->after);
}

/* Takes `before` and `after`. */
static void put_line(Drawing *drawing, LineKind kind, char *before, const char *state, char *after)
{
        Line line = { kind, before, g_strdup(state), after };

        if (drawing->left > 0) {
                drawing->left--;
                g_array_append_val(drawing->lines, line);
        } else {
                drawing->hidden++;
                line_clear(&line);
        }
}

/* ---- columns ---- */

enum { NAMES_MAX = 40 }; /* a longer name moves its own line only */

static int width_of_names(const Drawing *drawing)
{
        int most = 0, max = NAMES_MAX;

        if (drawing->terminal->out_is_terminal)
                max = MIN(max, drawing->terminal->width / 2);
        for (guint i = 0; i < drawing->lines->len; i++) {
                const Line *line = &g_array_index(drawing->lines, Line, i);
                int width = line->kind == LINE_TREE ? text_columns(line->before) : 0;

                most = width <= max ? MAX(most, width) : most;
        }
        return most;
}

static int width_of_states(const Drawing *drawing)
{
        int most = 0;

        for (guint i = 0; i < drawing->lines->len; i++) {
                const Line *line = &g_array_index(drawing->lines, Line, i);

                if (line->kind == LINE_TREE && *line->after)
                        most = MAX(most, (int)strlen(line->state));
        }
        return most;
}

/* Cut where the terminal ends; the state is in colour. */
static void write_line(const Drawing *drawing, const Line *line, int names, int states, GString *out)
{
        bool tree = line->kind == LINE_TREE;
        int spaces = tree ? MAX(names - text_columns(line->before), 0) + 2 : 0;
        int gap = tree && *line->after ? MAX(states - (int)strlen(line->state), 0) : 0;
        g_autofree char *before = g_strdup_printf("%s%*s", line->before, spaces, "");
        g_autofree char *plain = g_strdup_printf("%s%s%*s%s", before, line->state, gap, "", line->after);
        g_autofree char *cut =
                drawing->terminal->out_is_terminal && line->kind != LINE_WHOLE
                        ? text_cut_columns(plain, drawing->terminal->width, drawing->terminal->utf8)
                        : g_strdup(plain);
        gsize from = strlen(before), to = from + strlen(line->state);

        if (!drawing->terminal->out_colour || strlen(cut) < to || strncmp(cut, plain, to) != 0)
                g_string_append_printf(out, "%s\n", cut);
        else
                g_string_append_printf(out, "%s%s%s%s%s\n", before, state_paint(line->state), line->state,
                                       PAINT_END, cut + to);
}

static char *write_lines(const Drawing *drawing)
{
        GString *out = g_string_new(NULL);
        int names = width_of_names(drawing), states = width_of_states(drawing);

        for (guint i = 0; i < drawing->lines->len; i++)
                write_line(drawing, &g_array_index(drawing->lines, Line, i), names, states, out);
        return g_string_free(out, FALSE);
}

/* ---- parts of lines ---- */

/* "  3.2 s"; "" before it begins. */
static char *duration_of(const Drawing *drawing, const json_t *item, const char *from, const char *to)
{
        gint64 begun = time_of(item, from), ended = time_of(item, to);
        g_autofree char *text =
                begun ? duration_format(MAX((ended ? ended : drawing->picture->now) - begun, 0))
                      : g_strdup("");

        return g_strdup_printf("%s%s", begun ? "  " : "", text);
}

static bool is_state(const json_t *item, const char *state)
{
        return strcmp(text_of(item, "state"), state) == 0;
}

/* Items of a loop whose job waits. All items that run are among those shown. */
static gint64 count_queued(const json_t *item)
{
        const json_t *children = json_object_get(item, "children"), *child;
        gint64 n = 0;
        size_t i;

        json_array_foreach((json_t *)children, i, child)
                n += run_step_is_queued(child);
        return n;
}

/* "  128 of 1000 succeeded, 3 running, 2 queued, 1 failed" */
static char *counts_of(const json_t *item)
{
        static const char *const order[] = { "running",    "queued",    "stopping", "failed",
                                             "terminated", "cancelled", "skipped",  "pending" };
        g_autoptr(json_t) states = json_copy(json_object_get(item, "states"));
        gint64 queued = count_queued(item);
        GString *text = g_string_new(NULL);

        if (!is_set(item, "count"))
                return g_string_free(text, FALSE);
        json_object_set_new(states, "running", json_integer(int_of(states, "running") - queued));
        json_object_set_new(states, "queued", json_integer(queued));
        g_string_append_printf(text, "  %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " succeeded",
                               int_of(states, "succeeded"), int_of(item, "count"));
        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (int_of(states, order[i]) > 0)
                        g_string_append_printf(text, ", %" G_GINT64_FORMAT " %s", int_of(states, order[i]),
                                               order[i]);
        if (int_of(item, "kept") > 0)
                g_string_append_printf(text, "; %" G_GINT64_FORMAT " kept", int_of(item, "kept"));
        if (int_of(item, "from_cache") > 0)
                g_string_append_printf(text, "; %" G_GINT64_FORMAT " from the cache",
                                       int_of(item, "from_cache"));
        return g_string_free(text, FALSE);
}

static char *name_of(const json_t *item)
{
        g_autofree char *name = text_visible(text_of(item, "name"));

        return is_set(item, "number") ? g_strdup_printf("%s-%" G_GINT64_FORMAT, name, int_of(item, "number"))
                                      : g_steal_pointer(&name);
}

/* ---- loops ---- */

static bool has_failed(const json_t *item)
{
        return is_state(item, "failed") || is_state(item, "terminated");
}

static bool is_over(const json_t *item)
{
        return !is_state(item, "running") && !is_state(item, "stopping") && !is_state(item, "pending") &&
               !is_state(item, "paused");
}

/* Of a loop that has ended only the items that failed. */
static bool is_shown(const Drawing *drawing, const json_t *loop, const json_t *item)
{
        return drawing->picture->all || strcmp(text_of(loop, "type"), "loop") != 0 || !is_over(loop) ||
               has_failed(item);
}

/* A screen has few lines: the items of one loop must not push out all that follows. Those that failed come first. */
static json_t *first_items(const json_t *items)
{
        enum { ITEMS = 5 };
        json_t *first = json_array(), *item;
        size_t i;

        for (int failed = 1; failed >= 0; failed--)
                json_array_foreach((json_t *)items, i, item)
                        if (has_failed(item) == (failed == 1) && json_array_size(first) < ITEMS)
                                json_array_append(first, item);
        return first;
}

/* *ret_hidden: so many others, which did not fail, are left out of a screen. */
static json_t *shown_children(const Drawing *drawing, const json_t *item, gint64 *ret_hidden)
{
        const json_t *children = json_object_get(item, "children");
        json_t *shown = json_array(), *first, *child;
        size_t i;

        *ret_hidden = 0;
        json_array_foreach((json_t *)children, i, child)
                if (is_shown(drawing, item, child))
                        json_array_append(shown, child);
        if (!drawing->screen || drawing->picture->all || strcmp(text_of(item, "type"), "loop") != 0)
                return shown;
        first = first_items(shown);
        json_array_foreach(shown, i, child)
                *ret_hidden += !has_failed(child);
        json_array_foreach(first, i, child)
                *ret_hidden -= !has_failed(child);
        json_decref(shown);
        return first;
}

/* How many items of a loop have this state that are not among those shown. */
static gint64 more_of(const json_t *item, const json_t *shown, const char *state)
{
        gint64 n = int_of(json_object_get(item, "states"), state);
        const json_t *child;
        size_t i;

        json_array_foreach((json_t *)shown, i, child)
                n -= is_state(child, state);
        return MAX(n, 0);
}

/* ---- the tree ---- */

static bool is_post(const json_t *item)
{
        return json_is_true(json_object_get(item, "post_process"));
}

static void draw(Drawing *drawing, const json_t *item, bool last);

static char *branch(const Drawing *drawing, bool last)
{
        bool utf8 = drawing->terminal->utf8;

        return g_strconcat(drawing->indent->str, utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "),
                           NULL);
}

static void draw_more(Drawing *drawing, gint64 more, const char *state, bool last)
{
        g_autofree char *before = branch(drawing, last);

        if (more > 0)
                put_line(drawing, LINE_TREE,
                         g_strdup_printf("%s%s %" G_GINT64_FORMAT " more", before,
                                         drawing->terminal->utf8 ? "…" : "...", more),
                         state, g_strdup(""));
}

static void draw_children(Drawing *drawing, const json_t *item)
{
        gint64 hidden;
        g_autoptr(json_t) shown = shown_children(drawing, item, &hidden);
        bool loops = is_set(item, "count");
        gint64 failed = loops ? more_of(item, shown, "failed") : 0;
        gint64 terminated = loops ? more_of(item, shown, "terminated") : 0;
        gsize n = json_array_size(shown);

        for (gsize i = 0; i < n; i++)
                draw(drawing, json_array_get(shown, i), i + 1 == n && failed + terminated + hidden == 0);
        draw_more(drawing, failed, "failed", terminated + hidden == 0);
        draw_more(drawing, terminated, "terminated", hidden == 0);
        draw_more(drawing, hidden, "", true);
}

/* A long reason that the head has in full is not repeated. The caller's. */
static char *message_of(const Drawing *drawing, const json_t *item)
{
        enum { SHORT = 40 }; /* bytes of a reason that is */
        const char *message = text_of(item, "message");

        if (strlen(message) > SHORT && strstr(text_of(drawing->picture->run, "message"), message))
                return g_strdup("see above");
        return text_visible(message);
}

/* What follows the state. */
static char *details_of(const Drawing *drawing, const json_t *item)
{
        g_autofree char *time = is_state(item, "skipped")
                                        ? g_strdup("")
                                        : duration_of(drawing, item, "started_at", "finished_at");
        g_autofree char *counts = counts_of(item), *message = message_of(drawing, item);
        bool kept = is_set(item, "run"), cached = json_is_true(json_object_get(item, "cached"));
        bool after = strcmp(text_of(item, "paused"), "after") == 0;

        if (run_step_is_queued(item)) /* a narrow terminal has place for the reason, rather than for the id */
                return g_strdup_printf("%s  %s  job %s", time, message, text_of(item, "job"));
        return g_strdup_printf("%s%s%s%s%s%s%s%s%s", time, counts, after ? "  paused after it" : "",
                               is_set(item, "job") ? "  job " : "", text_of(item, "job"),
                               kept && !cached ? "  kept from run " : "", cached ? "" : text_of(item, "run"),
                               *message ? "  " : "", message);
}

static char *given_text(const json_t *value)
{
        g_autofree char *text = render_text(value);

        return *text ? g_steal_pointer(&text) : g_strdup("\"\"");
}

/* The parameters or inputs of a component that is paused before it begins. */
static void draw_values(Drawing *drawing, const json_t *values, const char *word)
{
        json_t *value;
        const char *name;

        json_object_foreach((json_t *)values, name, value) {
                g_autofree char *text = given_text(value);
                g_autofree char *line =
                        g_strdup_printf("%s  %s %s = %s", drawing->indent->str, word, name, text);

                put_line(drawing, LINE_PLAIN, text_visible(line), "", g_strdup(""));
        }
}

static void draw(Drawing *drawing, const json_t *item, bool last)
{
        g_autofree char *name = name_of(item), *start = branch(drawing, last);
        gsize indent = drawing->indent->len;

        put_line(drawing, LINE_TREE, g_strconcat(start, name, NULL), run_step_word(item),
                 details_of(drawing, item));
        g_string_append(drawing->indent, last ? "   " : drawing->terminal->utf8 ? "│  " : "|  ");
        draw_values(drawing, json_object_get(item, "parameters"), "parameter");
        draw_values(drawing, json_object_get(item, "inputs"), "input");
        draw_children(drawing, item);
        g_string_truncate(drawing->indent, indent);
}

/* "no pause before fit-7: the loop 'fit' has 3 items" */
static void draw_missed(Drawing *drawing)
{
        const json_t *one;
        size_t i;

        json_array_foreach(json_object_get(drawing->picture->run, "missed_breakpoints"), i, one) {
                g_autofree char *line = g_strdup_printf("no pause %s %s: %s", text_of(one, "at"),
                                                        text_of(one, "step"), text_of(one, "reason"));

                put_line(drawing, LINE_WHOLE, text_visible(line), "", g_strdup(""));
        }
}

/* "fetch: its file .pipeline/.../data is gone, so it runs again" */
static void draw_lost(Drawing *drawing)
{
        const json_t *one;
        size_t i;

        json_array_foreach(json_object_get(drawing->picture->run, "lost_outputs"), i, one) {
                g_autofree char *line = run_lost_line(one);

                put_line(drawing, LINE_WHOLE, text_visible(line), "", g_strdup(""));
        }
}

/* The server cannot store what happens. */
static void draw_trouble(Drawing *drawing)
{
        g_autofree char *why = err_line(text_of(drawing->picture->run, "trouble"));
        g_autofree char *line =
                g_strdup_printf("the server cannot store changes, so the run does not go on: %s", why);

        if (*why)
                put_line(drawing, LINE_WHOLE, text_visible(line), "", g_strdup(""));
}

/* "paused before dag.train", each with the command that lets it go on. */
static void draw_pauses(Drawing *drawing)
{
        const json_t *run = drawing->picture->run, *pauses = json_object_get(run, "pauses"), *pause;
        size_t i;

        json_array_foreach((json_t *)pauses, i, pause) {
                g_autofree char *step = text_visible(text_of(pause, "step"));

                put_line(drawing, LINE_WHOLE, g_strdup_printf("paused %s %s", text_of(pause, "at"), step), "",
                         g_strdup_printf(": `paddle run continue %s %s`, or `paddle run step %s %s`",
                                         text_of(run, "id"), step, text_of(run, "id"), step));
        }
        if (json_array_size(pauses) > 0)
                put_line(drawing, LINE_WHOLE, g_strdup("while it is paused"), "",
                         g_strdup_printf(": `paddle run set %s STEP -p NAME=VALUE` changes a parameter, "
                                         "`paddle artifact list --run %s` lists its files",
                                         text_of(run, "id"), text_of(run, "id")));
        draw_missed(drawing);
        if (json_is_true(json_object_get(run, "single_steps")))
                put_line(drawing, LINE_PLAIN,
                         g_strdup_printf("single steps: `paddle run continue %s` ends them",
                                         text_of(run, "id")),
                         "", g_strdup(""));
}

/* "train: epochs=5", for the parameters that were changed while the run was paused. */
static void draw_changes(Drawing *drawing)
{
        json_t *changes = json_object_get(drawing->picture->run, "changed_parameters"), *values, *value;
        const char *step, *name;

        json_object_foreach(changes, step, values)
                json_object_foreach(values, name, value) {
                        g_autofree char *text = given_text(value);
                        g_autofree char *line = g_strdup_printf("changed: %s of %s is %s", name, step, text);

                        put_line(drawing, LINE_PLAIN, text_visible(line), "", g_strdup(""));
                }
}

/* At a terminal the id and the state are seen behind a long name. The caller's. */
static char *head_name(const Drawing *drawing, const char *name)
{
        enum { REST = 40 }; /* columns for these, and the time */
        const Terminal *terminal = drawing->terminal;

        return terminal->out_is_terminal
                       ? text_cut_columns(name, MAX(terminal->width - REST, 12), terminal->utf8)
                       : g_strdup(name);
}

/* Each step that failed has a line of its own, which must be legible on a narrow terminal, too. */
static void draw_head(Drawing *drawing, bool whole)
{
        const json_t *run = drawing->picture->run;
        g_autofree char *full = text_visible(text_of(run, "name")), *name = head_name(drawing, full);
        g_autofree char *message = text_visible(text_of(run, "message"));
        g_auto(GStrv) reasons = g_strsplit(message, run_between_reasons, -1);
        g_autofree char *time = duration_of(drawing, run, "created_at", "finished_at");
        g_autofree char *retry = is_set(run, "retry_of")
                                         ? g_strdup_printf("  attempt %" G_GINT64_FORMAT " (retry of %s)",
                                                           int_of(run, "attempt"), text_of(run, "retry_of"))
                                         : g_strdup("");
        g_autofree char *about = text_visible(text_of(run, "description"));
        g_autofree char *version = is_set(run, "version") ? g_strdup_printf("  version %" G_GINT64_FORMAT,
                                                                            int_of(run, "version"))
                                                          : g_strdup("");

        put_line(drawing, LINE_PLAIN, g_strdup_printf("%s (%s)  ", name, text_of(run, "id")),
                 run_state_word(run),
                 g_strdup_printf("%s  by %s%s%s%s%s", time, text_of(run, "user"), version, retry,
                                 *about ? "  " : "", about));
        for (char **line = reasons; *line; line++)
                put_line(drawing, whole ? LINE_WHOLE : LINE_PLAIN,
                         g_strconcat(line == reasons ? "" : run_between_reasons + 2, *line, NULL), "",
                         g_strdup(""));
        draw_trouble(drawing);
        draw_lost(drawing);
        draw_pauses(drawing);
        draw_changes(drawing);
}

static void put_tail(Drawing *drawing)
{
        drawing->left = G_MAXINT;
        if (drawing->hidden > 0)
                put_line(drawing, LINE_PLAIN,
                         g_strdup_printf("%s %" G_GINT64_FORMAT
                                         " more lines; `paddle run show %s` prints all",
                                         drawing->terminal->utf8 ? "…" : "...", drawing->hidden,
                                         text_of(drawing->picture->run, "id")),
                         "", g_strdup(""));
        if (drawing->picture->trouble)
                put_line(drawing, LINE_PLAIN, g_strdup(drawing->picture->trouble), "", g_strdup(""));
}

char *run_draw(const RunPicture *picture, const Terminal *terminal, int height)
{
        Drawing drawing = { .picture = picture,
                            .terminal = terminal,
                            .indent = g_string_new(NULL),
                            .lines = g_array_new(FALSE, FALSE, sizeof(Line)),
                            .left = G_MAXINT };
        const json_t *items = json_object_get(picture->run, "items");
        gsize n = json_array_size(items);
        char *text;

        g_array_set_clear_func(drawing.lines, line_clear);
        drawing.screen = height > 0;
        if (height > 0) /* one line for what does not fit */
                drawing.left = MAX(height - 1 - (picture->trouble ? 1 : 0), 1);
        draw_head(&drawing, height == 0);
        for (gsize i = 0; i < n; i++) {
                const json_t *item = json_array_get(items, i), *next = json_array_get(items, i + 1);

                if (is_post(item) && (i == 0 || !is_post(json_array_get(items, i - 1))))
                        put_line(&drawing, LINE_PLAIN, g_strdup("post_process"), "", g_strdup(""));
                draw(&drawing, item, !next || is_post(next) != is_post(item));
        }
        put_tail(&drawing);
        text = write_lines(&drawing);
        g_string_free(drawing.indent, TRUE);
        g_array_unref(drawing.lines);
        return text;
}

/* ---- the longest chain ---- */

enum {
        CHAIN_STEPS = 8,   /* that are named */
        CHAIN_INDENT = 2,  /* columns */
        CHAIN_SHORT = 10,  /* ms: a shorter part is left out, too */
        CHAIN_SMALL = 100, /* a part of the time that is left out, if it is less than one of so many */
};

static gint64 chain_time(const json_t *step)
{
        return int_of(step, "queue_ms") + int_of(step, "prepare_ms") + int_of(step, "run_ms") +
               int_of(step, "cache_ms");
}

static gint compare_chain_times(gconstpointer a, gconstpointer b)
{
        gint64 left = *(const gint64 *)a, right = *(const gint64 *)b;

        return left > right ? -1 : left < right;
}

/* The steps of a chain that took less are not named. */
static gint64 least_named(const json_t *items)
{
        g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));
        const json_t *step;
        size_t i;

        json_array_foreach((json_t *)items, i, step) {
                gint64 time = chain_time(step);

                g_array_append_val(times, time);
        }
        g_array_sort(times, compare_chain_times);
        return times->len > CHAIN_STEPS ? g_array_index(times, gint64, CHAIN_STEPS - 1) : -1;
}

static void put_link(GPtrArray *links, char *name, gint64 time)
{
        g_autofree char *taken = duration_format(time);

        g_ptr_array_add(links, g_strdup_printf("%s %s", name, taken));
        g_free(name);
}

static void put_unnamed(GPtrArray *links, const Terminal *terminal, gint64 *n, gint64 *time)
{
        if (*n > 0)
                put_link(links,
                         g_strdup_printf("%s %" G_GINT64_FORMAT " more", terminal->utf8 ? "…" : "...", *n),
                         *time);
        *n = *time = 0;
}

/* "prep 20 s", "... 2 more 300 ms" */
static GPtrArray *chain_links(const json_t *chain, const Terminal *terminal)
{
        GPtrArray *links = g_ptr_array_new_with_free_func(g_free);
        const json_t *items = json_object_get(chain, "items"), *step;
        gint64 least = least_named(items), named = 0, unnamed = 0, time = 0;
        size_t i;

        json_array_foreach((json_t *)items, i, step) {
                if (chain_time(step) < least || named == CHAIN_STEPS) {
                        unnamed++;
                        time += chain_time(step);
                        continue;
                }
                put_unnamed(links, terminal, &unnamed, &time);
                put_link(links, text_visible(text_of(step, "path")), chain_time(step));
                named++;
        }
        unnamed += int_of(chain, "left_out");
        time += int_of(chain, "left_out_ms");
        put_unnamed(links, terminal, &unnamed, &time);
        return links;
}

static void trim(GString *out)
{
        while (out->len > 0 && out->str[out->len - 1] == ' ')
                g_string_truncate(out, out->len - 1);
}

/* Words that are joined, in lines of a terminal. */
static void put_wrapped(GString *out, const GPtrArray *words, const char *between, const Terminal *terminal)
{
        int at = CHAIN_INDENT;

        g_string_append_printf(out, "%*s", CHAIN_INDENT, "");
        for (guint i = 0; i < words->len; i++) {
                const char *word = words->pdata[i];
                bool last = i + 1 == words->len;
                int width = text_columns(word) + (last ? 0 : (int)strlen(between));

                if (terminal->out_is_terminal && at > CHAIN_INDENT && at + width > terminal->width) {
                        trim(out);
                        g_string_append_printf(out, "\n%*s", 2 * CHAIN_INDENT, "");
                        at = 2 * CHAIN_INDENT;
                }
                g_string_append_printf(out, "%s%s", word, last ? "" : between);
                at += width;
        }
        g_string_append_c(out, '\n');
}

static GPtrArray *time_shares(const json_t *chain, bool breaks)
{
        const struct {
                const char *member, *words;
        } shares[] = { { "run_ms", "running" },
                       { "slot_ms", breaks ? "waiting for a slot or at a breakpoint" : "waiting for a slot" },
                       { "queue_ms", "in the queue" },
                       { "prepare_ms", "being prepared" },
                       { "cache_ms", "asking the cache" } };
        GPtrArray *words = g_ptr_array_new_with_free_func(g_free);

        for (gsize i = 0; i < G_N_ELEMENTS(shares); i++) {
                gint64 time = int_of(chain, shares[i].member);

                if (i == 0 || (time >= CHAIN_SHORT && time * CHAIN_SMALL > int_of(chain, "total_ms")))
                        put_link(words, g_strdup(shares[i].words), time);
        }
        return words;
}

bool run_has_breaks(const json_t *run)
{
        return json_array_size(json_object_get(run, "break_before")) > 0 ||
               json_array_size(json_object_get(run, "break_after")) > 0 ||
               json_is_true(json_object_get(run, "single_steps")) || int_of(run, "paused") > 0;
}

char *run_chain_draw(const json_t *chain, bool breaks, const Terminal *terminal)
{
        GString *out = g_string_new(NULL);
        g_autoptr(GPtrArray) links = chain_links(chain, terminal), shares = time_shares(chain, breaks);
        gint64 steps = chain_time(chain) + int_of(chain, "left_out_ms");
        g_autofree char *taken = duration_format(steps), *total = duration_format(int_of(chain, "total_ms"));

        if (links->len > 0) {
                g_string_append_printf(out, "longest chain: %s of %s in steps\n", taken, total);
                put_wrapped(out, links, " > ", terminal);
                put_wrapped(out, shares, ", ", terminal);
        }
        return g_string_free(out, FALSE);
}
