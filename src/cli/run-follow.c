/* Following a run (see run-follow.h). The server is asked again and again, at growing intervals while nothing changes. */
#include "cli/run-follow.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text-cut.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/retry.h"
#include "cli/run-news.h"
#include "cli/run-words.h"

enum {
        PAUSE_MS = 100,
        PAUSE_MAX_MS = 2000,
        PAUSE_WAITS_MS = 1000, /* while a terminal shows how long a step waits */
};

/* One look. False with an error. */
static bool look(Cli *cli, RunNews *news, const char *run, bool show, json_t **ret, bool *ret_news,
                 GError **error)
{
        g_autofree char *path = run_path(run, "");

        return http_call_json(cli->client, "GET", path, NULL, ret, error) &&
               run_news_print(news, *ret, show, ret_news, error);
}

static bool is_late(const char *run, gint64 deadline, GError **error)
{
        return deadline && clock_monotonic_ms() >= deadline &&
               !err_set(error, ERR_TIMEOUT, "run %s has not ended in time\nIt goes on.", run);
}

/* A name may mean a newer run soon. */
static void keep_id(char **word, const json_t *run)
{
        g_free(*word);
        *word = g_strdup(text_of(run, "id"));
}

/* Until the next look. `run`: with what waits in it on the terminal; NULL: without. */
static void rest(RunNews *news, gint64 pause, const json_t *run)
{
        bool waits = run && json_array_size(json_object_get(run, "waits")) > 0;

        if (waits)
                run_news_draw_waits(news, run);
        g_usleep((gulong)(waits ? MIN(pause, PAUSE_WAITS_MS) : pause) * 1000);
        run_news_erase_waits(news);
}

static bool wait(Cli *cli, RunNews *news, const char *word, bool show, gint64 deadline, json_t **ret,
                 GError **error)
{
        g_autofree char *run = g_strdup(word);
        gint64 pause = PAUSE_MS;
        Retry retry;

        retry_init(&retry, "`paddle run wait` continues to wait.");
        for (;;) {
                g_autoptr(json_t) now = NULL;
                GError *cause = NULL;
                bool changed = false, ok = look(cli, news, run, show, &now, &changed, &cause);

                if (ok && retry_succeeded(&retry))
                        cli_say(cli, "paddle: connected again");
                if (ok)
                        keep_id(&run, now);
                if (ok && run_is_final(now)) {
                        *ret = g_steal_pointer(&now);
                        return true;
                }
                if (!ok && !retry_after(&retry, cli, cause, error))
                        return false;
                if (is_late(run, deadline, error))
                        return false;
                pause = changed ? PAUSE_MS : MIN(pause * 3 / 2, PAUSE_MAX_MS);
                if (ok)
                        rest(news, pause, show ? now : NULL);
        }
}

/* *ret_shown: each step was printed, with its reason if it failed. */
static bool follow_run(Cli *cli, const char *run, bool show, gint64 deadline, bool *ret_shown, json_t **ret,
                       GError **error)
{
        g_autoptr(RunNews) news = run_news_new(cli);
        bool ok = wait(cli, news, run, show, deadline, ret, error);

        *ret_shown = show && run_news_has_steps(news);
        return ok;
}

bool run_follow(Cli *cli, const char *run, bool show, gint64 deadline, json_t **ret, GError **error)
{
        bool shown;

        return follow_run(cli, run, show, deadline, &shown, ret, error);
}

/* "step 'a' failed; step 'b' failed (see above)": without the reasons, which were printed with the steps. */
static char *without_reasons(const char *message)
{
        g_auto(GStrv) parts = g_strsplit(message, run_between_reasons, -1);
        g_autoptr(GString) text = g_string_new(NULL);
        bool shorter = false;

        for (char **part = parts; *part; part++) {
                char *failed = strstr(*part, "' failed: ");

                if (failed)
                        failed[strlen("' failed")] = '\0';
                shorter |= failed != NULL;
                g_string_append_printf(text, "%s%s", part == parts ? "" : run_between_reasons, *part);
        }
        return shorter ? g_strconcat(text->str, " (see above)", NULL) : g_strdup(message);
}

static void print_end(Cli *cli, const json_t *run, const char *reason)
{
        const char *state = text_of(run, "state");
        g_autofree char *painted = state_text(state, cli->terminal.out_colour);
        g_autofree char *time = run_took(run, "created_at", "finished_at"), *message = text_visible(reason),
                        *name = text_visible(text_of(run, "name"));

        printf("%s (%s): %s%s%s%s%s\n", name, text_of(run, "id"), painted, time ? " after " : "",
               time ? time : "", *message ? ": " : "", message);
        if (strcmp(state, "succeeded") != 0)
                cli->status = 1;
}

void run_print_end(Cli *cli, const json_t *run)
{
        print_end(cli, run, text_of(run, "message"));
}

/* ---- after a creation or a retry ---- */

bool run_post(Cli *cli, const char *path, const char *key, const json_t *body, json_t **ret, GError **error)
{
        g_autofree char *text = json_format(body);
        g_autofree char *header = key ? g_strconcat("Idempotency-Key: ", key, NULL) : NULL;
        const char *headers[] = { header, NULL };
        const HttpCall call = { .method = "POST",
                                .path = path,
                                .body = text,
                                .body_len = strlen(text),
                                .headers = header ? headers : NULL };
        g_auto(HttpReply) reply = { 0 };

        if (!http_call(cli->client, &call, &reply, error))
                return false;
        if (reply.status / 100 != 2)
                return http_reply_error(&reply, error);
        *ret = json_parse(reply.body->str, reply.body->len, error);
        return *ret != NULL;
}

/* Prepared before, because a signal handler may only write it. */
static struct {
        char text[512]; /* ids have 16 letters, the other words some 200 */
        gsize len;
} interrupt_note;

static void on_interrupt(int number)
{
        if (write(STDERR_FILENO, interrupt_note.text, interrupt_note.len) < 0)
                _exit(1);
        _exit(128 + number);
}

static void catch_interrupt(const char *id)
{
        struct sigaction action = { .sa_handler = on_interrupt };

        g_snprintf(
                interrupt_note.text, sizeof interrupt_note.text,
                "\npaddle: the run goes on without this command\n"
                "Watch it with `paddle run show --watch %s`, follow its logs with `paddle run logs -f %s`, "
                "stop it with `paddle run stop %s`.\n",
                id, id, id);
        interrupt_note.len = strlen(interrupt_note.text);
        sigaction(SIGINT, &action, NULL);
}

/* Of a retry: steps that it would keep if their files were there. */
static void print_lost(const json_t *run)
{
        const json_t *one;
        size_t i;

        json_array_foreach(json_object_get(run, "lost_outputs"), i, one) {
                g_autofree char *line = run_lost_line(one), *visible = text_visible(line);

                cli_print("%s", visible);
        }
        fflush(stdout);
}

bool run_begun(Cli *cli, const json_t *run, bool follow, GError **error)
{
        g_autoptr(json_t) ended = NULL;
        g_autofree char *reason = NULL;
        bool shown;

        printf("%s\n", text_of(run, "id"));
        fflush(stdout);
        if (!follow) {
                cli_say(cli, "`paddle run show %s` shows its steps", text_of(run, "id"));
                return true;
        }
        print_lost(run);
        catch_interrupt(text_of(run, "id"));
        if (!follow_run(cli, text_of(run, "id"), true, 0, &shown, &ended, error))
                return false;
        reason = shown ? without_reasons(text_of(ended, "message")) : g_strdup(text_of(ended, "message"));
        print_end(cli, ended, reason);
        return true;
}
