/* A command beside a member, its own terminal, or a connection to one of its ports, over a WebSocket
 * (doc/guide/rest.md, "A terminal into a job"). A message begins with the digit of its channel:
 *
 *     0 input    1 output    2 errors      the rest is base64
 *     3 the end {"exit_code"} or {"error"}  4 the terminal's size {"columns","rows"}
 *     5 the input has ended                 6 so many bytes were taken (both ways)
 *     7 of a terminal: {"offset"} of what follows; of a port: the output has ended
 *     8 the terminal is left: the program goes on without it
 *
 * Neither side has more than WINDOW bytes under way that the other has not said it took: a client that sends
 * more is sent away, and the command waits for a client that does not read.
 *
 * A session has three references: the socket's, until it is closed, the command's, until it is done, and the
 * request's. */
#include <string.h>

#include "api/v1/internal.h"
#include "api/v1/terminal-frames.h"
#include "base/err.h"
#include "base/number.h"
#include "net/websocket.h"

enum {
        WINDOW = 256 << 10,
        PIECE = 32 << 10,
        WORDS_MAX = 1000,
        CELLS_MAX = 65535,
        NAMES_SHOWN = 10,
        WHY_MAX = 500, /* bytes of what a relay says went wrong */
};

typedef enum {
        CHANNEL_INPUT = '0',
        CHANNEL_OUTPUT,
        CHANNEL_ERRORS,
        CHANNEL_END,
        CHANNEL_SIZE,
        CHANNEL_INPUT_END,
        CHANNEL_TAKEN,
        CHANNEL_NOTE,
        CHANNEL_DETACH,
} Channel;

typedef struct {
        gatomicrefcount refs;
        WebSocket *socket;
        ExecKind kind;
        TerminalFrames frames; /* only on the driver's thread, like the next three */
        GString *why;          /* a relay's errors */
        int end_status;        /* of the program in the terminal; -1: not told */
        bool full;             /* the terminal takes no further client */
        bool broken;           /* what came is not of a terminal */
        GMutex mutex;          /* guards what follows */
        GCond ready;
        bool started; /* socket and exec are what they will be */
        RuntimeExec *exec;
        gsize given, sent; /* bytes of input and of output that were not said to be taken */
        gsize wrapped;     /* bytes around the input: heads of frames, on the way */
        bool held, over, detached;
} Session;

static void session_unref(Session *session)
{
        if (!g_atomic_ref_count_dec(&session->refs))
                return;
        websocket_unref(session->socket);
        exec_unref(session->exec);
        g_string_free(session->why, TRUE);
        g_mutex_clear(&session->mutex);
        g_cond_clear(&session->ready);
        g_free(session);
}

/* ---- to the client ---- */

static void send_text(const Session *session, Channel channel, const char *text)
{
        g_autofree char *message = g_strdup_printf("%c%s", channel, text);

        (void)websocket_send_text(session->socket, message, strlen(message)); /* on_closed tells */
}

static void send_bytes(const Session *session, Channel channel, const char *data, gsize len)
{
        for (gsize at = 0; at < len; at += PIECE) {
                g_autofree char *text = g_base64_encode((const guchar *)data + at, MIN(len - at, PIECE));

                send_text(session, channel, text);
        }
}

/* ---- what the command says ---- */

static void pass_output(Session *session, int fd, const char *data, gsize len)
{
        g_mutex_lock(&session->mutex);
        session->sent += len;
        if (session->sent > WINDOW && !session->held && session->exec) {
                session->held = true;
                exec_hold(session->exec, true);
        }
        g_mutex_unlock(&session->mutex);
        send_bytes(session, fd == 2 ? CHANNEL_ERRORS : CHANNEL_OUTPUT, data, len);
}

static void take_frame(TerminalFrame type, const char *text, gsize len, guint64 number, void *arg)
{
        Session *session = arg;
        g_autofree char *note = NULL;

        switch (type) {
        case TERMINAL_OUTPUT: pass_output(session, 1, text, len); return;
        case TERMINAL_END: session->end_status = (int)MIN(number, G_MAXUINT8); return;
        case TERMINAL_FULL: session->full = true; return;
        default:
                note = g_strdup_printf("{\"offset\":%" G_GUINT64_FORMAT "}", number);
                send_text(session, CHANNEL_NOTE, note);
        }
}

static void take_terminal(Session *session, const char *data, gsize len)
{
        if (session->broken || terminal_frames_feed(&session->frames, data, len))
                return;
        session->broken = true; /* by a process of the user's own */
        exec_cancel(session->exec);
}

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Session *session = arg;

        if (session->kind != EXEC_COMMAND && fd == 2)
                g_string_append_len(session->why, data,
                                    (gssize)MIN(len, WHY_MAX - MIN(session->why->len, WHY_MAX)));
        else if (session->kind == EXEC_TERMINAL)
                take_terminal(session, data, len);
        else if (session->kind == EXEC_PORT && len == 0)
                send_text(session, CHANNEL_NOTE, "");
        else
                pass_output(session, fd, data, len);
}

/* The client is told only of its own bytes, not of the framing around them. */
static void on_taken(gsize len, void *arg)
{
        Session *session = arg;
        gsize around;

        g_mutex_lock(&session->mutex);
        around = MIN(session->wrapped, len);
        session->wrapped -= around;
        session->given -= MIN(session->given, len - around);
        g_mutex_unlock(&session->mutex);
        if (len > around) {
                g_autofree char *text = g_strdup_printf("%" G_GSIZE_FORMAT, len - around);

                send_text(session, CHANNEL_TAKEN, text);
        }
}

/* The end of a terminal that was left, or of a connection: there is no exit status. */
static bool relay_end(const Session *session, int status, json_t **ret, GError **error)
{
        g_autofree char *why = g_utf8_make_valid(session->why->str, (gssize)session->why->len);
        bool terminal = session->kind == EXEC_TERMINAL;

        g_strchomp(why);
        if (session->full)
                return err_set(error, ERR_CONFLICT,
                               "%d terminals are connected with the job already, and no more can be\n"
                               "Leave one of them first: Ctrl-P Ctrl-Q there.",
                               TERMINAL_WATCHERS);
        if (status != 0)
                return err_set(error, ERR_CONFLICT, "%s", *why ? why : "the member does not answer");
        if (terminal && !session->detached)
                return err_set(error, ERR_UNAVAILABLE, "the connection to the terminal was lost");
        *ret = json_pack("{s:b}", terminal ? "detached" : "closed", 1);
        return true;
}

static void on_done(int status, const GError *error, void *arg)
{
        Session *session = arg;
        g_autoptr(GError) own = NULL;
        g_autoptr(json_t) end = NULL;
        g_autofree char *text = NULL;

        if (session->end_status >= 0) {
                /* The program's end counts. Its container may kill the relay, or close the connection. */
                status = session->end_status;
                error = NULL;
        } else if (!error && session->kind != EXEC_COMMAND && !relay_end(session, status, &end, &own)) {
                error = own;
        }
        if (error)
                end = json_pack("{s:{s:s, s:s}}", "error", "code", err_row(error)->word, "message",
                                error->message);
        else if (!end)
                end = json_pack("{s:i}", "exit_code", status);
        text = json_format(end);
        g_mutex_lock(&session->mutex);
        session->over = true;
        g_mutex_unlock(&session->mutex);
        send_text(session, CHANNEL_END, text);
        websocket_close(session->socket, 1000, NULL);
        session_unref(session);
}

/* ---- what the client says ---- */

static void refuse(Session *session, const char *why)
{
        websocket_close(session->socket, 1008, why);
        exec_cancel(session->exec);
}

/* Frames, of which `input` bytes are the client's. */
static void write_frames(Session *session, const GString *frames, gsize input)
{
        g_mutex_lock(&session->mutex);
        session->wrapped += frames->len - input;
        g_mutex_unlock(&session->mutex);
        exec_write(session->exec, frames->str, frames->len);
}

static void write_input(Session *session, const char *data, gsize len)
{
        g_autoptr(GString) frames = g_string_new(NULL);

        if (session->kind != EXEC_TERMINAL) {
                exec_write(session->exec, data, len);
                return;
        }
        terminal_frames_input(frames, data, len);
        write_frames(session, frames, len);
}

static void take_input(Session *session, const char *text)
{
        gsize len = 0;
        g_autofree guchar *data = g_base64_decode(text, &len);
        bool fits;

        g_mutex_lock(&session->mutex);
        fits = session->given + len <= WINDOW;
        session->given += len;
        g_mutex_unlock(&session->mutex);
        if (!fits)
                refuse(session, "more input than was said to be taken");
        else if (len)
                write_input(session, (const char *)data, len);
}

static void resize(Session *session, int columns, int rows)
{
        g_autoptr(GString) frames = g_string_new(NULL);

        if (session->kind != EXEC_TERMINAL) {
                exec_resize(session->exec, columns, rows);
                return;
        }
        terminal_frames_size(frames, columns, rows);
        write_frames(session, frames, 0);
}

static void take_size(Session *session, const char *text, gsize len)
{
        g_autoptr(json_t) size = json_parse(text, len, NULL);
        gint64 columns = json_integer_value(json_object_get(size, "columns")),
               rows = json_integer_value(json_object_get(size, "rows"));

        if (columns < 1 || rows < 1 || columns > CELLS_MAX || rows > CELLS_MAX)
                refuse(session, "a terminal's size is {\"columns\":1..65535,\"rows\":1..65535}");
        else
                resize(session, (int)columns, (int)rows);
}

/* The host sends what was shown until then, and ends the connection: then it is done. Closing the input is
 * for the relay, and for a host that is older than we are. */
static void take_detach(Session *session)
{
        g_autoptr(GString) frames = g_string_new(NULL);

        if (session->kind != EXEC_TERMINAL) {
                refuse(session, "only a terminal can be left");
                return;
        }
        g_mutex_lock(&session->mutex);
        session->detached = true;
        g_mutex_unlock(&session->mutex);
        terminal_frames_detach(frames);
        write_frames(session, frames, 0);
        exec_close_input(session->exec);
}

/* A terminal has no end of input; programs know a character for it. */
static void take_input_end(Session *session)
{
        if (session->kind != EXEC_TERMINAL)
                exec_close_input(session->exec);
}

static void take_taken(Session *session, const char *text)
{
        gint64 n;
        bool release;

        if (!number_parse("bytes", text, 0, G_MAXINT, &n, NULL)) {
                refuse(session, "what was taken is a number of bytes");
                return;
        }
        g_mutex_lock(&session->mutex);
        session->sent -= MIN(session->sent, (gsize)n);
        release = session->held && session->sent <= WINDOW / 2;
        if (release) { /* under the mutex, so that orders to hold and not to keep their order */
                session->held = false;
                exec_hold(session->exec, false);
        }
        g_mutex_unlock(&session->mutex);
}

/* The command may not be asked for yet when the first message comes: that takes no time. */
static bool wait_for_start(Session *session)
{
        bool going;

        g_mutex_lock(&session->mutex);
        while (!session->started)
                g_cond_wait(&session->ready, &session->mutex);
        going = session->exec && !session->over;
        g_mutex_unlock(&session->mutex);
        return going;
}

static void on_text(void *arg, const char *text, gsize len)
{
        Session *session = arg;

        if (!wait_for_start(session))
                return;
        switch (len ? *text : 0) {
        case CHANNEL_INPUT: take_input(session, text + 1); break;
        case CHANNEL_SIZE: take_size(session, text + 1, len - 1); break;
        case CHANNEL_INPUT_END: take_input_end(session); break;
        case CHANNEL_TAKEN: take_taken(session, text + 1); break;
        case CHANNEL_DETACH: take_detach(session); break;
        default: refuse(session, "a message begins with its channel: 0, 4, 5, 6 or 8");
        }
}

static void on_closed(void *arg)
{
        Session *session = arg;
        bool going;

        g_mutex_lock(&session->mutex);
        going = session->exec && !session->over;
        session->over = true;
        g_mutex_unlock(&session->mutex);
        if (going)
                exec_cancel(session->exec);
        session_unref(session);
}

/* ---- the request ---- */

static bool is_running(const Member *member)
{
        return member->state == MEMBER_RUNNING || member->state == MEMBER_READY ||
               member->state == MEMBER_STOPPING;
}

static bool no_member(const Job *job, const char *name, GError **error)
{
        g_autoptr(GString) names = g_string_new(NULL);

        if (job->n_members == 0)
                return err_set(error, ERR_CONFLICT, "job '%s' is %s and has no members", job->name,
                               job_state_name(job->state));
        for (int i = 0; i < MIN(job->n_members, NAMES_SHOWN); i++)
                g_string_append_printf(names, "%s%s-%d", i ? ", " : "",
                                       job->spec->roles[job->members[i].role].name, job->members[i].index);
        return err_set(error, ERR_NOT_FOUND, "job '%s' has no member '%.80s'\nIts members are %s%s.",
                       job->name, name, names->str, job->n_members > NAMES_SHOWN ? ", ..." : "");
}

static const Member *find_member(const Job *job, const char *name, GError **error)
{
        for (int i = 0; i < job->n_members; i++) {
                const Member *member = &job->members[i];
                g_autofree char *own =
                        g_strdup_printf("%s-%d", job->spec->roles[member->role].name, member->index);

                if (strcmp(own, name) != 0)
                        continue;
                if (is_running(member))
                        return member;
                err_set(error, ERR_CONFLICT,
                        "member '%s' of job '%s' is %s\nA command runs beside a member that runs.", name,
                        job->name, member_state_name(member->state));
                return NULL;
        }
        (void)no_member(job, name, error);
        return NULL;
}

static bool take_window(HttpRequest *request, ExecStart *ret, GError **error)
{
        const char *columns = http_request_query(request, "columns"),
                   *rows = http_request_query(request, "rows");
        gint64 n_columns, n_rows;

        if (!number_parse("columns", columns ? columns : "0", 0, CELLS_MAX, &n_columns, error) ||
            !number_parse("rows", rows ? rows : "0", 0, CELLS_MAX, &n_rows, error))
                return false;
        ret->columns = (int)n_columns;
        ret->rows = (int)n_rows;
        return true;
}

static bool take_query(HttpRequest *request, char ***ret_words, ExecStart *ret, GError **error)
{
        g_auto(GStrv) words = http_request_queries(request, "command");
        bool tty;

        if (!words || !**words || g_strv_length(words) > WORDS_MAX)
                return err_set(error, ERR_INVALID,
                               "?command=WORD says what to run, once for each word (1 to %d)", WORDS_MAX);
        if (!api_query_flag(request, "tty", &tty, error) || !take_window(request, ret, error))
                return false;
        ret->tty = tty;
        *ret_words = g_steal_pointer(&words);
        ret->argv = (const char *const *)*ret_words;
        return true;
}

static Session *session_new(ExecKind kind)
{
        Session *session = g_new0(Session, 1);

        session->kind = kind;
        session->frames = (TerminalFrames){ .take = take_frame, .arg = session };
        session->why = g_string_new(NULL);
        session->end_status = -1;

        g_atomic_ref_count_init(&session->refs);
        for (int others = 0; others < 2; others++)
                g_atomic_ref_count_inc(&session->refs);
        g_mutex_init(&session->mutex);
        g_cond_init(&session->ready);
        return session;
}

/* The first thing that a terminal hears. */
static void greet(Session *session, const ExecStart *start, guint64 position)
{
        g_autoptr(GString) frames = g_string_new(NULL);

        if (session->kind != EXEC_TERMINAL)
                return;
        terminal_frames_attach(frames, position);
        if (start->columns > 0 && start->rows > 0)
                terminal_frames_size(frames, start->columns, start->rows);
        session->wrapped += frames->len; /* not shared yet */
        exec_write(session->exec, frames->str, frames->len);
}

static void begin(Session *session, RuntimeExec *exec, const ExecStart *start, guint64 position)
{
        bool cancelled;

        g_mutex_lock(&session->mutex);
        session->exec = exec;
        if (exec)
                greet(session, start, position);
        session->started = true;
        cancelled = session->over;
        g_cond_broadcast(&session->ready);
        g_mutex_unlock(&session->mutex);
        if (exec && cancelled)
                exec_cancel(exec);
}

static void open_session(Api *api, HttpRequest *request, const Job *job, const Member *member,
                         ExecStart *start, guint64 position)
{
        static const WebSocketOps ops = { .on_text = on_text, .on_closed = on_closed };
        Session *session = session_new(start->kind);
        g_autoptr(GError) error = NULL;
        RuntimeExec *exec;

        start->output = on_output;
        start->taken = on_taken;
        start->done = on_done;
        start->arg = session;
        session->socket = http_upgrade_websocket(request, &ops, session);
        if (session->socket) {
                exec = engine_exec(api->engine, job, member, start, &error);
                begin(session, exec, start, position);
                if (!exec)
                        on_done(-1, error, session);
        } else {
                session_unref(session); /* of the command, which there will not be */
        }
        session_unref(session);
}

static void note_member(HttpRequest *request, const Job *job)
{
        g_autofree char *subject = g_strdup_printf("%s %s", job->id, http_request_param(request, "member"));

        http_request_set_subject(request, subject);
}

static void run_exec(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) words = NULL;
        const Member *member;
        ExecStart start = { .kind = EXEC_COMMAND };

        if (!job)
                return;
        note_member(request, job);
        member = find_member(job, http_request_param(request, "member"), &error);
        if (member && take_query(request, &words, &start, &error))
                open_session(api, request, job, member, &start, 0);
        else
                http_fail(request, error);
}

static bool check_has_terminal(const Job *job, GError **error)
{
        if (job->spec->tty)
                return true;
        return err_set(
                error, ERR_CONFLICT,
                "job '%s' has no terminal\n`paddle logs -f %s` shows its output, `paddle exec -it %s -- "
                "sh` is a shell beside it.",
                job->name, job->name, job->name);
}

static bool take_position(HttpRequest *request, guint64 *ret, GError **error)
{
        const char *text = http_request_query(request, "offset");
        gint64 offset;

        *ret = TERMINAL_LATEST;
        if (!text)
                return true;
        if (!number_parse("offset", text, 0, G_MAXINT64, &offset, error))
                return false;
        *ret = (guint64)offset;
        return true;
}

static void run_attach(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        g_autoptr(GError) error = NULL;
        const Member *member;
        ExecStart start = { .kind = EXEC_TERMINAL };
        guint64 position;

        if (!job)
                return;
        note_member(request, job);
        member = check_has_terminal(job, &error)
                         ? find_member(job, http_request_param(request, "member"), &error)
                         : NULL;
        if (member && take_window(request, &start, &error) && take_position(request, &position, &error))
                open_session(api, request, job, member, &start, position);
        else
                http_fail(request, error);
}

static bool take_port(HttpRequest *request, ExecStart *ret, GError **error)
{
        const char *text = http_request_query(request, "port");
        gint64 port;

        if (!number_parse("port", text ? text : "", 1, G_MAXUINT16, &port, error))
                return false;
        ret->port = (int)port;
        return true;
}

static void run_forward(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(Job) job = api_job(api, request);
        g_autoptr(GError) error = NULL;
        g_autofree char *subject = NULL;
        const Member *member = NULL;
        ExecStart start = { .kind = EXEC_PORT };

        if (!job)
                return;
        note_member(request, job);
        if (take_port(request, &start, &error)) {
                subject = g_strdup_printf("%s %s %d", job->id, http_request_param(request, "member"),
                                          start.port);
                http_request_set_subject(request, subject);
                member = find_member(job, http_request_param(request, "member"), &error);
        }
        if (member)
                open_session(api, request, job, member, &start, 0);
        else
                http_fail(request, error);
}

static const HttpParameter run_exec_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "command", HTTP_ARRAY, "A word of the command, and each that follows." },
        { "tty", HTTP_BOOLEAN, "With a terminal." },
        { "columns", HTTP_INTEGER, "Its size." },
        { "rows", HTTP_INTEGER, "Its size." },
        { 0 },
};

static const HttpParameter run_attach_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "columns", HTTP_INTEGER, "The size of the terminal." },
        { "rows", HTTP_INTEGER, "The size of the terminal." },
        { "offset", HTTP_INTEGER,
          "Begin with this byte of the output, or the first one that is kept. The last 16 KiB when not "
          "given." },
        { 0 },
};

static const HttpParameter run_forward_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "port", HTTP_INTEGER, "The port, 1 to 65535." },
        { 0 },
};

const HttpRoute exec_routes[] = {
        { "GET", "/v1/jobs/{job}/members/{member}/exec", ACCESS_JOB, VERB_UPDATE, run_exec,
          "Run a command beside a member, over a WebSocket.", .query = run_exec_query, .reply_status = 101 },
        { "GET", "/v1/jobs/{job}/members/{member}/attach", ACCESS_JOB, VERB_UPDATE, run_attach,
          "Connect with the terminal of a job that has one, over a WebSocket.", .query = run_attach_query,
          .reply_status = 101 },
        { "GET", "/v1/jobs/{job}/members/{member}/forward", ACCESS_JOB, VERB_UPDATE, run_forward,
          "Connect with a port that a member listens on, over a WebSocket.", .query = run_forward_query,
          .reply_status = 101 },
        { 0 },
};
