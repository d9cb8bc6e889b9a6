/* paddle exec: a command beside a member of a running job (doc/rest.md, "A terminal into a job").
 *
 *     stdin ──▶ 0 ─┐           ┌─ 1 ──▶ stdout
 *     size  ──▶ 4 ─┤ WebSocket ├─ 2 ──▶ stderr       3 ──▶ the exit status
 *     end   ──▶ 5 ─┘           └─ 6: bytes of stdin that were taken
 *
 * Standard input is read while less than the window is under way, so that a fast writer waits for the
 * command; what was written out is acknowledged, so that a fast command waits for our reader. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "net/websocket-client.h"

enum { WINDOW = 256 << 10, PIECE = 32 << 10 };

typedef struct {
        Common common;
        char *member;
        bool interactive, tty;
} Exec;

static const Option options[] = {
        { "member", 'm', OPTION_STRING, offsetof(Exec, member), "NAME", NULL,
          "beside this one: trainer-0; without it, the first trainer or worker that runs", 0, 0, NULL },
        { "interactive", 'i', OPTION_BOOL, offsetof(Exec, interactive), NULL, NULL,
          "pass standard input on to the command", 0, 0, NULL },
        { "tty", 't', OPTION_BOOL, offsetof(Exec, tty), NULL, NULL, "give the command a terminal", 0, 0,
          NULL },
        COMMON_OPTIONS,
        { 0 },
};

typedef struct {
        WebSocketClient *socket;
        gsize under_way; /* of stdin */
        gsize written;   /* of output, not acknowledged */
        bool input_open;
        bool ended;
        int status;
        GError *failed;
} Session;

/* ---- the server's words ---- */

static void send_text(Session *session, char channel, const char *text)
{
        g_autofree char *message = g_strdup_printf("%c%s", channel, text);

        websocket_client_send(session->socket, message, strlen(message));
}

static void write_out(Session *session, int fd, const char *text)
{
        gsize len = 0;
        g_autofree guchar *data = g_base64_decode(text, &len);

        for (gsize at = 0; at < len;) {
                ssize_t done = write(fd, data + at, len - at);

                if (done < 0 && errno == EINTR)
                        continue;
                if (done < 0 && errno == EAGAIN) {
                        (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
                        continue;
                }
                if (done <= 0) {
                        if (!session->failed)
                                err_set_errno(&session->failed, errno, "cannot write the command's output");
                        return;
                }
                at += (gsize)done;
        }
        session->written += len;
}

static void take_end(Session *session, const char *text, gsize len)
{
        g_autoptr(json_t) end = json_parse(text, len, NULL);
        const json_t *error = json_object_get(end, "error");

        session->ended = true;
        session->status = (int)json_integer_value(json_object_get(end, "exit_code"));
        if (error && !session->failed)
                err_set(&session->failed, err_from_word(text_of(error, "code")), "%s",
                        text_of(error, "message"));
}

static void on_text(const char *text, gsize len, void *arg)
{
        Session *session = arg;
        gint64 n;

        switch (len ? *text : 0) {
        case '1': write_out(session, STDOUT_FILENO, text + 1); break;
        case '2': write_out(session, STDERR_FILENO, text + 1); break;
        case '3': take_end(session, text + 1, len - 1); break;
        case '6':
                if (number_parse("bytes", text + 1, 0, G_MAXINT, &n, NULL))
                        session->under_way -= MIN(session->under_way, (gsize)n);
                break;
        default: break; /* of a newer server */
        }
}

/* ---- ours ---- */

static void acknowledge(Session *session)
{
        g_autofree char *text =
                session->written ? g_strdup_printf("%" G_GSIZE_FORMAT, session->written) : NULL;

        if (text)
                send_text(session, '6', text);
        session->written = 0;
}

static void read_input(Session *session)
{
        char buffer[PIECE];
        ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (got <= 0) {
                session->input_open = false;
                send_text(session, '5', "");
                return;
        }
        g_autofree char *text = g_base64_encode((const guchar *)buffer, (gsize)got);
        session->under_way += (gsize)got;
        send_text(session, '0', text);
}

static bool window_size(int *ret_columns, int *ret_rows)
{
        struct winsize size;

        if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
                return false;
        *ret_columns = size.ws_col;
        *ret_rows = size.ws_row;
        return true;
}

static void send_size(Session *session, int signals)
{
        struct signalfd_siginfo info;
        int columns, rows;

        if (read(signals, &info, sizeof info) != (ssize_t)sizeof info || !window_size(&columns, &rows))
                return;
        g_autofree char *text = g_strdup_printf("{\"columns\":%d,\"rows\":%d}", columns, rows);
        send_text(session, '4', text);
}

static bool talk(Session *session, int signals, GError **error)
{
        bool going = true;

        while (going && !session->ended && !session->failed) {
                bool reads = session->input_open && session->under_way + PIECE <= WINDOW;
                struct pollfd polled[] = {
                        { .fd = websocket_client_fd(session->socket),
                          .events = POLLIN | (websocket_client_wants_write(session->socket) ? POLLOUT : 0) },
                        { .fd = reads ? STDIN_FILENO : -1, .events = POLLIN },
                        { .fd = signals, .events = POLLIN },
                };

                if (poll(polled, G_N_ELEMENTS(polled), -1) < 0 && errno != EINTR)
                        return err_set_errno(error, errno, "cannot wait for the server");
                if (polled[1].revents)
                        read_input(session);
                if (polled[2].revents)
                        send_size(session, signals);
                going = websocket_client_turn(session->socket, on_text, session, error);
                acknowledge(session);
        }
        if (!session->ended && !session->failed)
                return (error && *error) ? false
                                         : err_set(error, ERR_UNAVAILABLE,
                                                   "the server ended the connection before the command");
        g_clear_error(error); /* what the command said last counts */
        if (!session->failed)
                return true;
        g_propagate_error(error, g_steal_pointer(&session->failed));
        return false;
}

/* ---- the terminal ---- */

static bool make_raw(struct termios *ret_before)
{
        struct termios raw;

        if (tcgetattr(STDIN_FILENO, ret_before) < 0)
                return false;
        raw = *ret_before;
        cfmakeraw(&raw);
        return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

static int listen_to_size(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGWINCH);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- which member ---- */

static bool is_up(const json_t *member)
{
        static const char *const up[] = { "running", "ready" };

        for (gsize i = 0; i < G_N_ELEMENTS(up); i++)
                if (strcmp(text_of(member, "state"), up[i]) == 0)
                        return true;
        return false;
}

static bool choose_member(Cli *cli, const char *job, char **ret, GError **error)
{
        g_autofree char *path = job_path(job, "/members");
        g_autoptr(json_t) reply = NULL;
        const json_t *member, *found = NULL;
        gsize i;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        json_array_foreach(json_object_get(reply, "items"), i, member)
        {
                const char *role = text_of(member, "role");
                bool works = strcmp(role, "trainer") == 0 || strcmp(role, "worker") == 0;

                if (is_up(member) && (!found || (works && strcmp(text_of(found, "role"), "trainer") != 0 &&
                                                 strcmp(text_of(found, "role"), "worker") != 0)))
                        found = member;
        }
        if (!found)
                return err_set(error, ERR_CONFLICT, "no member of job '%s' runs\nSee `paddle status %s`.",
                               job, job);
        *ret = g_strdup(text_of(found, "name"));
        return true;
}

static char *exec_path(const Exec *exec, const char *job, const char *member, char *const *words)
{
        g_autofree char *name = url_escape(member);
        g_autofree char *tail = g_strdup_printf("/members/%s/exec", name);
        g_autofree char *base = job_path(job, tail);
        GString *path = g_string_new(base);
        int columns, rows;

        g_string_append_printf(path, "?tty=%s", exec->tty ? "true" : "false");
        if (exec->tty && window_size(&columns, &rows))
                g_string_append_printf(path, "&columns=%d&rows=%d", columns, rows);
        for (; *words; words++) {
                g_autofree char *word = url_escape(*words);

                g_string_append_printf(path, "&command=%s", word);
        }
        return g_string_free(path, FALSE);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Exec *exec = target;
        g_autofree char *member = g_strdup(exec->member), *path = NULL;
        g_autoptr(WebSocketClient) socket = NULL;
        struct termios before;
        Session session = { .input_open = exec->interactive };
        bool raw, ok;
        int signals;

        if (!cli_client(cli, error) || (!member && !choose_member(cli, words[0], &member, error)))
                return false;
        path = exec_path(exec, words[0], member, words + 1);
        socket = websocket_client_open(cli->client, path, error);
        if (!socket)
                return false;
        session.socket = socket;
        signals = exec->tty ? listen_to_size() : -1;
        raw = exec->tty && exec->interactive && make_raw(&before);
        if (!exec->interactive)
                send_text(&session, '5', "");
        ok = talk(&session, signals, error);
        if (raw)
                (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before); /* there is no other way back */
        if (signals >= 0)
                close(signals);
        cli->status = session.status;
        return ok;
}

const Verb verb_exec = {
        .name = "exec",
        .args = "JOB -- COMMAND...",
        .summary = "Run a command beside a member of a running job",
        .about = "The command runs where the member runs: on its machine or in its pod, as its user, in its "
                 "directory, with its environment, and what it uses counts as the member's. The exit status "
                 "is "
                 "the command's, 128 + N when signal N ended it. When the connection ends, the command is "
                 "hung up.",
        .examples = "paddle exec digits -- nvidia-smi\n"
                    "paddle exec -it --member trainer-1 digits -- bash\ta shell beside trainer-1\n"
                    "tar c data | paddle exec -i digits -- tar x -C /tmp",
        .options = options,
        .size = sizeof(Exec),
        .min_words = 2,
        .max_words = -1,
        .words = WORDS_JOB,
        .run = run,
};
