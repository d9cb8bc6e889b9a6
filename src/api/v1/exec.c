/* A command beside a member, over a WebSocket (doc/rest.md, "A terminal into a job"). A message begins with
 * the digit of its channel:
 *
 *     0 input    1 output    2 errors      the rest is base64
 *     3 the end {"exit_code"} or {"error"}  4 the terminal's size {"columns","rows"}
 *     5 the input has ended                 6 so many bytes were taken (both ways)
 *
 * Neither side has more than WINDOW bytes under way that the other has not said it took: a client that sends
 * more is sent away, and the command waits for a client that does not read.
 *
 * A session has three references: the socket's, until it is closed, the command's, until it is done, and the
 * request's. */
#include <string.h>

#include "api/v1/internal.h"
#include "base/err.h"
#include "base/number.h"
#include "net/websocket.h"

enum { WINDOW = 256 << 10, PIECE = 32 << 10, WORDS_MAX = 1000, CELLS_MAX = 65535, NAMES_SHOWN = 10 };

typedef enum {
        CHANNEL_INPUT = '0',
        CHANNEL_OUTPUT,
        CHANNEL_ERRORS,
        CHANNEL_END,
        CHANNEL_SIZE,
        CHANNEL_INPUT_END,
        CHANNEL_TAKEN,
} Channel;

typedef struct {
        gatomicrefcount refs;
        WebSocket *socket;
        GMutex mutex; /* guards what follows */
        GCond ready;
        bool started; /* socket and exec are what they will be */
        RuntimeExec *exec;
        gsize given, sent; /* bytes of input and of output that were not said to be taken */
        bool held, over;
} Session;

static void session_unref(Session *session)
{
        if (!g_atomic_ref_count_dec(&session->refs))
                return;
        websocket_unref(session->socket);
        exec_unref(session->exec);
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

static void send_number(const Session *session, Channel channel, gsize number)
{
        g_autofree char *text = g_strdup_printf("%" G_GSIZE_FORMAT, number);

        send_text(session, channel, text);
}

/* ---- what the command says ---- */

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Session *session = arg;

        g_mutex_lock(&session->mutex);
        session->sent += len;
        if (session->sent > WINDOW && !session->held && session->exec) {
                session->held = true;
                exec_hold(session->exec, true);
        }
        g_mutex_unlock(&session->mutex);
        send_bytes(session, fd == 2 ? CHANNEL_ERRORS : CHANNEL_OUTPUT, data, len);
}

static void on_taken(gsize len, void *arg)
{
        Session *session = arg;

        g_mutex_lock(&session->mutex);
        session->given -= MIN(session->given, len);
        g_mutex_unlock(&session->mutex);
        send_number(session, CHANNEL_TAKEN, len);
}

static void on_done(int status, const GError *error, void *arg)
{
        Session *session = arg;
        g_autoptr(json_t) end = error ? json_pack("{s:{s:s, s:s}}", "error", "code", err_row(error)->word,
                                                  "message", error->message)
                                      : json_pack("{s:i}", "exit_code", status);
        g_autofree char *text = json_format(end);

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
                exec_write(session->exec, (const char *)data, len);
}

static void take_size(Session *session, const char *text, gsize len)
{
        g_autoptr(json_t) size = json_parse(text, len, NULL);
        gint64 columns = json_integer_value(json_object_get(size, "columns")),
               rows = json_integer_value(json_object_get(size, "rows"));

        if (columns < 1 || rows < 1 || columns > CELLS_MAX || rows > CELLS_MAX)
                refuse(session, "a terminal's size is {\"columns\":1..65535,\"rows\":1..65535}");
        else
                exec_resize(session->exec, (int)columns, (int)rows);
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
        if (release)
                session->held = false;
        g_mutex_unlock(&session->mutex);
        if (release)
                exec_hold(session->exec, false);
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
        case CHANNEL_INPUT_END: exec_close_input(session->exec); break;
        case CHANNEL_TAKEN: take_taken(session, text + 1); break;
        default: refuse(session, "a message begins with its channel: 0, 4, 5 or 6");
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

static bool take_query(HttpRequest *request, char ***ret_words, ExecStart *ret, GError **error)
{
        g_auto(GStrv) words = http_request_queries(request, "command");
        const char *columns = http_request_query(request, "columns"),
                   *rows = http_request_query(request, "rows");
        gint64 n_columns, n_rows;
        bool tty;

        if (!words || !**words || g_strv_length(words) > WORDS_MAX)
                return err_set(error, ERR_INVALID,
                               "?command=WORD says what to run, once for each word (1 to %d)", WORDS_MAX);
        if (!api_query_flag(request, "tty", &tty, error) ||
            !number_parse("columns", columns ? columns : "0", 0, CELLS_MAX, &n_columns, error) ||
            !number_parse("rows", rows ? rows : "0", 0, CELLS_MAX, &n_rows, error))
                return false;
        *ret = (ExecStart){ .tty = tty,
                            .columns = (int)n_columns,
                            .rows = (int)n_rows,
                            .output = on_output,
                            .taken = on_taken,
                            .done = on_done };
        *ret_words = g_steal_pointer(&words);
        ret->argv = (const char *const *)*ret_words;
        return true;
}

static Session *session_new(void)
{
        Session *session = g_new0(Session, 1);

        g_atomic_ref_count_init(&session->refs);
        for (int others = 0; others < 2; others++)
                g_atomic_ref_count_inc(&session->refs);
        g_mutex_init(&session->mutex);
        g_cond_init(&session->ready);
        return session;
}

static void begin(Session *session, RuntimeExec *exec)
{
        bool cancelled;

        g_mutex_lock(&session->mutex);
        session->exec = exec;
        session->started = true;
        cancelled = session->over;
        g_cond_broadcast(&session->ready);
        g_mutex_unlock(&session->mutex);
        if (exec && cancelled)
                exec_cancel(exec);
}

static void open_session(Api *api, HttpRequest *request, const Job *job, const Member *member,
                         ExecStart *start)
{
        static const WebSocketOps ops = { .on_text = on_text, .on_closed = on_closed };
        Session *session = session_new();
        g_autoptr(GError) error = NULL;
        RuntimeExec *exec;

        start->arg = session;
        session->socket = http_upgrade_websocket(request, &ops, session);
        if (session->socket) {
                exec = engine_exec(api->engine, job, member, start, &error);
                begin(session, exec);
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
        ExecStart start;

        if (!job)
                return;
        note_member(request, job);
        member = find_member(job, http_request_param(request, "member"), &error);
        if (member && take_query(request, &words, &start, &error))
                open_session(api, request, job, member, &start);
        else
                http_fail(request, error);
}

const HttpRoute exec_routes[] = {
        { "GET", "/v1/jobs/{job}/members/{member}/exec", ACCESS_JOB, VERB_UPDATE, HTTP_BODY_NONE, 0, run_exec,
          "Run a command beside a member, over a WebSocket.",
          "user:string:Whose job a name means (administrators).;command:array:A word of the command, and "
          "each "
          "that follows.;tty:boolean:With a terminal.;columns:integer:Its size.;rows:integer:Its size.",
          NULL, NULL, 101, NULL },
        { 0 },
};
