/* Sessions (see session.h). */
#include "cli/session.h"

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

enum { WINDOW = 256 << 10, PIECE = 32 << 10, KEY_PREFIX = 'P' - '@', KEY_LEAVE = 'Q' - '@' };

/* ---- messages of the server ---- */

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
        session->offset += len;
}

static void take_end(Session *session, const char *text, gsize len)
{
        g_autoptr(json_t) end = json_parse(text, len, NULL);
        const json_t *error = json_object_get(end, "error");

        session->ended = true;
        session->detached = json_is_true(json_object_get(end, "detached"));
        session->status = (int)json_integer_value(json_object_get(end, "exit_code"));
        if (error && !session->failed)
                err_set(&session->failed, err_from_word(text_of(error, "code")), "%s",
                        text_of(error, "message"));
}

static void take_place(Session *session, const char *text, gsize len)
{
        g_autoptr(json_t) place = json_parse(text, len, NULL);
        const json_t *offset = json_object_get(place, "offset");

        session->placed = json_is_integer(offset);
        session->offset = (guint64)json_integer_value(offset);
        if (session->placed && session->on_placed)
                session->on_placed(session->arg);
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
        case '7': take_place(session, text + 1, len - 1); break;
        default: break; /* of a newer server */
        }
}

/* ---- input ---- */

static void acknowledge(Session *session)
{
        g_autofree char *text =
                session->written ? g_strdup_printf("%" G_GSIZE_FORMAT, session->written) : NULL;

        if (text)
                send_text(session, '6', text);
        session->written = 0;
}

/* Removes the detach keys from typed input; returns the new length. A Ctrl-P waits for the next key. */
static gsize filter_keys(Session *session, const char *typed, gsize len, char *ret)
{
        gsize n = 0;

        for (gsize i = 0; i < len && !session->leaving; i++) {
                bool prefix = session->prefix;

                session->prefix = !prefix && typed[i] == KEY_PREFIX;
                session->leaving = prefix && typed[i] == KEY_LEAVE;
                if (session->prefix || session->leaving)
                        continue;
                if (prefix)
                        ret[n++] = KEY_PREFIX;
                ret[n++] = typed[i];
        }
        return n;
}

static void send_input(Session *session, const char *data, gsize len)
{
        g_autofree char *text = len ? g_base64_encode((const guchar *)data, len) : NULL;

        session->under_way += len;
        if (text)
                send_text(session, '0', text);
}

static void send_keys(Session *session, const char *typed, gsize len)
{
        char keys[PIECE + 1]; /* plus an earlier prefix */
        gsize n = filter_keys(session, typed, len, keys);

        send_input(session, keys, n);
        if (session->leaving) {
                session->input_open = false;
                send_text(session, '8', "");
        }
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
        if (session->detaches)
                send_keys(session, buffer, (gsize)got);
        else
                send_input(session, buffer, (gsize)got);
}

bool session_window(int *ret_columns, int *ret_rows)
{
        struct winsize size;

        if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
                return false;
        *ret_columns = size.ws_col;
        *ret_rows = size.ws_row;
        return true;
}

char *session_window_query(void)
{
        int columns, rows;

        return session_window(&columns, &rows) ? g_strdup_printf("columns=%d&rows=%d", columns, rows)
                                               : g_strdup("");
}

static void send_size(Session *session)
{
        struct signalfd_siginfo info;
        int columns, rows;

        if (read(session->signals, &info, sizeof info) != (ssize_t)sizeof info ||
            !session_window(&columns, &rows))
                return;
        g_autofree char *text = g_strdup_printf("{\"columns\":%d,\"rows\":%d}", columns, rows);
        send_text(session, '4', text);
}

bool session_talk(Session *session, GError **error)
{
        bool going = true;

        while (going && !session->ended && !session->failed) {
                bool reads = session->input_open && session->under_way + PIECE <= WINDOW;
                struct pollfd polled[] = {
                        { .fd = websocket_client_fd(session->socket),
                          .events = POLLIN | (websocket_client_wants_write(session->socket) ? POLLOUT : 0) },
                        { .fd = reads ? STDIN_FILENO : -1, .events = POLLIN },
                        { .fd = session->signals, .events = POLLIN },
                };

                if (poll(polled, G_N_ELEMENTS(polled), -1) < 0 && errno != EINTR)
                        return err_set_errno(error, errno, "cannot wait for the server");
                if (polled[1].revents)
                        read_input(session);
                if (polled[2].revents)
                        send_size(session);
                going = websocket_client_turn(session->socket, on_text, session, error);
                acknowledge(session);
        }
        if (!session->ended && !session->failed)
                return (error && *error) ? false
                                         : err_set(error, ERR_UNAVAILABLE,
                                                   "the server ended the connection before the command");
        g_clear_error(error); /* the command's own result is more important */
        if (!session->failed)
                return true;
        g_propagate_error(error, g_steal_pointer(&session->failed));
        return false;
}

/* ---- the terminal ---- */

static struct termios usual;
static volatile sig_atomic_t is_raw;

void session_make_usual(void)
{
        if (is_raw)
                (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &usual); /* nothing else can be done */
        is_raw = 0;
}

static void on_end(int number)
{
        session_make_usual();
        (void)raise(number); /* the default handler is set again */
}

static void guard(void)
{
        static const int ends[] = { SIGHUP, SIGTERM, SIGINT, SIGQUIT };
        struct sigaction action = { .sa_handler = on_end, .sa_flags = SA_RESETHAND };

        for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
                sigaction(ends[i], &action, NULL);
}

bool session_make_raw(void)
{
        struct termios raw;

        if (tcgetattr(STDIN_FILENO, &usual) < 0)
                return false;
        raw = usual;
        cfmakeraw(&raw);
        guard();
        is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
        return is_raw;
}

int session_listen_to_size(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGWINCH);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
