/* Following a run (see run-follow.h). The server is asked again and again, at growing intervals while nothing changes. */
#include "cli/run-follow.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "base/word.h"
#include "cli/listing.h"
#include "cli/paint.h"
#include "cli/retry.h"
#include "net/url.h"

enum {
        PAUSE_MS = 100,
        PAUSE_MAX_MS = 2000,
        NODES_MAX = 1000,  /* steps of a run with more nodes are not shown one by one, */
        COUNTS_MS = 10000, /* but how many are in which state, at most this often */
};

char *run_path(const char *run, const char *suffix)
{
        g_autofree char *escaped = url_escape(run);

        return g_strdup_printf("/v1/runs/%s%s", escaped, suffix);
}

const char *run_state_word(const json_t *run)
{
        const char *state = text_of(run, "state");

        return int_of(run, "paused") > 0 && strcmp(state, "running") == 0 ? "paused" : state;
}

char *run_lost_line(const json_t *lost)
{
        return g_strdup_printf("%s: its file %s is gone, so it runs again", text_of(lost, "step"),
                               text_of(lost, "path"));
}

bool run_is_final(const json_t *run)
{
        const char *state = text_of(run, "state");

        return strcmp(state, "running") != 0 && strcmp(state, "stopping") != 0;
}

/* "3.2 s"; NULL: it has not ended. */
static char *took(const json_t *item, const char *from, const char *to)
{
        gint64 begun = time_of(item, from), ended = time_of(item, to);

        return begun && ended ? duration_format(MAX(ended - begun, 0)) : NULL;
}

/* ---- steps as they go ---- */

typedef struct {
        Cli *cli;
        GHashTable *states; /* node -> its state, as it was printed */
        gint64 counts_due;  /* 0: no counts were printed */
        bool counts_held;   /* those that were seen last were not printed: it was too early */
        char *pauses;       /* as they were printed; or NULL */
        size_t missed;      /* so many breakpoints without a pause were printed */
} Steps;

static void print_step(const Steps *steps, const json_t *node)
{
        const char *state = text_of(node, "state"), *message = text_of(node, "message");
        g_autofree char *painted = state_text(state, steps->cli->terminal.out_colour);
        g_autofree char *time = took(node, "started_at", "finished_at"), *visible = text_visible(message);
        g_autofree char *path = text_visible(text_of(node, "path"));

        if (is_set(node, "run") && !json_is_true(json_object_get(node, "cached"))) {
                cli_print("%s: kept from run %s", path, text_of(node, "run"));
                return;
        }
        printf("%s: %s%s%s%s%s%s\n", path, painted, time ? " (" : "", time ? time : "", time ? ")" : "",
               *visible ? ": " : "", visible);
}

static void note_step(Steps *steps, const json_t *node)
{
        gpointer key = GINT_TO_POINTER((int)int_of(node, "node"));
        const char *state = text_of(node, "state"), *was = g_hash_table_lookup(steps->states, key);

        if (strcmp(text_of(node, "type"), "step") != 0 || g_strcmp0(state, was) == 0)
                return;
        g_hash_table_replace(steps->states, key, g_strdup(state));
        print_step(steps, node);
}

/* "train: 1040 succeeded, 20 running" */
static void print_counts(Steps *steps, const json_t *run)
{
        const json_t *counts = json_object_get(run, "nodes"), *count;
        g_autoptr(GString) text = g_string_new(NULL);
        const char *state;

        steps->counts_held = clock_monotonic_ms() < steps->counts_due && !run_is_final(run);
        if (steps->counts_held)
                return;
        if (!steps->counts_due)
                cli_say(steps->cli, "there are more than %d steps: how many are in which state follows",
                        NODES_MAX);
        steps->counts_due = clock_monotonic_ms() + COUNTS_MS;
        json_object_foreach((json_t *)counts, state, count)
                if (json_integer_value(count) > 0)
                        g_string_append_printf(text, "%s%" JSON_INTEGER_FORMAT " %s", text->len ? ", " : "",
                                               json_integer_value(count), state);
        cli_print("%s: %s", text_of(run, "name"), text->str);
}

static bool show_steps(Steps *steps, const char *nodes, const json_t *run, GError **error)
{
        g_autofree char *path = g_strdup_printf("%s?limit=%d", nodes, NODES_MAX);
        g_autoptr(json_t) reply = NULL;
        const json_t *item;
        size_t i;

        if (!http_call_json(steps->cli->client, "GET", path, NULL, &reply, error))
                return false;
        if (is_set(reply, "next"))
                print_counts(steps, run);
        else
                json_array_foreach(json_object_get(reply, "items"), i, item)
                        note_step(steps, item);
        fflush(stdout);
        return true;
}

/* ---- pauses ---- */

/* The server names the first hundred. Without `show` only the last line is printed. */
static void print_pauses(const Steps *steps, const json_t *run, bool show)
{
        const json_t *pauses = json_object_get(run, "pauses"), *pause;
        size_t i;

        json_array_foreach((json_t *)(show ? pauses : NULL), i, pause)
                cli_print("%s: paused %s it", text_of(pause, "step"), text_of(pause, "at"));
        fflush(stdout);
        if (json_array_size(pauses) > 0)
                cli_say(steps->cli,
                        "the run is paused: `paddle run continue %s` goes on, `paddle run step %s` with a single step",
                        text_of(run, "id"), text_of(run, "id"));
}

/* Breakpoints at which the run does not pause, once each. */
static void show_missed(Steps *steps, const json_t *run)
{
        json_t *missed = json_object_get(run, "missed_breakpoints"), *one;
        size_t i;

        json_array_foreach(missed, i, one)
                if (i >= steps->missed)
                        cli_print("%s: no pause %s it: %s", text_of(one, "step"), text_of(one, "at"),
                                  text_of(one, "reason"));
        steps->missed = json_array_size(missed);
        fflush(stdout);
}

/* When they have changed. */
static void show_pauses(Steps *steps, const json_t *run, bool show)
{
        g_autofree char *now = json_format(json_object_get(run, "pauses"));

        if (g_strcmp0(steps->pauses, now) == 0)
                return;
        g_free(steps->pauses);
        steps->pauses = g_steal_pointer(&now);
        print_pauses(steps, run, show);
}

/* ---- the run ---- */

/* True: something has changed since the last look. */
static bool take_news(char **known, const json_t *run)
{
        g_autofree char *now = json_format(json_object_get(run, "nodes"));

        if (g_strcmp0(*known, now) == 0)
                return false;
        g_free(*known);
        *known = g_steal_pointer(&now);
        return true;
}

/* One look. False with an error. */
static bool look(Steps *steps, const char *run, bool show, char **known, json_t **ret, bool *ret_news,
                 GError **error)
{
        g_autofree char *path = run_path(run, ""), *nodes = run_path(run, "/nodes");
        bool due;

        if (!http_call_json(steps->cli->client, "GET", path, NULL, ret, error))
                return false;
        *ret_news = take_news(known, *ret);
        due = *ret_news || (steps->counts_held && run_is_final(*ret));
        if (due && show && !show_steps(steps, nodes, *ret, error)) {
                g_clear_pointer(known, g_free); /* it is news when the server answers again */
                return false;
        }
        show_pauses(steps, *ret, show);
        if (show)
                show_missed(steps, *ret);
        return true;
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

static bool wait(Steps *steps, const char *word, bool show, gint64 deadline, json_t **ret, GError **error)
{
        g_autofree char *known = NULL, *run = g_strdup(word);
        gint64 pause = PAUSE_MS;
        Retry retry;

        retry_init(&retry, "`paddle run wait` continues to wait.");
        for (;;) {
                g_autoptr(json_t) now = NULL;
                GError *cause = NULL;
                bool news = false, ok = look(steps, run, show, &known, &now, &news, &cause);

                if (ok && retry_succeeded(&retry))
                        cli_say(steps->cli, "paddle: connected again");
                if (ok)
                        keep_id(&run, now);
                if (ok && run_is_final(now)) {
                        *ret = g_steal_pointer(&now);
                        return true;
                }
                if (!ok && !retry_after(&retry, steps->cli, cause, error))
                        return false;
                if (is_late(run, deadline, error))
                        return false;
                pause = news ? PAUSE_MS : MIN(pause * 3 / 2, PAUSE_MAX_MS);
                if (ok)
                        g_usleep((gulong)pause * 1000);
        }
}

bool run_follow(Cli *cli, const char *run, bool show, gint64 deadline, json_t **ret, GError **error)
{
        Steps steps = { .cli = cli, .states = g_hash_table_new_full(NULL, NULL, NULL, g_free) };
        bool ok = wait(&steps, run, show, deadline, ret, error);

        g_hash_table_unref(steps.states);
        g_free(steps.pauses);
        return ok;
}

void run_print_end(Cli *cli, const json_t *run)
{
        const char *state = text_of(run, "state");
        g_autofree char *painted = state_text(state, cli->terminal.out_colour);
        g_autofree char *time = took(run, "created_at", "finished_at"),
                        *message = text_visible(text_of(run, "message")),
                        *name = text_visible(text_of(run, "name"));

        printf("%s (%s): %s%s%s%s%s\n", name, text_of(run, "id"), painted, time ? " after " : "",
               time ? time : "", *message ? ": " : "", message);
        if (strcmp(state, "succeeded") != 0)
                cli->status = 1;
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

        printf("%s\n", text_of(run, "id"));
        fflush(stdout);
        if (!follow) {
                cli_say(cli, "`paddle run show %s` shows its steps", text_of(run, "id"));
                return true;
        }
        print_lost(run);
        catch_interrupt(text_of(run, "id"));
        if (!run_follow(cli, text_of(run, "id"), true, 0, &ended, error))
                return false;
        run_print_end(cli, ended);
        return true;
}
