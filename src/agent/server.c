/* Connections and the protocol's dispatcher (see server.h).
 *
 * At most one connection is `current`: the one whose hello had the newest epoch. Others are strangers until
 * their hello. A connection is freed only by the idle callback that closing it schedules, so a handler may
 * close its own connection. */
#include "agent/server.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/egress.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number.h"
#include "agent/task.h"

enum {
        LINE_BYTES_MAX = 2 << 20,
        OUT_BYTES_MAX = 16 << 20, /* reports of some 100,000 tasks */
        READ_BYTES = 64 << 10,
        STRANGERS_MAX = 16,
        GRACE_MAX_MS = 7 * 24 * 3600 * 1000,
};

typedef struct {
        Server *server;
        int fd;
        guint in_source, out_source;
        GString *in, *out;
        gsize out_at;  /* bytes of `out` that were sent */
        bool skipping; /* the rest of a line that was too long */
        bool closed, unsynced;
} Connection;

struct Server {
        int fd;
        guint source;
        char *socket_path, *epoch_path, *boot_id;
        gint64 epoch;
        Keep *keep;
        Connection *current;
        GPtrArray *connections;
        void (*changed)(void *arg);
        void *arg;
};

/* ── connections ───────────────────────────────────────────────────────── */

static void connection_free(Connection *connection)
{
        if (connection->in_source)
                g_source_remove(connection->in_source);
        if (connection->out_source)
                g_source_remove(connection->out_source);
        close(connection->fd);
        g_string_free(connection->in, TRUE);
        g_string_free(connection->out, TRUE);
        g_free(connection);
}

static gboolean free_closed(gpointer arg)
{
        Server *server = arg;

        for (guint i = server->connections->len; i-- > 0;) {
                Connection *connection = server->connections->pdata[i];

                if (connection->closed)
                        g_ptr_array_remove_index_fast(server->connections, i);
        }
        return G_SOURCE_REMOVE;
}

static void close_connection(Connection *connection)
{
        Server *server = connection->server;

        if (connection->closed)
                return;
        connection->closed = true;
        (void)shutdown(connection->fd, SHUT_RDWR); /* wakes nothing: its sources are ignored from here on */
        g_idle_add_full(G_PRIORITY_HIGH, free_closed, server, NULL);
        if (server->current == connection) {
                server->current = NULL;
                log_info("the server has disconnected", NULL);
                server->changed(server->arg);
        }
}

/* Sends as much as the socket takes; false if the connection is broken. */
static bool flush(Connection *connection)
{
        while (connection->out_at < connection->out->len) {
                ssize_t put = send(connection->fd, connection->out->str + connection->out_at,
                                   connection->out->len - connection->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return errno == EAGAIN;
                connection->out_at += (gsize)put;
        }
        g_string_truncate(connection->out, 0);
        connection->out_at = 0;
        return true;
}

static gboolean on_writable(gint fd, GIOCondition condition, gpointer arg)
{
        Connection *connection = arg;
        bool ok = !connection->closed && flush(connection);

        if (ok && connection->out->len > 0)
                return G_SOURCE_CONTINUE;
        connection->out_source = 0;
        if (!ok)
                close_connection(connection);
        return G_SOURCE_REMOVE;
}

static void send_lines(Connection *connection, const char *lines)
{
        if (connection->closed)
                return;
        g_string_erase(connection->out, 0, (gssize)connection->out_at);
        connection->out_at = 0;
        g_string_append(connection->out, lines);
        if (!connection->out_source) { /* at the end of this loop iteration, so that many lines are one
                                          write */
                connection->out_source = g_unix_fd_add(connection->fd, G_IO_OUT, on_writable, connection);
        } else if (connection->out->len > OUT_BYTES_MAX) {
                log_warning("the server does not read, disconnecting it", NULL);
                close_connection(connection);
        }
}

static void send_error(Connection *connection, const GError *error)
{
        g_autoptr(json_t) object = json_pack("{s:s, s:s}", "op", "error", "text", error->message);
        g_autofree char *text =
                object ? json_format(object) : g_strdup("{\"op\":\"error\",\"text\":\"not UTF-8\"}");
        g_autofree char *line = g_strconcat(text, "\n", NULL);

        send_lines(connection, line);
}

/* ── operations ────────────────────────────────────────────────────────── */

/* Sends all reports, then `synced`, as soon as no task is undecided. */
static void send_reports(Connection *connection)
{
        g_autoptr(GString) lines = g_string_new(NULL);

        if (!keep_is_settled(connection->server->keep)) {
                connection->unsynced = true;
                return;
        }
        connection->unsynced = false;
        keep_report_all(connection->server->keep, lines);
        g_string_append(lines, "{\"op\":\"synced\"}\n");
        send_lines(connection, lines->str);
}

static bool keep_epoch(Server *server, gint64 epoch, GError **error)
{
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT "\n", epoch);

        if (epoch == server->epoch)
                return true;
        if (!file_replace(server->epoch_path, text, strlen(text), 0600, false, error))
                return false;
        server->epoch = epoch;
        return true;
}

/* If the server asked for limits, the answer says whether they are enforced. */
static void send_hello(Connection *connection, const json_t *egress)
{
        Server *server = connection->server;
        g_autoptr(json_t) limits = json_array(), sandbox = json_array();
        g_autoptr(json_t) hello = NULL;
        g_autofree char *text = NULL, *line = NULL;
        g_autoptr(GError) failure = NULL;
        bool limited = keep_limit_egress(server->keep, egress, &failure);

        for (const char *const *limit = keep_limits(server->keep); *limit; limit++)
                json_array_append_new(limits, json_string(*limit));
        for (const char *const *part = keep_sandbox(server->keep); *part; part++)
                json_array_append_new(sandbox, json_string(*part));
        hello = json_pack("{s:s, s:I, s:i, s:s, s:O, s:O, s:b, s:b}", "op", "hello", "epoch",
                          (json_int_t)server->epoch, "pid", (int)getpid(), "boot_id", server->boot_id,
                          "limits", limits, "sandbox", sandbox, "users", geteuid() == 0, "devices",
                          keep_denies_devices(server->keep));
        if (egress)
                json_object_set_new(hello, "egress", json_string(limited ? "" : failure->message));
        text = json_format(hello);
        line = g_strconcat(text, "\n", NULL);
        send_lines(connection, line);
}

static bool do_hello(Connection *connection, const json_t *object, GError **error)
{
        Server *server = connection->server;
        Connection *former = server->current;
        gint64 epoch = -1;
        json_t *egress = NULL;

        if (!json_get_int(object, "", "epoch", 0, G_MAXINT64, &epoch, error) ||
            !json_get_array(object, "", "egress", EGRESS_RULES_MAX, &egress, error))
                return false;
        if (epoch < 0)
                return err_set(error, ERR_INVALID, "'hello' names no epoch");
        if (epoch < server->epoch) {
                g_autofree char *line =
                        g_strdup_printf("{\"op\":\"refused\",\"epoch\":%" G_GINT64_FORMAT "}\n",
                                        server->epoch);

                send_lines(connection, line);
                (void)flush(connection); /* one short line fits, or the peer has stopped reading */
                close_connection(connection);
                return true;
        }
        if (!keep_epoch(server, epoch, error))
                return false;
        server->current = connection;
        if (former && former != connection)
                close_connection(former);
        send_hello(connection, egress);
        send_reports(connection);
        log_info("a server is connected", NULL);
        server->changed(server->arg);
        return true;
}

static bool do_start(Connection *connection, const json_t *object, GError **error)
{
        StartRequest request;
        g_autoptr(GError) why = NULL;

        if (start_request_parse(object, &request, &why)) {
                keep_start(connection->server->keep, &request);
        } else if (request.task && task_name_is_valid(request.task)) {
                keep_refuse(connection->server->keep, request.task, why->message, true);
        } else if (request.task) {
                g_autoptr(GString) line = g_string_new(NULL);

                task_format_failed(request.task, why->message, true, line);
                send_lines(connection, line->str);
        } else {
                g_propagate_error(error, g_steal_pointer(&why));
                return false;
        }
        return true;
}

static bool get_task(const json_t *object, const char **ret, GError **error)
{
        if (!json_get_string(object, "", "task", TASK_NAME_SIZE - 1, ret, error))
                return false;
        if (!*ret || !task_name_is_valid(*ret))
                return err_set(error, ERR_INVALID, "'task' is not a name of [a-z0-9.-]");
        return true;
}

static bool do_stop(Connection *connection, const json_t *object, GError **error)
{
        const char *task = NULL;
        gint64 grace_ms = 0;

        if (!get_task(object, &task, error) ||
            !json_get_int(object, "", "grace_ms", 0, GRACE_MAX_MS, &grace_ms, error))
                return false;
        keep_stop(connection->server->keep, task, grace_ms);
        return true;
}

static bool do_signal(Connection *connection, const json_t *object, GError **error)
{
        const char *task = NULL;
        gint64 signo = 0;

        if (!get_task(object, &task, error) || !json_get_int(object, "", "signal", 1, 64, &signo, error))
                return false;
        keep_signal(connection->server->keep, task, (int)signo);
        return true;
}

static bool do_forget(Connection *connection, const json_t *object, GError **error)
{
        const char *task = NULL;

        return get_task(object, &task, error) && keep_forget(connection->server->keep, task, error);
}

static bool do_ping(Connection *connection, const json_t *object, GError **error)
{
        send_lines(connection, "{\"op\":\"pong\"}\n");
        return true;
}

static const struct {
        const char *op;
        bool stranger; /* allowed before hello */
        bool (*run)(Connection *connection, const json_t *object, GError **error);
} ops[] = {
        { "start", false, do_start },   { "forget", false, do_forget }, { "stop", false, do_stop },
        { "signal", false, do_signal }, { "hello", true, do_hello },    { "ping", true, do_ping },
};

static bool run_object(Connection *connection, const json_t *object, GError **error)
{
        const char *op = NULL;

        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "a line is not a JSON object");
        if (!json_get_string(object, "", "op", 64, &op, error))
                return false;
        for (gsize i = 0; op && i < G_N_ELEMENTS(ops); i++) {
                if (strcmp(ops[i].op, op) != 0)
                        continue;
                if (!ops[i].stranger && connection->server->current != connection)
                        return err_set(error, ERR_CONFLICT, "'%s' before 'hello'", op);
                return ops[i].run(connection, object, error);
        }
        return err_set(error, ERR_INVALID,
                       "'op' is '%s', which is none of start, stop, signal, forget, hello, ping",
                       op ? op : "");
}

static void run_line(Connection *connection, const char *line, gsize len)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = json_parse(line, len, &error);

        if (!object || !run_object(connection, object, &error))
                send_error(connection, error);
}

/* ── reading ───────────────────────────────────────────────────────────── */

static void refuse_long_line(Connection *connection)
{
        g_autoptr(GError) error = NULL;

        err_set(&error, ERR_TOO_LARGE, "a line is longer than %d bytes", LINE_BYTES_MAX);
        send_error(connection, error);
        connection->skipping = true;
}

static void run_lines(Connection *connection)
{
        GString *in = connection->in;
        gsize at = 0;
        const char *newline;

        while (!connection->closed && (newline = memchr(in->str + at, '\n', in->len - at))) {
                gsize len = (gsize)(newline - (in->str + at));

                if (connection->skipping)
                        connection->skipping = false;
                else if (len > 0)
                        run_line(connection, in->str + at, len);
                at += len + 1;
        }
        g_string_erase(in, 0, (gssize)at);
        if (connection->skipping)
                g_string_truncate(in, 0);
        else if (in->len > LINE_BYTES_MAX)
                refuse_long_line(connection);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
        Connection *connection = arg;
        gsize len = connection->in->len;
        ssize_t got;

        if (connection->closed || !connection->server->keep)
                return G_SOURCE_CONTINUE;
        g_string_set_size(connection->in, len + READ_BYTES);
        got = recv(connection->fd, connection->in->str + len, READ_BYTES, MSG_DONTWAIT);
        g_string_set_size(connection->in, len + (got > 0 ? (gsize)got : 0));
        if (got > 0) {
                run_lines(connection);
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                connection->in_source = 0;
                close_connection(connection);
                return G_SOURCE_REMOVE;
        }
        return G_SOURCE_CONTINUE;
}

static void drop_oldest_stranger(Server *server)
{
        if (server->connections->len <= STRANGERS_MAX)
                return;
        for (guint i = 0; i < server->connections->len; i++) {
                Connection *connection = server->connections->pdata[i];

                if (connection == server->current || connection->closed)
                        continue;
                close_connection(connection);
                return;
        }
}

static gboolean on_connection(gint fd, GIOCondition condition, gpointer arg)
{
        Server *server = arg;
        int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        Connection *connection;

        if (accepted < 0)
                return G_SOURCE_CONTINUE; /* the client is gone, or no descriptor is free now */
        connection = g_new0(Connection, 1);
        connection->server = server;
        connection->fd = accepted;
        connection->in = g_string_new(NULL);
        connection->out = g_string_new(NULL);
        connection->in_source =
                g_unix_fd_add(accepted, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, connection);
        g_ptr_array_add(server->connections, connection);
        drop_oldest_stranger(server);
        return G_SOURCE_CONTINUE;
}

/* ── life ──────────────────────────────────────────────────────────────── */

static gint64 read_epoch(const char *path)
{
        g_autofree char *text = NULL;
        gint64 epoch = 0;

        if (file_read(path, 64, &text, NULL, NULL))
                (void)number_parse("epoch", g_strchomp(text), 0, G_MAXINT64, &epoch,
                                   NULL); /* on failure the next hello writes it */
        return epoch;
}

static bool listen_on(Server *server, GError **error)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(server->socket_path) >= sizeof address.sun_path)
                return err_set(error, ERR_INVALID,
                               "'%s' is too long for a socket\nChoose a shorter state directory.",
                               server->socket_path);
        g_strlcpy(address.sun_path, server->socket_path, sizeof address.sun_path);
        (void)unlink(server->socket_path); /* we have the lock, so the socket is stale */
        server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
            chmod(server->socket_path, 0600) < 0 || listen(server->fd, STRANGERS_MAX) < 0)
                return err_set_errno(error, errno, "cannot listen on '%s'", server->socket_path);
        return true;
}

Server *server_new(const char *socket_path, const char *epoch_path, void (*changed)(void *arg), void *arg,
                   GError **error)
{
        Server *server = g_new0(Server, 1);
        char boot_id[37];

        server->fd = -1;
        server->socket_path = g_strdup(socket_path);
        server->epoch_path = g_strdup(epoch_path);
        server->connections = g_ptr_array_new_with_free_func((GDestroyNotify)connection_free);
        server->changed = changed;
        server->arg = arg;
        server->epoch = read_epoch(epoch_path);
        if (!clock_boot_id(boot_id, error) || !listen_on(server, error)) {
                server_free(server);
                return NULL;
        }
        server->boot_id = g_strdup(boot_id);
        server->source = g_unix_fd_add(server->fd, G_IO_IN, on_connection, server);
        return server;
}

void server_set_keep(Server *server, Keep *keep)
{
        server->keep = keep;
}

void server_report(Server *server, const char *lines)
{
        if (server->current)
                send_lines(server->current, lines);
}

void server_settle(Server *server)
{
        if (server->current && server->current->unsynced && keep_is_settled(server->keep))
                send_reports(server->current);
}

bool server_is_connected(const Server *server)
{
        return server->current;
}

void server_free(Server *server)
{
        if (!server)
                return;
        if (server->source)
                g_source_remove(server->source);
        if (server->fd >= 0) {
                close(server->fd);
                (void)unlink(server->socket_path); /* may be gone already */
        }
        while (g_source_remove_by_user_data(server))
                ;
        g_ptr_array_unref(server->connections);
        g_free(server->socket_path);
        g_free(server->epoch_path);
        g_free(server->boot_id);
        g_free(server);
}
