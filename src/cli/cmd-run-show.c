/* paddle run show: a run with its components as a tree, also while it changes. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/listing.h"
#include "cli/run-follow.h"
#include "cli/run-words.h"
#include "cli/run-picture.h"
#include "cli/screen.h"
#include "cli/svg.h"
#include "cli/verbs.h"

enum { LOOK_MS = 1000 };

typedef struct {
        Common common;
        char *format;
        char *svg;
        bool watch, all;
} ShowRun;

static const Option options[] = {
        { "watch", 'w', OPTION_BOOL, offsetof(ShowRun, watch), NULL,
          "show it again as it changes, until the run has ended or you press q" },
        { "all", 'a', OPTION_BOOL, offsetof(ShowRun, all), NULL,
          "also the items of loops that have ended well" },
        SVG_OPTION(offsetof(ShowRun, svg)),
        FORMAT_REPORT_OPTION(offsetof(ShowRun, format)),
        COMMON_OPTIONS,
        { 0 },
};

static bool look(Cli *cli, const char *path, json_t **run, GError **error)
{
        json_t *reply = NULL;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        json_decref(*run);
        *run = reply;
        return true;
}

static char *picture_of(const ShowRun *show, const json_t *run, const char *trouble, const Terminal *terminal,
                        int height)
{
        const RunPicture picture = {
                .run = run, .trouble = trouble, .now = clock_now_ms(), .all = show->all
        };

        return run_draw(&picture, terminal, height);
}

static void say_partial(const Cli *cli, const json_t *run)
{
        if (json_is_true(json_object_get(run, "partial")))
                cli_say(cli, "the run is large: only a part of it is shown");
}

/* Which chain of steps took the time. A run that is too large for it has none. */
static void print_chain(Cli *cli, const json_t *run)
{
        g_autofree char *path = run_path(text_of(run, "id"), "/critical-path"), *lines = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) chain = NULL;

        if (!http_call_json(cli->client, "GET", path, NULL, &chain, &error)) {
                cli_say(cli, "the longest chain of steps is not known: %s", error->message);
                return;
        }
        lines = run_chain_draw(chain, run_has_breaks(run), &cli->terminal);
        fputs(lines, stdout);
}

static void print_run(Cli *cli, const ShowRun *show, const json_t *run)
{
        g_autofree char *lines = picture_of(show, run, NULL, &cli->terminal, 0);

        fputs(lines, stdout);
        print_chain(cli, run);
        fflush(stdout);
        say_partial(cli, run);
}

static bool print_picture(Cli *cli, const char *run, const char *file, GError **error)
{
        g_autofree char *path = run_path(run, "/picture");
        const HttpCall call = { .method = "GET", .path = path };
        g_auto(HttpReply) reply = { 0 };

        if (!cli_client(cli, error) || !http_call(cli->client, &call, &reply, error))
                return false;
        if (reply.status != 200)
                return http_reply_error(&reply, error);
        return svg_put(cli, reply.body->str, reply.body->len, file, error);
}

/* ---- while it changes ---- */

static void show_screen(const Cli *cli, const ShowRun *show, Screen *screen, const json_t *run,
                        const char *trouble)
{
        Terminal terminal = cli->terminal;
        g_autofree char *lines = NULL;
        int height;

        screen_size(screen, &terminal.width, &height);
        lines = picture_of(show, run, trouble, &terminal, height);
        screen_show(screen, lines);
}

/* If the server is unreachable, the last picture stays, with a line that says so. */
static char *look_again(Cli *cli, const char *path, json_t **run)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        if (look(cli, path, run, &error))
                return NULL;
        text = err_line(error->message);
        return g_strdup_printf("not up to date: %s", text);
}

/* False: the user has enough. */
static bool watch_screen(Cli *cli, const ShowRun *show, const char *path, json_t **run, GError **error)
{
        g_autoptr(Screen) screen = screen_open(error);
        g_autofree char *trouble = NULL;
        gint64 due = clock_monotonic_ms() + LOOK_MS;

        while (screen && !run_is_final(*run)) {
                show_screen(cli, show, screen, *run, trouble);
                if (screen_wait(screen, (int)MAX(due - clock_monotonic_ms(), 0)) == SCREEN_QUIT)
                        break;
                if (clock_monotonic_ms() < due)
                        continue;
                g_free(trouble);
                trouble = look_again(cli, path, run);
                due = clock_monotonic_ms() + LOOK_MS;
        }
        return screen != NULL;
}

/* The last picture stays on the terminal. Without one it is all that is printed. */
static bool watch(Cli *cli, const ShowRun *show, const char *path, json_t **run, GError **error)
{
        g_autoptr(json_t) ended = NULL;
        g_autofree char *id = g_strdup(text_of(*run, "id"));
        bool on_screen = cli->terminal.out_is_terminal && isatty(STDIN_FILENO), ok;

        if (!on_screen && !run_is_final(*run))
                cli_say(cli, "run %s goes on; it is printed when it has ended, since this is no terminal",
                        id);
        ok = on_screen ? watch_screen(cli, show, path, run, error)
                       : run_follow(cli, id, false, 0, &ended, error) && look(cli, path, run, error);
        if (!ok)
                return false;
        print_run(cli, show, *run);
        if (!run_is_final(*run))
                cli_say(cli, "the run goes on; `paddle run stop %s` stops it", id);
        else if (strcmp(text_of(*run, "state"), "succeeded") != 0)
                cli->status = 1;
        return true;
}

static bool show_run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const ShowRun *show = target;
        g_autofree char *given = run_path(words[0], "/tree"), *path = NULL;
        g_autoptr(json_t) run = NULL;
        const char *picture;
        Format format;

        if (!format_parse(cli, show->format, &format, error))
                return false;
        if (show->watch && format != FORMAT_TABLE)
                return err_set(error, ERR_USAGE, "--watch cannot be combined with -o %s", show->format);
        if (show->watch && show->svg)
                return err_set(error, ERR_USAGE, "--watch cannot be combined with --svg");
        if (show->svg && (format == FORMAT_JSON || format == FORMAT_YAML))
                return err_set(error, ERR_USAGE, "--svg cannot be combined with -o %s", show->format);
        if (!svg_file(show->svg, words[1], &picture, error))
                return false;
        if (show->svg)
                return print_picture(cli, words[0], picture, error);
        if (!cli_client(cli, error) || !look(cli, given, &run, error))
                return false;
        path = run_path(text_of(run, "id"), "/tree"); /* a name may mean a newer run soon */
        if (show->watch)
                return watch(cli, show, path, &run, error);
        if (format == FORMAT_TABLE) {
                print_run(cli, show, run);
                return true;
        }
        format_print(run, format, NULL);
        say_partial(cli, run);
        return true;
}

const Verb verb_run_show = {
        .name = "run show",
        .args = "RUN [--svg [PICTURE]]",
        .summary = "Show a run: its components as a tree, with their states and times, or as a picture",
        .about =
                "A loop is one line with the number of its items in each state. Below it are the items that run or did "
                "not succeed, at most 20; when the loop has ended, those that failed. `paddle run logs RUN STEP` shows "
                "the log of a step.\n\n"
                "Below the tree is the longest chain: the step that ended last, before it the last one that it waited for, "
                "and so on. Shortening other steps does not make the run shorter. Then follows where the time of these "
                "steps went: running, waiting for a slot (parallelism) or at a breakpoint, in the queue, or being prepared.\n\n"
                "--svg draws the components as a picture, each with its state.\n\nRUN is an id, or the name of a pipeline: your newest run of it. With --watch the "
                "exit status is 0 only if the run succeeded.",
        .examples = "paddle run show 6rpyr77cvstaad5v\npaddle run show train --watch\n"
                    "paddle run show train --svg train.svg",
        .options = options,
        .size = sizeof(ShowRun),
        .min_words = 1,
        .max_words = 2,
        .words = WORDS_OBJECTS,
        .run = show_run,
};
