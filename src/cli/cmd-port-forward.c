/* paddle port-forward: forwards local ports to ports of a member. A connection is a WebSocket with its own
 * thread (doc/guide/rest.md, "A connection to a port"). */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/member.h"
#include "cli/verbs.h"
#include "net/websocket-client.h"

enum {
        WINDOW = 256 << 10,
        PIECE = 32 << 10,
        PORTS_MAX = 64,
        CONNECTIONS_MAX = 200, /* concurrent ones; more wait until one has ended */
        FULL_WAIT_MS = 50,
        LAST_MS = 5000, /* for connections, after the member's end */
        BACKLOG = 256,
};

typedef struct {
        Common common;
        char *member;
} PortForward;

static const Option options[] = {
        { "member", 'm', OPTION_STRING, offsetof(PortForward, member), "NAME",
          "to this one: trainer-0; without it, the first trainer or worker that runs" },
        COMMON_OPTIONS,
        { 0 },
};

/* A local port. */
typedef struct {
        Cli *cli;
        const char *job, *member;
        int local, remote;
        int fd;
        gint refused; /* atomic: the error that nothing listens there was shown */
} Way;

typedef struct {
        Way *way;
        int fd;
        WebSocketClient *socket;
        GString *out;     /* to the local side */
        gsize under_way;  /* sent to the member, unacknowledged */
        gsize written;    /* of the member's bytes, not acknowledged */
        bool input_open;  /* the local side may send more */
        bool output_over; /* the member sends no more */
        bool shut;        /* ... and the local side knows */
        bool ended, gone; /* by the server; by the local side */
        char *why;        /* the error; or NULL */
} Connection;

static gint connections; /* atomic */

/* ---- messages of the server ---- */

static void send_text(const Connection *connection, char channel, const char *text)
{
        g_autofree char *message = g_strdup_printf("%c%s", channel, text);

        websocket_client_send(connection->socket, message, strlen(message));
}

static void take_bytes(Connection *connection, const char *text)
{
        gsize len = 0;
        g_autofree guchar *data = g_base64_decode(text, &len);

        g_string_append_len(connection->out, (const char *)data, (gssize)len);
}

static void take_end(Connection *connection, const char *text, gsize len)
{
        g_autoptr(json_t) end = json_parse(text, len, NULL);
        const json_t *error = json_object_get(end, "error");

        connection->ended = connection->output_over = true;
        if (error && !connection->why)
                connection->why = g_strdup(text_of(error, "message"));
}

static void on_text(const char *text, gsize len, void *arg)
{
        Connection *connection = arg;
        gint64 n;

        switch (len ? *text : 0) {
        case '1': take_bytes(connection, text + 1); break;
        case '3': take_end(connection, text + 1, len - 1); break;
        case '6':
                if (number_parse("bytes", text + 1, 0, G_MAXINT, &n, NULL))
                        connection->under_way -= MIN(connection->under_way, (gsize)n);
                break;
        case '7': connection->output_over = true; break;
        default: break; /* of a newer server */
        }
}

/* ---- the local side ---- */

static void read_ours(Connection *connection)
{
        char buffer[PIECE];
        ssize_t got = recv(connection->fd, buffer, sizeof buffer, MSG_DONTWAIT);
        g_autofree char *text = NULL;

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (got <= 0) {
                connection->input_open = false;
                connection->gone = got < 0;
                send_text(connection, '5', "");
                return;
        }
        text = g_base64_encode((const guchar *)buffer, (gsize)got);
        connection->under_way += (gsize)got;
        send_text(connection, '0', text);
}

static void acknowledge(Connection *connection)
{
        g_autofree char *text =
                connection->written ? g_strdup_printf("%" G_GSIZE_FORMAT, connection->written) : NULL;

        if (text && !connection->ended)
                send_text(connection, '6', text);
        connection->written = 0;
}

static void write_ours(Connection *connection)
{
        ssize_t done = connection->out->len ? send(connection->fd, connection->out->str, connection->out->len,
                                                   MSG_NOSIGNAL | MSG_DONTWAIT)
                                            : 0;

        if (done < 0 && errno != EAGAIN && errno != EINTR)
                connection->gone = true;
        if (done > 0) {
                g_string_erase(connection->out, 0, done);
                connection->written += (gsize)done;
        }
        if (connection->output_over && !connection->why && connection->out->len == 0 && !connection->shut) {
                connection->shut = true;
                (void)shutdown(connection->fd, SHUT_WR); /* the local side may be gone */
        }
}

/* False: the server is gone. The member's data may be incomplete, so this is not its end. */
static bool turn(Connection *connection)
{
        g_autoptr(GError) lost = NULL;

        if (websocket_client_turn(connection->socket, on_text, connection, &lost) || connection->ended)
                return true;
        connection->why = g_strdup(lost ? lost->message : "the server ended the connection");
        return false;
}

/* Until both sides have sent everything. */
static void carry(Connection *connection)
{
        bool going = true;

        while (going && !connection->gone && !(connection->ended && connection->out->len == 0)) {
                bool reads = connection->input_open && !connection->ended &&
                             connection->under_way + PIECE <= WINDOW;
                int ours = (reads ? POLLIN : 0) | (connection->out->len ? POLLOUT : 0);
                struct pollfd polled[] = {
                        { .fd = connection->ended ? -1 : websocket_client_fd(connection->socket),
                          .events =
                                  POLLIN | (websocket_client_wants_write(connection->socket) ? POLLOUT : 0) },
                        { .fd = ours ? connection->fd : -1, .events = (short)ours },
                };

                if (poll(polled, G_N_ELEMENTS(polled), -1) < 0 && errno != EINTR)
                        return;
                if (reads && polled[1].revents & ~POLLOUT)
                        read_ours(connection);
                if (!connection->ended)
                        going = turn(connection);
                write_ours(connection);
                acknowledge(connection);
        }
}

/* ---- one connection ---- */

static char *forward_path(const Way *way)
{
        g_autofree char *member = url_escape(way->member);
        g_autofree char *tail = g_strdup_printf("/members/%s/forward?port=%d", member, way->remote);

        return job_path(way->job, tail);
}

static void *run_connection(void *arg)
{
        static const struct linger at_once = { .l_onoff = 1 };
        Connection *connection = arg;
        Way *way = connection->way;
        g_autofree char *path = forward_path(way);
        g_autoptr(GError) error = NULL;

        connection->socket = websocket_client_open(way->cli->client, path, &error);
        if (connection->socket)
                carry(connection);
        else
                connection->why = g_strdup(error->message);
        /* A web page makes many connections: shows a common error once, until one succeeds. */
        if (!connection->why)
                g_atomic_int_set(&way->refused, 0);
        else if (g_atomic_int_compare_and_exchange(&way->refused, 0, 1))
                cli_say(way->cli, "paddle: port %d of '%s': %s", way->remote, way->member, connection->why);
        if (connection->why) /* reset the connection, so that the local program sees an error */
                (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        (void)close(connection->fd);
        websocket_client_free(connection->socket);
        g_string_free(connection->out, TRUE);
        g_free(connection->why);
        g_free(connection);
        g_atomic_int_add(&connections, -1);
        return NULL;
}

static void take_connection(Way *way)
{
        int fd = accept4(way->fd, NULL, NULL, SOCK_CLOEXEC);
        Connection *connection;

        if (fd < 0)
                return;
        connection = g_new0(Connection, 1);
        *connection = (Connection){ .way = way, .fd = fd, .out = g_string_new(NULL), .input_open = true };
        g_atomic_int_add(&connections, 1);
        g_thread_unref(g_thread_new("connection", run_connection, connection));
}

/* ---- the ports ---- */

/* "6006", "8080:6006", "0:6006" */
static bool port_pair_parse(const char *text, Way *ret, GError **error)
{
        const char *colon = strchr(text, ':');
        g_autofree char *first = colon ? g_strndup(text, (gsize)(colon - text)) : NULL;
        gint64 local = 0, remote;

        if (!number_parse("port", colon ? colon + 1 : text, 1, G_MAXUINT16, &remote, NULL) ||
            (first && !number_parse("port", first, 0, G_MAXUINT16, &local, NULL)))
                return err_set(error, ERR_USAGE, "'%.40s' is not PORT or LOCAL:PORT\nPorts are 1 to 65535.",
                               text);
        ret->local = (int)(first ? local : remote);
        ret->remote = (int)remote;
        return true;
}

static bool listen_on(Way *way, GError **error)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                       .sin_port = htons((uint16_t)way->local) };
        socklen_t size = sizeof address;
        const int on = 1;

        way->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (way->fd < 0)
                return err_set_errno(error, errno, "no socket");
        (void)setsockopt(way->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* after a previous run */
        if (bind(way->fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
            listen(way->fd, BACKLOG) < 0)
                return err_set(error, ERR_CONFLICT,
                               "port %d of this machine cannot be used: %s\nChoose another one: `%d:%d`, or "
                               "`0:%d` for any that is free.",
                               way->local, g_strerror(errno),
                               way->local + 1 > G_MAXUINT16 ? 8080 : way->local + 1, way->remote,
                               way->remote);
        (void)getsockname(way->fd, (struct sockaddr *)&address, &size);
        way->local = ntohs(address.sin_port);
        return true;
}

static bool ports_parse(char *const *words, Way *ways, int *ret_n, GError **error)
{
        int n = 0;

        for (; words[n]; n++) {
                if (n == PORTS_MAX)
                        return err_set(error, ERR_USAGE, "more than %d ports", PORTS_MAX);
                if (!port_pair_parse(words[n], &ways[n], error))
                        return false;
        }
        *ret_n = n;
        return true;
}

static bool open_ways(Cli *cli, const char *job, const char *member, Way *ways, int n, GError **error)
{
        for (int i = 0; i < n; i++) {
                ways[i].cli = cli;
                ways[i].job = job;
                ways[i].member = member;
                if (!listen_on(&ways[i], error))
                        return false;
        }
        return true;
}

/* False once the member has ended. True if the server is unreachable. */
static bool member_runs(Cli *cli, const char *job, const char *member)
{
        g_autofree char *path = job_path(job, "/members?brief=true");
        g_autoptr(json_t) reply = NULL;
        const json_t *item;
        gsize i;

        if (!http_call_json(cli->client, "GET", path, NULL, &reply, NULL))
                return true;
        json_array_foreach(json_object_get(reply, "items"), i, item) {
                if (strcmp(text_of(item, "name"), member) == 0)
                        return is_set(item, "started_at") && !is_set(item, "finished_at");
        }
        return false;
}

static void serve(Cli *cli, const char *job, const char *member, Way *ways, int n)
{
        enum { LOOK_MS = 5000 };
        struct pollfd polled[PORTS_MAX];

        for (;;) {
                bool full = g_atomic_int_get(&connections) >= CONNECTIONS_MAX;
                int ready;

                for (int i = 0; i < n; i++)
                        polled[i] = (struct pollfd){ .fd = full ? -1 : ways[i].fd, .events = POLLIN };
                ready = poll(polled, (nfds_t)n, full ? FULL_WAIT_MS : LOOK_MS);
                if (ready == 0 && !full && !member_runs(cli, job, member))
                        return;
                for (int i = 0; i < n && ready > 0; i++)
                        if (polled[i].revents)
                                take_connection(&ways[i]);
        }
}

/* Threads use memory that is freed when the verb returns. If one is stuck because its other side does not
 * read, exits without freeing. */
static void end_connections(const Cli *cli)
{
        g_autoptr(GError) error = NULL;

        for (int waited = 0; g_atomic_int_get(&connections) > 0; waited += FULL_WAIT_MS) {
                if (waited >= LAST_MS)
                        _exit(cli_flush(&error) ? cli->status : err_row(error)->exit);
                (void)poll(NULL, 0, FULL_WAIT_MS);
        }
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const PortForward *about = target;
        static Way ways[PORTS_MAX]; /* connections may outlive this function */
        g_autofree char *word = NULL, *named = NULL;
        char *job, *member;
        int n = 0;

        member_split(words[0], &word, &named);
        if (named && about->member)
                return err_set(error, ERR_USAGE, "'%s' names a member already; leave out --member", words[0]);
        member = g_strdup(named ? named : about->member);
        if (!ports_parse(words + 1, ways, &n, error) || !cli_client(cli, error) ||
            !member_resolve(cli, word, &job, &member, error) || !open_ways(cli, job, member, ways, n, error))
                return false;
        (void)signal(SIGPIPE, SIG_IGN);
        for (int i = 0; i < n; i++) {
                printf("http://127.0.0.1:%d\n", ways[i].local);
                cli_say(cli, "127.0.0.1:%d leads to port %d of '%s' in job '%s'", ways[i].local,
                        ways[i].remote, member, word);
        }
        cli_say(cli, "Ctrl-C ends it");
        fflush(stdout);
        serve(cli, job, member, ways, n);
        cli_say(cli, "'%s' of job '%s' has ended", member, word);
        end_connections(cli);
        return true;
}

const Verb verb_port_forward = {
        .name = "port-forward",
        .args = "JOB[/MEMBER] [LOCAL:]PORT...",
        .summary = "Reach ports that a member of a running job listens on, such as TensorBoard's",
        .about = "Each port of the member is forwarded from a port on 127.0.0.1 of this machine: the same "
                 "number, or LOCAL (0: any free one). The addresses go to standard output. The command runs "
                 "until Ctrl-C, or until the member has ended. Only ports on which the member itself listens "
                 "can be reached.",
        .examples = "paddle port-forward train 6006\tTensorBoard, at http://127.0.0.1:6006\n"
                    "paddle port-forward lab 0:8888\tJupyter, at any free port\n"
                    "paddle port-forward digits/trainer-1 6006 8080:80\ttwo ports of one trainer",
        .options = options,
        .size = sizeof(PortForward),
        .min_words = 2,
        .max_words = -1,
        .words = WORDS_MEMBER,
        .run = run,
};
