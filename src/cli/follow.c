/* Following jobs (see follow.h).
 *
 *   GET .../logs ──▶ events ──▶ state: the status line      (stderr; in place on a terminal)
 *        ▲             │        log:     prefixed lines     (stdout)
 *        └── cursor ◀──┘        partial: incomplete lines, at the bottom of a terminal (live-lines.h)
 *                               end:     done
 *
 * If the stream ends without `end`, the server stopped or closed an old connection; it is reopened with the
 * last cursor. A stream without output continues (missing heartbeats of the server end it); a server that is
 * unreachable for 60 s is an error. */
#include "cli/follow.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "cli/hint.h"
#include "cli/listing.h"
#include "cli/retry.h"
#include "cli/summary.h"
#include "cli/table.h"
#include "net/url.h"

/* The cursor of a stream that has sent nothing: before the first attempt (doc/guide/rest.md). */
static const char before_all[] = "0.environment:0";

typedef struct {
        Cli *cli;
        const FollowOptions *options;
        char *id;
        char *cursor;
        LogPrefixer *prefixer;
        LiveLines *live; /* NULL: not on a terminal */
        GString *out;
        gint64 attempt;       /* of the last printed line; 0: none */
        char *stage, *reason; /* as last shown */
        gint64 begin;         /* monotonic ms: start of following */
        bool status_open;     /* the terminal's last line is the status */
        bool ended;
        GError *failed; /* the error of an event in the stream */
        Retry retry;
} Follower;

static void follower_clear(Follower *f)
{
        g_free(f->id);
        g_free(f->cursor);
        if (!f->options->shared) {
                g_clear_pointer(&f->prefixer, log_prefixer_free);
                g_clear_pointer(&f->live, live_lines_free);
        }
        if (f->out)
                g_string_free(f->out, TRUE);
        g_free(f->stage);
        g_free(f->reason);
        g_clear_error(&f->failed);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Follower, follower_clear)

/* ---- words ---- */

static void close_status(Follower *f)
{
        if (f->status_open)
                fputc('\n', stderr);
        f->status_open = false;
}

/* The displayed stage: preparing the environment is its own stage once it has started. */
static const char *stage_of(const char *state, const char *environment)
{
        if (strcmp(environment, "building") == 0 && strcmp(state, "queued") == 0)
                return "environment";
        if (strcmp(state, "submitted") == 0)
                return "queued";
        return strcmp(state, "admitted") == 0 ? "starting" : state;
}

static void print_status(Follower *f, const char *stage, const char *reason)
{
        const Terminal *terminal = &f->cli->terminal;
        g_autofree char *time = duration_format(clock_monotonic_ms() - f->begin);
        g_autofree char *line = g_strdup_printf("%8s  %-11s  %s", time, stage, reason);
        g_autofree char *visible = text_visible(line);
        g_autofree char *cut = terminal->err_is_terminal
                                       ? hint_cut(visible, terminal->width - 1, terminal->utf8)
                                       : g_strdup(visible);

        g_strchomp(cut);
        if (terminal->err_is_terminal) {
                fprintf(stderr, "\r%s\033[K", cut);
                f->status_open = true;
        } else {
                fprintf(stderr, "%s\n", cut);
        }
}

static bool is_pending(const char *stage)
{
        static const char *const words[] = { "queued", "environment", "suspended", "starting", NULL };

        return g_strv_contains(words, stage);
}

static void flush_out(Follower *f)
{
        if (f->out->len == 0)
                return;
        fwrite(f->out->str, 1, f->out->len, stdout);
        fflush(stdout);
        g_string_truncate(f->out, 0);
}

/* Followers of several jobs share stdout and stderr. */
static void lock_text(Follower *f)
{
        if (f->options->shared)
                g_mutex_lock(&f->options->shared->lock);
}

static void unlock_text(Follower *f)
{
        if (f->options->shared)
                g_mutex_unlock(&f->options->shared->lock);
}

/* Ended by end_output(). */
static void begin_output(Follower *f)
{
        lock_text(f);
        close_status(f);
        if (f->live)
                live_lines_erase(f->live, f->out);
}

static void draw_live(Follower *f)
{
        struct winsize size = { 0 }; /* the terminal's size may have changed */

        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        live_lines_draw(f->live, size.ws_col ? size.ws_col : 80, size.ws_row ? size.ws_row : 24, f->prefixer,
                        f->out);
}

static void end_output(Follower *f)
{
        if (f->live && !log_prefixer_is_open(f->prefixer))
                draw_live(f);
        flush_out(f);
        unlock_text(f);
}

/* Prepares printing on stderr; incomplete lines come back with the next output. */
static void begin_words(Follower *f)
{
        lock_text(f);
        if (f->live)
                live_lines_erase(f->live, f->out);
        log_prefixer_break(f->prefixer, f->out);
        flush_out(f);
        unlock_text(f);
}

static void on_state(Follower *f, const json_t *data)
{
        const char *stage = stage_of(text_of(data, "state"), text_of(data, "environment"));
        const char *reason = text_of(data, "reason");
        bool same_stage = g_strcmp0(stage, f->stage) == 0;

        if (f->options->shared)
                return;
        if (same_stage && (!*reason || g_strcmp0(reason, f->reason) == 0))
                return; /* the same stage without a reason is not news */
        if (f->options->stages || (is_pending(stage) && (*reason || !same_stage))) {
                begin_words(f);
                if (!same_stage)
                        close_status(f);
                print_status(f, stage, reason);
        } else if (f->status_open) {
                close_status(f);
        }
        if (f->options->until_running && strcmp(stage, "running") == 0)
                f->ended = true;
        g_free(f->stage);
        g_free(f->reason);
        f->stage = g_strdup(stage);
        f->reason = g_strdup(reason);
}

/* A single selected member needs no name prefix. */
static bool is_single(const FollowOptions *options)
{
        return options->members && !strchr(options->members, ',');
}

/* "trainer-0", "sw[3] trainer-0"; the caller's. */
static char *name_of(const Follower *f, const json_t *data)
{
        const char *member = is_single(f->options) ? "" : text_of(data, "member");
        const char *element = f->options->element;

        return element ? g_strdup_printf("%s%s%s", element, *member ? " " : "", member) : g_strdup(member);
}

/* Announces lines of another attempt. */
static void print_attempt(Follower *f, gint64 attempt)
{
        if (attempt > 0 && f->attempt > 0 && attempt != f->attempt && !f->options->shared) {
                log_prefixer_break(f->prefixer, f->out);
                g_string_append_printf(f->out, "-- attempt %" G_GINT64_FORMAT " --\n", attempt);
        }
        f->attempt = attempt > 0 ? attempt : f->attempt;
}

/* Terminals show local times like tables do; files and pipes get the server's. */
static void put_stamp(Follower *f, const char *time)
{
        g_autofree char *local = f->cli->terminal.out_is_terminal ? local_stamp(time) : NULL;

        log_prefixer_stamp(f->prefixer, local ? local : time);
}

static void on_log(Follower *f, const json_t *data)
{
        g_autofree char *name = name_of(f, data);

        begin_output(f);
        if (f->live)
                live_lines_drop(f->live, name);
        print_attempt(f, int_of(data, "attempt"));
        if (f->options->timestamps)
                put_stamp(f, text_of(data, "time"));
        if (f->options->heard)
                *f->options->heard = true;
        log_prefixer_add(f->prefixer, name, text_of(data, "text"), f->out);
        end_output(f);
}

static void on_partial(Follower *f, const json_t *data)
{
        g_autofree char *name = name_of(f, data);

        if (!f->live)
                return;
        begin_output(f);
        log_prefixer_break(f->prefixer, f->out);
        live_lines_set(f->live, name, text_of(data, "text"));
        end_output(f);
}

static void on_end(Follower *f, const json_t *data)
{
        f->ended = true;
}

static void on_error(Follower *f, const json_t *data)
{
        const char *hint = text_of(data, "hint");

        g_clear_error(&f->failed);
        err_set(&f->failed, err_from_word(text_of(data, "code")), "%s%s%s", text_of(data, "message"),
                *hint ? "\n" : "", hint);
}

static bool on_event(const char *id, const char *event, const char *data, void *arg)
{
        static const struct {
                const char *name;
                void (*take)(Follower *f, const json_t *data);
        } rows[] = { { "log", on_log },
                     { "partial", on_partial },
                     { "state", on_state },
                     { "end", on_end },
                     { "error", on_error } };
        Follower *f = arg;
        g_autoptr(json_t) value = json_parse(data, strlen(data), NULL);

        if (retry_succeeded(&f->retry)) {
                close_status(f);
                cli_say(f->cli, "paddle: connected again");
        }
        for (gsize i = 0; value && event && i < G_N_ELEMENTS(rows); i++)
                if (strcmp(event, rows[i].name) == 0)
                        rows[i].take(f, value);
        if (id && *id) {
                g_free(f->cursor);
                f->cursor = g_strdup(id);
        }
        return !f->ended && !f->failed;
}

/* ---- the stream ---- */

static char *stream_path(const Follower *f)
{
        g_autofree char *base = job_path(f->id, "/logs");
        g_autoptr(GString) path = g_string_new(base);
        const FollowOptions *options = f->options;
        g_autofree char *tail = g_strdup_printf("%" G_GINT64_FORMAT, options->tail);
        g_autofree char *attempt = g_strdup_printf("%" G_GINT64_FORMAT, options->attempt);

        if (!options->follow)
                url_add_query(path, "follow", "false");
        if (options->members)
                url_add_query(path, "member", options->members);
        if (options->attempt > 0)
                url_add_query(path, "attempt", attempt);
        if (options->raw)
                url_add_query(path, "raw", "true");
        if (options->timestamps)
                url_add_query(path, "timestamps", "true");
        if (f->live)
                url_add_query(path, "partial", "true");
        if (options->terminal)
                url_add_query(path, "terminal", "true");
        if (f->cursor)
                url_add_query(path, "cursor", f->cursor);
        else if (options->tail >= 0)
                url_add_query(path, "tail", tail);
        if (options->since && (!f->cursor || strcmp(f->cursor, before_all) == 0))
                url_add_query(path, "since", options->since);
        return g_string_free(g_steal_pointer(&path), FALSE);
}

/* One connection. True: reconnect. */
static bool stream_once(Follower *f, GError **error)
{
        g_autofree char *path = stream_path(f);
        g_autoptr(GError) cause = NULL;
        bool ok = http_client_events(f->cli->client, path, on_event, f, &cause);

        if (f->failed && retry_is_worth(f->failed)) /* the server is shutting down */
                g_propagate_error(&cause, g_steal_pointer(&f->failed));
        if (f->failed) {
                g_propagate_error(error, g_steal_pointer(&f->failed));
                return false;
        }
        if (f->ended)
                return false;
        begin_words(f);
        if (f->live && !f->options->shared)
                live_lines_clear(f->live);
        if (!ok || cause)
                close_status(f);
        return retry_after(&f->retry, f->cli, g_steal_pointer(&cause), error);
}

int follow_member_width(const json_t *job)
{
        const json_t *roles = json_object_get(job, "roles");
        int width = 0;
        gsize i;
        json_t *role;

        json_array_foreach(roles, i, role) {
                gint64 replicas = int_of(role, "replicas");
                g_autofree char *last =
                        g_strdup_printf("%s-%" G_GINT64_FORMAT, text_of(role, "name"), MAX(replicas - 1, 0));

                width = replicas > 0 ? MAX(width, text_columns(last)) : width;
        }
        return MIN(width, 40); /* a longer name would leave too little space for text */
}

LogPrefixer *follow_prefixer(const Cli *cli, const FollowOptions *options, int width)
{
        LogPrefixer *prefixer = log_prefixer_new(width, cli->terminal.out_colour);

        if (cli->terminal.out_is_terminal && !options->raw)
                log_prefixer_tame(prefixer);
        if (options->raw)
                log_prefixer_raw(prefixer);
        return prefixer;
}

LiveLines *follow_live(const Cli *cli, const FollowOptions *options)
{
        return cli->terminal.out_is_terminal && !options->raw && options->follow ? live_lines_new() : NULL;
}

bool follow_job(Cli *cli, const FollowOptions *options, json_t **ret_job, GError **error)
{
        HttpClient *client = cli_client(cli, error);
        g_autofree char *path = job_path(options->job, "");
        g_autoptr(json_t) job = NULL;
        g_auto(Follower) f = { .cli = cli, .options = options, .begin = clock_monotonic_ms() };
        g_autoptr(GError) cause = NULL;

        if (!client || !http_call_json(client, "GET", path, NULL, &job, error))
                return false;
        f.id = g_strdup(text_of(job, "id"));
        f.cursor = g_strdup(options->whole ? before_all : NULL);
        f.out = g_string_new(NULL);
        f.prefixer = options->shared ? options->shared->prefixer
                                     : follow_prefixer(cli, options, follow_member_width(job));
        f.live = options->shared ? options->shared->live : follow_live(cli, options);
        retry_join(&f.retry, "`paddle logs -f` shows the log again from its beginning.",
                   options->shared ? &options->shared->voice : NULL);
        while (stream_once(&f, &cause))
                continue;
        begin_words(&f);
        close_status(&f);
        if (cause) {
                g_propagate_error(error, g_steal_pointer(&cause));
                return false;
        }
        return !ret_job || wait_for_job(cli, f.id, ret_job, error);
}

/* ---- to the end of a job ---- */

/* Prepared before, because a signal handler may only write it. */
static struct {
        char text[512]; /* names have at most 63 letters, the other words some 150 */
        gsize len;
} interrupt_note;

static void on_interrupt(int number)
{
        if (write(STDERR_FILENO, interrupt_note.text, interrupt_note.len) < 0)
                _exit(1);
        _exit(128 + number);
}

void follow_catch_interrupt(const char *name)
{
        struct sigaction action = { .sa_handler = on_interrupt };

        g_snprintf(interrupt_note.text, sizeof interrupt_note.text,
                   "\npaddle: the job keeps running without this command\n"
                   "Follow it again with `paddle logs -f %s`, stop it with `paddle cancel %s`.\n",
                   name, name);
        interrupt_note.len = strlen(interrupt_note.text);
        sigaction(SIGINT, &action, NULL);
}

bool wait_for_job(Cli *cli, const char *job, json_t **ret, GError **error)
{
        return wait_for_job_until(cli, job, 0, ret, error);
}

static bool is_late(const json_t *job, gint64 deadline, GError **error)
{
        const char *name = text_of(job, "name");

        if (deadline == 0 || clock_monotonic_ms() < deadline)
                return false;
        err_set(error, ERR_TIMEOUT, "job '%s' is still %s\nIt continues; `paddle wait %s` waits again.", name,
                text_of(job, "state"), name);
        return true;
}

bool wait_for_job_until(Cli *cli, const char *job, gint64 deadline, json_t **ret, GError **error)
{
        enum { WAIT_MS = 30000 };
        g_autofree char *path = job_path(job, "");
        g_autofree char *id = NULL;
        Retry retry;

        retry_init(&retry, "`paddle wait` continues to wait.");
        for (;;) {
                g_autoptr(json_t) now = NULL;
                GError *cause = NULL;
                bool ok = http_call_json(cli->client, "GET", path, NULL, &now, &cause);

                if (ok && retry_succeeded(&retry))
                        cli_say(cli, "paddle: connected again");
                if (ok && job_is_final(now)) {
                        *ret = g_steal_pointer(&now);
                        return true;
                }
                if (!ok && !retry_after(&retry, cli, cause, error))
                        return false;
                if (!ok)
                        continue;
                if (is_late(now, deadline, error))
                        return false;
                g_free(id);
                id = job_path(text_of(now, "id"), "");
                g_free(path);
                path = g_strdup_printf("%s?wait_ms=%d&ended=true&revision=%" G_GINT64_FORMAT, id,
                                       deadline ? (int)CLAMP(deadline - clock_monotonic_ms(), 1, WAIT_MS)
                                                : WAIT_MS,
                                       int_of(now, "revision"));
        }
}

static void print_summary(const Cli *cli, const json_t *job)
{
        bool colour = cli->terminal.err_colour;
        g_autofree char *line = summary_line(job, colour);
        g_autofree char *times = summary_stages(job, &cli->terminal, colour);

        cli_say(cli, "\n%s\n\n%s", line, times);
        if (json_array_size(json_object_get(job, "members")) > 0)
                summary_members(json_object_get(job, "members"), 2, stderr);
}

bool follow_to_end(Cli *cli, const char *id, const char *name, GError **error)
{
        FollowOptions options = { .job = id, .tail = -1, .whole = true, .follow = true, .stages = true };
        g_autoptr(json_t) job = NULL;

        follow_catch_interrupt(name);
        if (!follow_job(cli, &options, &job, error))
                return false;
        print_summary(cli, job);
        cli->status = job_succeeded(job) ? 0 : 1;
        return true;
}
