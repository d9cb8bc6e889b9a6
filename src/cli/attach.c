/* Attaching (see attach.h).
 *
 *   CONNECT ──▶ TALK ──▶ the program has ended, or the user has detached
 *      ▲          └─▶ lost ──▶ has the job ended? ──▶ its end
 *      └──── pause ◀─────────────────┘ */
#include "cli/attach.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/member.h"
#include "cli/retry.h"
#include "cli/session.h"
#include "cli/summary.h"

enum { SIGNALLED = 128 };

typedef struct {
        Cli *cli;
        const char *id, *name;
        char *member;
        Session session;
        bool shown; /* some of its output was shown */
        Retry retry;
} Attached;

bool attach_check_terminal(const char *verb, const char *instead, GError **error)
{
        if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
                return true;
        return err_set(error, ERR_USAGE, "`paddle %s` needs a terminal: its standard %s is no terminal\n%s",
                       verb, isatty(STDIN_FILENO) ? "output" : "input", instead);
}

static char *attach_path(const Attached *attached)
{
        g_autofree char *member = url_escape(attached->member), *window = session_window_query();
        g_autofree char *tail = g_strdup_printf("/members/%s/attach?%s", member, window);
        GString *path = g_string_new(NULL);
        g_autofree char *base = job_path(attached->id, tail);

        g_string_append(path, base);
        if (attached->session.placed)
                g_string_append_printf(path, "%soffset=%" G_GUINT64_FORMAT, *window ? "&" : "",
                                       attached->session.offset);
        return g_string_free(path, FALSE);
}

/* Not earlier: the server opens the connection before it checks the job's terminal. */
static void on_placed(void *arg)
{
        Attached *attached = arg;

        if (retry_succeeded(&attached->retry))
                cli_say(attached->cli, "paddle: connected again\r"); /* our terminal is raw */
}

/* One connection; false with an error if it was lost. */
static bool talk_once(Attached *attached, GError **error)
{
        Session *session = &attached->session;
        g_autofree char *path = NULL;
        g_autoptr(WebSocketClient) socket = NULL;
        bool ok;

        if (!attached->member &&
            !member_choose(attached->cli, attached->id, attached->name, &attached->member, error))
                return false;
        path = attach_path(attached);
        socket = websocket_client_open(attached->cli->client, path, error);
        if (!socket)
                return false;
        *session = (Session){ .socket = socket,
                              .input_open = true,
                              .detaches = true,
                              .signals = session->signals,
                              .on_placed = on_placed,
                              .arg = attached,
                              .placed = session->placed,
                              .offset = session->offset };
        (void)session_make_raw();
        ok = session_talk(session, error);
        session_make_usual();
        attached->shown |= session->placed;
        g_clear_error(&session->failed);
        return ok;
}

/* The job's present state; NULL: the server is unreachable. */
static json_t *look(const Attached *attached)
{
        g_autofree char *path = job_path(attached->id, "");
        json_t *job = NULL;

        (void)http_call_json(attached->cli->client, "GET", path, NULL, &job, NULL);
        return job;
}

/* The job ended during the disconnection. */
static bool tell_end(Attached *attached, const json_t *job, GError **error)
{
        const json_t *member = json_array_get(json_object_get(job, "members"), 0);
        const char *reason = text_of(job, "reason");
        FollowOptions log = { .job = attached->id, .tail = -1 };

        if (!attached->shown && member && !follow_job(attached->cli, &log, NULL, error))
                return false;
        attached->cli->status = is_set(member, "exit_code") ? (int)int_of(member, "exit_code")
                                : is_set(member, "signal")  ? SIGNALLED + (int)int_of(member, "signal")
                                                            : !job_succeeded(job);
        cli_say(attached->cli, "job '%s' %s%s%s", attached->name, text_of(job, "state"), *reason ? ": " : "",
                reason);
        return true;
}

/* True: connect again. */
static bool goes_on(Attached *attached, GError *cause, bool *ret_ended, GError **error)
{
        bool away = retry_is_worth(cause) || cause->code == ERR_UNAVAILABLE;
        bool mute = cause->code == ERR_CONFLICT || cause->code == ERR_FAILED;
        g_autoptr(json_t) job = look(attached);

        if (job && job_is_final(job)) {
                g_error_free(cause);
                *ret_ended = true;
                return tell_end(attached, job, error);
        }
        /* A server that has just started does not know the running jobs yet. A member that has just ended is
         * still shown as running. */
        if (!away && !(attached->shown && mute)) {
                g_propagate_error(error, cause);
                return false;
        }
        if (mute) {
                g_error_free(cause);
                cause = NULL;
                err_set(&cause, ERR_UNAVAILABLE, "the job's member does not answer yet");
        }
        return retry_after(&attached->retry, attached->cli, cause, error);
}

bool attach_run(Cli *cli, const char *id, const char *name, GError **error)
{
        Attached attached = { .cli = cli, .id = id, .name = name };
        bool ok = true, ended = false;

        cli_say(cli, "Ctrl-P Ctrl-Q detaches and job '%s' keeps running; `paddle attach %s` reconnects.",
                name, name);
        attached.session.signals = session_listen_to_size();
        retry_init(&attached.retry, "`paddle attach` connects again.");
        while (ok && !ended) {
                GError *cause = NULL;

                if (talk_once(&attached, &cause)) {
                        cli->status = attached.session.detached ? 0 : attached.session.status;
                        if (attached.session.detached)
                                cli_say(cli,
                                        "\ndetached from '%s', which keeps running\n`paddle attach %s` "
                                        "reconnects, `paddle cancel %s` ends it.",
                                        attached.name, attached.name, attached.name);
                        break;
                }
                ok = goes_on(&attached, cause, &ended, error);
        }
        if (attached.session.signals >= 0)
                close(attached.session.signals);
        g_free(attached.member);
        return ok;
}
