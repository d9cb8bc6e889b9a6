/* The HTTP server on libmicrohttpd, in the one file that includes it. doc/net.md draws the life of a request;
 * the rules that always hold:
 *
 * - A connection is touched by its own worker only, but for resume, which is called once per suspension,
 * under the lock of the request or stream that suspended it. What is suspended cannot complete, so the
 * connection is alive then.
 * - Nothing is suspended once `stopping` is set: the sweep of http_server_free answers what was suspended
 * before.
 * - Locks are pthread's, since ThreadSanitizer does not see GLib's, which are futexes.
 * - The library counts silence only, has no limit for bodies and divides its connection limit among its
 * workers, so deadlines, rates and limits are ours: `watch` looks at every connection some times a deadline
 * and shuts down the sockets that are too slow. */
#include "net/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "net/crowd.h"
#include "net/forwarded.h"
#include "net/framing.h"
#include "net/listen.h"
#include "net/peer.h"
#include "net/pool.h"
#include "net/request.h"
#include "net/route.h"
#include "net/shares.h"
#include "net/tls.h"
#include "net/url.h"
#include "net/websocket-loop.h"

enum {
        CONNECTION_MEMORY = 32 << 10, /* of the library, per connection: bounds the request's head, too */
        STREAM_BLOCK = 16 << 10,
        SILENCE_S = 60,        /* a connection without any traffic */
        IDLE_FACTOR = 6,       /* a kept connection may idle this many header deadlines */
        LOCAL_SHARE = 8,       /* one of so many connections is kept for the Unix socket */
        OVER_LIMIT_MAX = 1024, /* connections above the limit that are held long enough to be told so */
        HOLD_STEP = 1 << 20,   /* bytes of a body of unknown length that are held at once */
        DISCARD_MAX = 1 << 20, /* bytes of a refused body read so that the connection can be kept */
        STRANGER_SHARE = 8,    /* of the bytes for bodies of unknown callers one in so many is one holder's */
        PACE_FACTOR = 3,       /* the pace of a body is looked at every so many graces */
        LINGER_MAX =
                16 << 20, /* bytes read after a refusal in mid-body, so that the client sees the reply ... */
        LINGERING_MAX = 1024, /* ... of so many connections ... */
        LINGER_MS = 2000,     /* ... and for how long */
        LINGER_STEP_MS = 20,
        CREDENTIALS_MS = 1000, /* between two looks at whether followers may stay */
        STOP_MS = 5000,        /* replies under way may take so long when stopping */
        LATENCY_BASE_US = 64,
        SOCKETS_OUT_FACTOR = 64, /* all WebSockets together may leave so many times unread what one may */
};

typedef enum { PHASE_IDLE, PHASE_HEADER, PHASE_BODY, PHASE_BUSY, PHASE_CUT } Phase;

typedef struct {
        GList link; /* in server->connections */
        HttpServer *server;
        int fd;
        Peer peer;
        TlsConnection *tls; /* NULL: it does not speak TLS */
        bool client_asked;  /* what follows is known */
        char *client;       /* whom its certificate names; or NULL */
        gint64 client_until_ms;
        GError *client_error; /* why its certificate does not hold; or NULL */
        CrowdPlace place;     /* one that is not served: one 503 and the end */
        atomic_bool used;     /* a request has been answered on it */
        atomic_bool known;    /* its request is of somebody with an account */
        atomic_int phase;
        _Atomic gint64 since_ms;           /* of the phase */
        _Atomic gint64 received;           /* bytes of the body, in PHASE_BODY */
        gint64 pace_of, pace_ms, pace_len; /* of the body that began then: when its pace was looked at, and
                                              what had come; the watcher's */
        pthread_mutex_t mutex;             /* guards what follows */
        HttpRequest *request;
        int sent_fd;      /* of the file that is being sent, a descriptor of its own; -1: none */
        guint64 sent_end; /* its reply ends there in it */
} Conn;

/* A socket that a refusal was written to, being emptied so that the refusal is not lost to a reset. */
typedef struct {
        int fd;
        gint64 until_ms;
        gsize left;
} Linger;

/* The client's end of a WebSocket over TLS. The library forwards what comes by it, but not its end. */
typedef struct {
        int fd;
        bool left; /* when it was last looked at, the client had gone */
} Wire;

struct HttpServer {
        HttpServerConfig config;
        char *temp_dir, *socket_path;
        void *arg; /* of the handlers */
        RouteTable *routes;
        GArray *faces; /* Face */
        struct MHD_Daemon *tcp, *local;
        int port;
        ino_t socket_inode;
        GThread *watcher;

        pthread_mutex_t mutex; /* guards connections, crowd, lingering, stop */
        pthread_cond_t changed;
        GQueue connections;
        Crowd *crowd;
        GArray *lingering;
        bool stop;

        pthread_mutex_t streams_mutex; /* guards what follows */
        GPtrArray *streams;            /* HttpStreamHandle */
        GPtrArray *sockets;            /* WebSocket */
        GHashTable *wires;             /* WebSocket -> Wire, of those over TLS */
        GHashTable *users;             /* user -> number of followers: streams and WebSockets */
        WebSocketLoop *loop;           /* serves WebSockets; made for the first */
        Pool *pool;                    /* of the routes that say so */
        gint64 credentials_ms;         /* when followers' credentials were looked at; the watcher's */

        pthread_mutex_t bodies_mutex; /* guards what follows */
        Shares *bodies, *strangers;   /* bytes of bodies in memory: of users, and of holders not known */

        atomic_bool stopping;
        _Atomic gint64 active; /* requests whose line has come and that are not completed */
        _Atomic gint64 requests, errors_4xx, errors_5xx, tcp_connected, local_connected, suspended, refused,
                body_bytes;
        _Atomic gint64 latency_count, latency_us, latency[16];
};

/* ---- Suspending and resuming ---- */

static void resume_connection(void *connection)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        Conn *conn = info->socket_context;

        conn->server->suspended--;
        MHD_resume_connection(connection);
}

static void suspend_connection(void *connection)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        Conn *conn = info->socket_context;

        conn->server->suspended++;
        MHD_suspend_connection(connection);
}

/* The first write to a client that has gone succeeds, so it is asked before: followers do not close half of
 * their connection. */
static bool is_left(void *connection)
{
        struct pollfd poll_fd = {
                .fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                .events = POLLRDHUP
        };

        return poll(&poll_fd, 1, 0) > 0;
}

static const StreamOps stream_ops = { suspend_connection, resume_connection, is_left };

static void resume_request(HttpRequest *request)
{
        resume_connection(request->connection);
}

static const char *lookup_header(const HttpRequest *request, const char *name)
{
        return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static bool set_stopping(GError **error)
{
        return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
}

/* ---- Streams ---- */

/* Counts a follower, or refuses it; with the mutex held. */
static bool count_follower(HttpServer *server, const char *user, GError **error)
{
        guint own = GPOINTER_TO_UINT(g_hash_table_lookup(server->users, user));

        if (server->stopping)
                return set_stopping(error);
        if (server->streams->len + server->sockets->len >= (guint)server->config.max_streams)
                return err_set(error, ERR_UNAVAILABLE,
                               "the server has %d followers, as many as it takes\nTry again later.",
                               server->config.max_streams);
        if (own >= (guint)server->config.max_streams_per_user)
                return err_set(error, ERR_UNAVAILABLE,
                               "user '%s' follows %u streams, as many as one may\nEnd another `-f` first.",
                               user, own);
        g_hash_table_insert(server->users, g_strdup(user), GUINT_TO_POINTER(own + 1));
        return true;
}

static void discount_follower(HttpServer *server, const char *user)
{
        guint own = GPOINTER_TO_UINT(g_hash_table_lookup(server->users, user));

        if (own > 1)
                g_hash_table_insert(server->users, g_strdup(user), GUINT_TO_POINTER(own - 1));
        else
                g_hash_table_remove(server->users, user);
}

static bool admit_stream(HttpRequest *request, HttpStreamHandle *stream, GError **error)
{
        HttpServer *server = request->server;

        pthread_mutex_lock(&server->streams_mutex);
        bool ok = count_follower(server, stream_user(stream), error);
        if (ok)
                g_ptr_array_add(server->streams, stream);
        pthread_mutex_unlock(&server->streams_mutex);
        return ok;
}

/* The end of a stream that was admitted: off the list, so that nobody wakes it, then closed and freed. */
static void release_stream(HttpServer *server, HttpStreamHandle *stream)
{
        pthread_mutex_lock(&server->streams_mutex);
        g_ptr_array_remove_fast(server->streams, stream);
        discount_follower(server, stream_user(stream));
        pthread_mutex_unlock(&server->streams_mutex);
        stream_free(stream);
}

/* ---- WebSockets ---- */

/* The end of a socket that was admitted. Its descriptor is the library's again, which closes it. */
static void release_socket(WebSocket *socket, void *connection, void *arg)
{
        HttpServer *server = arg;

        pthread_mutex_lock(&server->streams_mutex);
        g_ptr_array_remove_fast(server->sockets, socket);
        g_hash_table_remove(server->wires, socket);
        discount_follower(server, websocket_user(socket));
        pthread_mutex_unlock(&server->streams_mutex);
        if (connection)
                (void)MHD_upgrade_action(connection, MHD_UPGRADE_ACTION_CLOSE);
}

/* With the mutex held. */
static bool open_loop(HttpServer *server, GError **error)
{
        const WebSocketLimits limits = { .message_max = server->config.websocket_message_max,
                                         .out_max = server->config.websocket_out_max,
                                         .out_total_max =
                                                 server->config.websocket_out_max * SOCKETS_OUT_FACTOR,
                                         .heartbeat_ms = server->config.heartbeat_ms };

        if (!server->loop)
                server->loop = websocket_loop_new(&limits, error);
        return server->loop;
}

static bool admit_socket(HttpRequest *request, WebSocket *socket, GError **error)
{
        HttpServer *server = request->server;

        pthread_mutex_lock(&server->streams_mutex);
        bool ok = open_loop(server, error) && count_follower(server, websocket_user(socket), error);
        if (ok) {
                g_ptr_array_add(server->sockets, socket);
                websocket_adopt(socket, server->loop, release_socket, server);
        }
        pthread_mutex_unlock(&server->streams_mutex);
        return ok;
}

static Conn *conn_of(struct MHD_Connection *connection)
{
        return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void keep_wire(HttpServer *server, WebSocket *socket, int fd)
{
        Wire *wire = g_new0(Wire, 1);

        wire->fd = fd;
        pthread_mutex_lock(&server->streams_mutex);
        g_hash_table_insert(server->wires, socket, wire);
        pthread_mutex_unlock(&server->streams_mutex);
}

/* The 101 has been sent, and the connection is out of the library's hands until release_socket. */
static void on_upgraded(void *cls, struct MHD_Connection *connection, void *context, const char *extra,
                        size_t len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
        HttpRequest *request = context;

        pthread_mutex_lock(&request->mutex);
        WebSocket *socket = g_steal_pointer(&request->reply.socket);
        pthread_mutex_unlock(&request->mutex);
        if (conn_of(connection)->tls)
                keep_wire(request->server, socket, conn_of(connection)->fd);
        websocket_attach(socket, fd, handle, extra, len);
}

static bool is_stopping(const HttpRequest *request)
{
        return request->server->stopping;
}

static bool record(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg)
{
        const HttpServerConfig *config = &request->server->config;

        return config->record && config->record(request, status, done, done_arg, config->arg);
}

static const RequestOps request_ops = { resume_request, lookup_header, admit_stream,
                                        admit_socket,   is_stopping,   record };

/* ---- Sending ---- */

typedef struct {
        HttpServer *server;
        HttpStreamHandle *stream;
} StreamReply;

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
        StreamReply *reply = cls;
        gssize len = stream_read(reply->stream, buf, max);

        /* A client that has gone gets a good end, too: a connection that ends with an error just after it was
         * resumed may be left out of the library's epoll set (0.9.75), and then stays until SILENCE_S. */
        return len == STREAM_READ_END ? MHD_CONTENT_READER_END_OF_STREAM : len;
}

static void free_stream(void *cls)
{
        StreamReply *reply = cls;

        release_stream(reply->server, reply->stream);
        g_free(reply);
}

static struct MHD_Response *memory_response(HttpRequest *request, Reply *reply)
{
        struct MHD_Response *response;

        reply_write(reply);
        if (!reply->body)
                return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
        response = MHD_create_response_from_buffer_with_free_callback(reply->len, reply->body, g_free);
        if (response)
                reply->body = NULL;
        return response;
}

static struct MHD_Response *file_response(HttpRequest *request, Reply *reply)
{
        struct MHD_Response *response;

        if (reply->size == 0)
                return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
        response = MHD_create_response_from_fd_at_offset64(reply->size, reply->fd, reply->offset);
        if (response)
                reply->fd = -1;
        return response;
}

static struct MHD_Response *stream_response(HttpRequest *request, Reply *reply)
{
        StreamReply *cls = g_new(StreamReply, 1);
        struct MHD_Response *response;

        *cls = (StreamReply){ request->server, reply->stream };
        stream_attach(reply->stream, request->connection, &stream_ops);
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, cls,
                                                     free_stream);
        if (response)
                reply->stream = NULL;
        else
                g_free(cls);
        return response;
}

static struct MHD_Response *upgrade_response(HttpRequest *request, Reply *reply)
{
        return MHD_create_response_for_upgrade(on_upgraded, NULL);
}

static struct MHD_Response *(*const make_response[])(HttpRequest *request, Reply *reply) = {
        [REPLY_MEMORY] = memory_response,
        [REPLY_FILE] = file_response,
        [REPLY_STREAM] = stream_response,
        [REPLY_UPGRADE] = upgrade_response,
};

static bool is_served(const Conn *conn)
{
        return conn->place == CROWD_SERVED || conn->place == CROWD_PROXY;
}

static bool must_close(const HttpRequest *request, const Conn *conn)
{
        return (!is_served(conn) || request->server->stopping) && request->reply.kind != REPLY_UPGRADE;
}

static void add_headers(struct MHD_Response *response, const HttpRequest *request, const Conn *conn)
{
        const Reply *reply = &request->reply;

        if (reply->type)
                (void)MHD_add_response_header(response, "Content-Type", reply->type);
        if (reply->kind == REPLY_STREAM)
                (void)MHD_add_response_header(response, "Cache-Control", "no-cache");
        (void)MHD_add_response_header(response, "X-Request-Id", request->id);
        for (guint i = 0; reply->headers && i + 1 < reply->headers->len;
             i += 2) /* a malformed one is left out */
                (void)MHD_add_response_header(response, reply->headers->pdata[i],
                                              reply->headers->pdata[i + 1]);
        if (must_close(request, conn))
                (void)MHD_add_response_header(response, "Connection", "close");
}

/* The library sends a body that is in memory right after its head; some replies have none (RFC 9110, 6.4.1).
 */
static bool has_body_at_once(const HttpRequest *request)
{
        const Reply *reply = &request->reply;

        return reply->kind == REPLY_MEMORY && reply->len > 0 && !request->is_head && reply->status >= 200 &&
               reply->status != 204 && reply->status != 304;
}

/* For watch_file. */
static void note_file(Conn *conn, const Reply *reply)
{
        if (reply->kind != REPLY_FILE || reply->size == 0)
                return;
        pthread_mutex_lock(&conn->mutex);
        conn->sent_fd = fcntl(reply->fd, F_DUPFD_CLOEXEC, 0); /* -1: the client waits for SILENCE_S, then */
        conn->sent_end = (guint64)reply->offset + (guint64)reply->size;
        pthread_mutex_unlock(&conn->mutex);
}

/* Queues the reply that `answered` announced. On the connection's worker. */
static enum MHD_Result send_reply(HttpRequest *request, Conn *conn)
{
        struct MHD_Response *response;
        enum MHD_Result result;

        note_file(conn, &request->reply);
        response = make_response[request->reply.kind](request, &request->reply);

        request->stage = STAGE_SENT;
        if (!response)
                return MHD_NO;
        add_headers(response, request, conn);
        if (conn->tls && has_body_at_once(request))
                tls_hold_head(conn->tls);
        result = MHD_queue_response(request->connection, (unsigned)request->reply.status, response);
        MHD_destroy_response(response);
        return result;
}

static void fail_with(HttpRequest *request, GError *error)
{
        http_fail(request, error);
        g_clear_error(&error);
}

static void keep_lingering(HttpServer *server, Linger *linger, int fd)
{
        pthread_mutex_lock(&server->mutex);
        if (server->lingering->len < LINGERING_MAX && (linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0) {
                g_array_append_val(server->lingering, *linger);
                pthread_cond_broadcast(&server->changed);
        }
        pthread_mutex_unlock(&server->mutex);
}

/* Answers in mid-body, where the library cannot: writes the reply to the socket and keeps a copy of it, to be
 * emptied by the watcher. The caller returns MHD_NO, which closes the connection. */
static enum MHD_Result refuse_body(HttpRequest *request, Conn *conn)
{
        HttpServer *server = conn->server;
        Linger linger = { .until_ms = clock_monotonic_ms() + LINGER_MS, .left = LINGER_MAX };
        const GPtrArray *headers = request->reply.headers;
        g_autoptr(GString) text = g_string_new(NULL);

        reply_write(&request->reply);
        g_string_printf(text,
                        "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nX-Request-Id: "
                        "%s\r\nConnection: close\r\n"
                        "Content-Length: %" G_GSIZE_FORMAT "\r\n",
                        request->reply.status, request->id, request->reply.len);
        for (guint i = 0; headers && i + 1 < headers->len; i += 2)
                g_string_append_printf(text, "%s: %s\r\n", (const char *)headers->pdata[i],
                                       (const char *)headers->pdata[i + 1]);
        g_string_append(text, "\r\n");
        g_string_append_len(text, request->reply.body, (gssize)request->reply.len);
        if (conn->tls)
                tls_say_last(conn->tls, text->str, text->len);
        else
                (void)send(conn->fd, text->str, text->len,
                           MSG_DONTWAIT | MSG_NOSIGNAL); /* at worst the client sees only the end */
        keep_lingering(server, &linger, conn->fd);
        request->stage = STAGE_SENT;
        return MHD_NO;
}

/* ---- Receiving ---- */

/* It is known who calls; may they use the route? */
static bool admit_caller(HttpRequest *request, GError **error)
{
        const HttpServerConfig *config = &request->server->config;
        const HttpRight *right = &request->right;

        request->caller.user = request->user;
        request->caller.admin = right->admin;
        request->caller.scope = right->scope;
        request->caller.queue = right->queue;
        request->caller.token = right->token;
        request->caller.until_ms = right->until_ms;
        return !request->user || !config->permits ||
               config->permits(request->entry->route, &request->caller, config->arg, error);
}

/* Of a face: it asks for itself, and its handlers decide. */
static bool ask_face(HttpRequest *request, GError **error)
{
        const HttpFace *face = &request->face->face;

        if (!face->authenticate(request, &request->user, &request->right, face->arg, error))
                return false;
        if (face->credential && request->user)
                request->credential = face->credential(request, face->arg);
        return admit_caller(request, error);
}

static bool copy_error(const GError *error, GError **ret)
{
        g_propagate_error(ret, g_error_copy(error));
        return false;
}

/* Whom the certificate of the connection names, asked for once. Its time may have passed since. */
static void take_certificate(HttpRequest *request, Conn *conn)
{
        if (!conn->tls)
                return;
        if (!conn->client_asked)
                (void)tls_client(conn->tls, &conn->client, &conn->client_until_ms, &conn->client_error);
        conn->client_asked = true;
        if (conn->client && clock_now_ms() >= conn->client_until_ms) {
                g_clear_pointer(&conn->client, g_free);
                err_set(&conn->client_error, ERR_UNAUTHENTICATED,
                        "the client's certificate has expired\nConnect with another one, or send a token.");
        }
        request->certificate = (HttpCertificate){ conn->client, conn->client_until_ms, conn->client_error };
}

/* A token goes before a certificate, and that before the peer of the Unix socket, which shows none. */
static bool ask_caller(HttpRequest *request, const Conn *conn, GError **error)
{
        const HttpServerConfig *config = &conn->server->config;
        const char *authorization = lookup_header(request, "Authorization");
        const HttpCertificate *certificate = http_request_certificate(request);

        if (!authorization && certificate && certificate->error)
                return copy_error(certificate->error, error);
        if (!authorization && certificate && config->by_certificate)
                return config->by_certificate(certificate, &request->user, &request->right,
                                              &request->credential, config->arg, error);
        if (!config->authenticate(authorization, conn->peer.uid, request->address, &request->user,
                                  &request->right, config->arg, error))
                return false;
        if (config->credential)
                request->credential = config->credential(authorization, config->arg);
        return true;
}

static bool check_access(HttpRequest *request, const Conn *conn, GError **error)
{
        const HttpServerConfig *config = &conn->server->config;
        const HttpRoute *route = request->entry->route;
        HttpAccess access =
                config->access ? config->access(route, request->address, config->arg) : HTTP_PUBLIC;

        if (access == HTTP_PUBLIC)
                return true;
        if (access == HTTP_NOBODY)
                return err_set(error, ERR_DENIED, "no access rule for '%s %s'", route->method, route->path);
        if (!config->authenticate)
                return err_set(error, ERR_UNAUTHENTICATED, "this server knows no callers");
        if (!ask_caller(request, conn, error) || !admit_caller(request, error))
                return false;
        if (access == HTTP_ADMIN && !request->caller.admin)
                return err_set(error, ERR_DENIED, "only administrators may call '%s %s' (you are '%s')",
                               route->method, http_request_path(request), request->user);
        return true;
}

static void take_params(HttpRequest *request)
{
        const UrlPath *path = &request->path;

        for (guint i = 0; i < request->entry->n_params; i++) {
                const RouteParam *param = &request->entry->params[i];

                if (param->segment >= path->count)
                        request->params[i] = g_strdup("");
                else if (param->rest)
                        request->params[i] = g_strdup(path->text->str + path->segments[param->segment].at);
                else
                        request->params[i] = g_strndup(path->text->str + path->segments[param->segment].at,
                                                       path->segments[param->segment].len);
        }
}

static bool resolve(HttpRequest *request, const char *method, GError **error)
{
        const Face *face = request->face;
        gsize len = strcspn(request->target, "?");
        const char *allow = NULL;

        if (!(face ? url_path_parse_exact : url_path_parse)(request->target, len, &request->path, error))
                return false;
        request->entry = route_find(face ? face->routes : request->server->routes, method, &request->path,
                                    &allow, error);
        if (allow)
                http_reply_header(request, "Allow", allow);
        if (!request->entry)
                return false;
        take_params(request);
        if (!request->target[len])
                return true;
        request->query = face ? url_query_parse_exact(request->target + len + 1)
                              : url_query_parse(request->target + len + 1, error);
        return request->query != NULL;
}

/* The announced length of the body; -1 when it is chunked. */
static bool announced_length(const HttpRequest *request, gint64 *ret, GError **error)
{
        const char *length = lookup_header(request, "Content-Length");

        *ret = 0;
        if (lookup_header(request, "Transfer-Encoding")) {
                *ret = -1;
                return true;
        }
        return !length || number_parse("Content-Length", length, 0, G_MAXINT64, ret, error);
}

static bool set_too_large(const HttpRequest *request, GError **error)
{
        g_autofree char *max = bytes_format(request->entry->route->body_max);

        return err_set(error, ERR_TOO_LARGE, "the body is larger than the %s that '%s %s' takes", max,
                       request->entry->route->method, request->entry->route->path);
}

/* Is it of somebody with an account? */
static bool is_known(const HttpRequest *request)
{
        return request->caller.user != NULL;
}

/* Bytes of a body that wait in memory count for its user, or for where it comes from; who is not known has
 * little of them. Takes them, or refuses with 503. */
static bool take_bytes(HttpRequest *request, gint64 len, GError **error)
{
        HttpServer *server = request->server;
        gint64 max = server->config.body_bytes_max, strangers = server->config.stranger_bytes_max;
        bool known = is_known(request);

        pthread_mutex_lock(&server->bodies_mutex);
        SharesVerdict verdict =
                known ? shares_take(server->bodies, request->caller.user, len, server->config.user_bytes_max,
                                    max - shares_all(server->strangers))
                      : shares_take(server->strangers, request->holder, len,
                                    strangers < max ? strangers / STRANGER_SHARE : strangers,
                                    MIN(strangers, max - shares_all(server->bodies)));
        server->body_bytes = shares_all(server->bodies) + shares_all(server->strangers);
        pthread_mutex_unlock(&server->bodies_mutex);
        if (verdict == SHARES_TAKEN)
                request->accounted += len;
        else if (verdict == SHARES_OWN_FULL)
                return err_set(error, ERR_UNAVAILABLE,
                               "the server holds as many bytes of requests of '%s' as it may of one\n"
                               "Send fewer requests at a time.",
                               known ? request->caller.user : request->holder);
        else
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "the server holds as many bytes of requests as it may\nTry again in a moment.");
        return true;
}

/* Gives back what a refused or finished body holds of them. */
static void release_body(HttpRequest *request)
{
        HttpServer *server = request->server;

        if (!request->accounted)
                return;
        pthread_mutex_lock(&server->bodies_mutex);
        if (is_known(request))
                shares_give(server->bodies, request->caller.user, request->accounted);
        else
                shares_give(server->strangers, request->holder, request->accounted);
        server->body_bytes = shares_all(server->bodies) + shares_all(server->strangers);
        pthread_mutex_unlock(&server->bodies_mutex);
        request->accounted = 0;
}

/* Of a body that goes to the disk: `bytes` more of it. */
static bool hold_body(HttpRequest *request, gint64 bytes, GError **error)
{
        const HttpServerConfig *config = &request->server->config;
        int files = request->held_bytes == 0; /* all pieces are one file */

        if (!config->hold || !request->user || bytes <= 0)
                return true;
        if (!config->hold(request->user, bytes, files, config->hold_arg, error))
                return false;
        request->held_bytes += bytes;
        request->release = config->release;
        request->hold_arg = config->hold_arg;
        return true;
}

static bool open_body(HttpRequest *request, gint64 announced, GError **error)
{
        HttpServer *server = request->server;
        const HttpRoute *route = request->entry->route;

        if (announced == 0 && route->body != HTTP_BODY_FILE)
                return true;
        if (route->body == HTTP_BODY_NONE)
                return err_set(error, ERR_INVALID, "'%s %s' takes no body", route->method, route->path);
        if (announced > 0 && (guint64)announced > route->body_max)
                return set_too_large(request, error);
        if (route->body == HTTP_BODY_MEMORY) {
                if (announced > 0 && !take_bytes(request, announced, error))
                        return false;
                release_body(request); /* what is only announced takes nothing from others */
                request->body = g_string_new(NULL);
                return true;
        }
        if (!hold_body(request, announced, error))
                return false;
        request->body_file = g_strdup_printf("%s/body-%s-XXXXXX", server->temp_dir, request->id);
        request->body_fd = g_mkstemp_full(request->body_file, O_RDWR | O_CLOEXEC, 0600);
        if (request->body_fd < 0) {
                int err = errno;
                g_autofree char *path = g_steal_pointer(&request->body_file);

                return err_set_errno(error, err, "cannot create '%s'", path);
        }
        return true;
}

static const Face *find_face(const HttpServer *server, const char *target)
{
        for (guint i = 0; i < server->faces->len; i++) {
                const Face *face = &g_array_index(server->faces, Face, i);

                if (g_str_has_prefix(target, face->face.prefix))
                        return face;
        }
        return NULL;
}

static _Atomic gint64 *count_of(HttpServer *server, bool local)
{
        return local ? &server->local_connected : &server->tcp_connected;
}

static bool set_over(HttpServer *server, const Conn *conn, GError **error)
{
        pthread_mutex_lock(&server->mutex);
        gint64 limit = crowd_limit(server->crowd, conn->peer.local);
        pthread_mutex_unlock(&server->mutex);
        server->refused++;
        if (conn->place == CROWD_OWN_FULL)
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "'%s' has %d connections to the server, as many as one may\nClose some of them.",
                        conn->peer.holder, server->config.max_per_holder);
        return err_set(error, ERR_UNAVAILABLE,
                       "the server has %" G_GINT64_FORMAT
                       " connections, as many as it takes\nTry again later.",
                       limit);
}

/* Where the request comes from, and for whom it counts until it is known whose it is. */
static void name_origin(HttpRequest *request, const Conn *conn)
{
        g_autofree char *from = forwarded_for(conn->peer.address, lookup_header(request, "X-Forwarded-For"),
                                              conn->server->config.trusted_proxies);

        g_strlcpy(request->address, from, sizeof request->address);
        if (strcmp(from, conn->peer.address) == 0)
                g_strlcpy(request->holder, conn->peer.holder, sizeof request->holder);
        else
                peer_holder(from, (uid_t)-1, request->holder);
        request->caller.address = request->address;
        request->caller.port = conn->peer.port;
        request->caller.pid = conn->peer.pid;
}

/* All that can be said before the body has come. */
static bool accept_head(HttpRequest *request, Conn *conn, const char *method, gint64 *ret_announced,
                        GError **error)
{
        HttpServer *server = conn->server;

        name_origin(request, conn);
        request->face = find_face(server, request->target);
        if (!announced_length(request, ret_announced, error))
                return false;
        if (!is_served(conn))
                return set_over(server, conn, error);
        if (server->stopping)
                return set_stopping(error);
        take_certificate(request, conn);
        return resolve(request, method, error) &&
               (request->face ? ask_face(request, error) : check_access(request, conn, error)) &&
               open_body(request, *ret_announced, error);
}

static enum MHD_Result add_field(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                 const char *value, size_t value_len)
{
        framing_add(arg, name, name_len, value ? value : "", value ? value_len : 0);
        return MHD_YES;
}

/* Is it beyond doubt where the request ends? */
static bool check_framing(const HttpRequest *request, GError **error)
{
        Framing framing = { 0 };

        (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, add_field, &framing);
        return framing_check(&framing, request->http_1_1, error);
}

/* How much of a body that is refused is read, so that the connection can be kept. */
static gsize discard_max(const HttpRequest *request)
{
        return is_known(request) ? DISCARD_MAX : (gsize)request->server->config.stranger_discard_max;
}

static enum MHD_Result take_head(HttpRequest *request, Conn *conn, const char *method)
{
        const char *expect = lookup_header(request, "Expect");
        g_autoptr(GError) error = NULL;
        gint64 announced = 0;

        conn->received = 0;
        conn->since_ms = clock_monotonic_ms();
        int header = PHASE_HEADER;
        if (!atomic_compare_exchange_strong(&conn->phase, &header, PHASE_BODY))
                return MHD_NO;
        request->stage = STAGE_BODY;
        if (!check_framing(request, &error)) {
                http_fail(request, error);
                return refuse_body(request, conn);
        }
        bool accepted = accept_head(request, conn, method, &announced, &error);
        conn->known = is_known(request);
        if (accepted)
                return MHD_YES;
        http_fail(request, error);
        request->stage = STAGE_DISCARD;
        if (announced != 0 && expect && g_ascii_strcasecmp(expect, "100-continue") == 0) {
                int body = PHASE_BODY; /* which does not come: the client waits for leave to send it */

                return atomic_compare_exchange_strong(&conn->phase, &body, PHASE_BUSY)
                               ? send_reply(request, conn)
                               : MHD_NO;
        }
        return announced > (gint64)discard_max(request) ? refuse_body(request, conn) : MHD_YES;
}

static bool take_memory(HttpRequest *request, const char *data, gsize len, GError **error)
{
        if (!take_bytes(request, (gint64)len, error))
                return false;
        g_string_append_len(request->body, data, (gssize)len);
        return true;
}

static bool take_piece(HttpRequest *request, const char *data, gsize len, GError **error)
{
        const HttpRoute *route = request->entry->route;

        if (route->body == HTTP_BODY_NONE)
                return err_set(error, ERR_INVALID, "'%s %s' takes no body", route->method, route->path);
        request->body_len += len;
        if (request->body_len > route->body_max)
                return set_too_large(request, error);
        if (route->body == HTTP_BODY_MEMORY)
                return take_memory(request, data, len, error);
        if (request->body_len > (guint64)request->held_bytes &&
            !hold_body(request, MAX(HOLD_STEP, (gint64)request->body_len - request->held_bytes), error))
                return false;
        return file_write_all(request->body_fd, data, len, error) ||
               err_prefix(error, "the body could not be kept: ");
}

static enum MHD_Result take_body(HttpRequest *request, Conn *conn, const char *data, size_t *len)
{
        g_autoptr(GError) error = NULL;

        conn->received += (gint64)*len;
        if (request->stage == STAGE_BODY && !take_piece(request, data, *len, &error)) {
                http_fail(request, error);
                request->stage = STAGE_DISCARD;
                release_body(request);
                if (request->body)
                        g_string_free(g_steal_pointer(&request->body), TRUE);
        }
        if (request->stage == STAGE_DISCARD) {
                request->discarded += *len;
                if (request->discarded > discard_max(request))
                        return refuse_body(request, conn);
        }
        *len = 0;
        return MHD_YES;
}

/* ---- Answering ---- */

/* Sends the answer when there is one, else suspends until there is: both under the request's mutex, so none
 * is missed. */
static enum MHD_Result send_or_wait(HttpRequest *request, Conn *conn)
{
        bool stopping = false;

        pthread_mutex_lock(&request->mutex);
        bool answered = request->answered;
        if (!answered && !(stopping = conn->server->stopping)) {
                request->suspended = true;
                suspend_connection(request->connection);
        }
        pthread_mutex_unlock(&request->mutex);
        if (stopping) {
                GError *error = NULL;

                set_stopping(&error);
                fail_with(request, error);
        }
        return answered || stopping ? send_reply(request, conn) : MHD_YES;
}

static void call_handler(HttpRequest *request)
{
        HttpServer *server = request->server;

        request->entry->route->handler(request, request->face ? request->face->face.arg : server->arg);
}

/* Does nobody wait for the answer any more (CancelFunc)? A client that closes even half of its connection
 * counts as gone. */
static bool is_over(void *arg)
{
        HttpRequest *request = arg;
        bool over;

        pthread_mutex_lock(&request->mutex);
        over = request->answered || request->server->stopping ||
               (request->suspended && is_left(request->connection));
        pthread_mutex_unlock(&request->mutex);
        return over;
}

/* On the pool. Takes the reference. */
static void run_on_pool(bool stopped, void *arg)
{
        HttpRequest *request = arg;

        if (stopped) {
                GError *error = NULL;

                set_stopping(&error);
                fail_with(request, error);
        } else if (!is_over(request)) {
                cancel_begin(is_over, request);
                call_handler(request);
                cancel_end();
        }
        http_request_unref(request);
}

/* Takes the reference. */
static void push_handler(HttpRequest *request)
{
        const char *user = request->caller.user;
        GError *error = NULL;

        if (pool_push(request->server->pool, user ? user : "", run_on_pool, request, &error))
                return;
        fail_with(request, error);
        http_request_unref(request);
}

static enum MHD_Result run_handler(HttpRequest *request, Conn *conn)
{
        int body = PHASE_BODY;

        if (!atomic_compare_exchange_strong(&conn->phase, &body, PHASE_BUSY))
                return MHD_NO;
        if (request->stage == STAGE_DISCARD)
                return send_reply(request, conn);
        request->stage = STAGE_WAIT;
        if (request->body_fd >= 0) {
                close(request->body_fd);
                request->body_fd = -1;
        }
        http_request_ref(request);
        if (request->entry->route->on_pool) {
                push_handler(request);
        } else {
                call_handler(request);
                http_request_unref(request);
        }
        return send_or_wait(request, conn);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **context)
{
        HttpRequest *request = *context;
        Conn *conn = conn_of(connection);

        switch (request->stage) {
        case STAGE_HEADER:
                request->http_1_1 = g_str_equal(version, MHD_HTTP_VERSION_1_1);
                request->is_head = g_str_equal(method, MHD_HTTP_METHOD_HEAD);
                return take_head(request, conn, method);
        case STAGE_BODY:
        case STAGE_DISCARD: return *len ? take_body(request, conn, data, len) : run_handler(request, conn);
        case STAGE_WAIT: return send_or_wait(request, conn);
        case STAGE_SENT: break;
        }
        return MHD_YES;
}

/* ---- The life of requests and connections ---- */

/* The request line has come: the earliest moment the library tells us of. */
static void *on_request_line(void *cls, const char *target, struct MHD_Connection *connection)
{
        HttpServer *server = cls;
        Conn *conn = conn_of(connection);
        HttpRequest *request = request_new(server, &request_ops, target);

        request->connection = connection;
        server->active++;
        conn->since_ms = request->started_us / 1000;
        int idle = PHASE_IDLE;
        (void)atomic_compare_exchange_strong(&conn->phase, &idle, PHASE_HEADER); /* else it is cut already */
        pthread_mutex_lock(&conn->mutex);
        conn->request = request;
        pthread_mutex_unlock(&conn->mutex);
        return request;
}

static void count_latency(HttpServer *server, gint64 us)
{
        int bucket = 0;

        while (bucket < 15 && us > ((gint64)LATENCY_BASE_US << bucket))
                bucket++;
        server->latency_count++;
        server->latency_us += us;
        server->latency[bucket]++;
}

static void count_request(HttpServer *server, const HttpRequest *request, gint64 now_us)
{
        int status = request->reply.status;

        server->requests++;
        if (status >= 500)
                server->errors_5xx++;
        else if (status >= 400)
                server->errors_4xx++;
        if (request->reply.kind != REPLY_STREAM && request->reply.kind != REPLY_UPGRADE)
                count_latency(server, now_us - request->started_us);
}

static void request_detach(HttpRequest *request)
{
        HttpServer *server = request->server;

        pthread_mutex_lock(&request->mutex);
        request->connection = NULL;
        request->answered = true; /* nobody is there to answer to */
        HttpStreamHandle *unread = g_steal_pointer(&request->reply.stream);
        WebSocket *unopened = g_steal_pointer(&request->reply.socket);
        pthread_mutex_unlock(&request->mutex);
        if (unread)
                release_stream(server, unread);
        if (unopened)
                websocket_abandon(unopened);
        release_body(request);
        if (request->body_file)
                (void)unlink(request->body_file); /* it may have been renamed away */
}

/* With conn->mutex held. */
static void forget_file(Conn *conn)
{
        if (conn->sent_fd >= 0)
                close(conn->sent_fd);
        conn->sent_fd = -1;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
        HttpServer *server = cls;
        HttpRequest *request = *context;
        Conn *conn = conn_of(connection);
        gint64 now_us = g_get_monotonic_time();

        if (!request)
                return;
        *context = NULL;
        pthread_mutex_lock(&conn->mutex);
        conn->request = NULL;
        forget_file(conn);
        pthread_mutex_unlock(&conn->mutex);
        if (request->stage != STAGE_HEADER)
                count_request(server, request, now_us);
        request_detach(request);
        request_unref_memory(request);
        conn->used = true;
        conn->since_ms = now_us / 1000;
        if (conn->phase != PHASE_CUT)
                conn->phase = PHASE_IDLE;
        if (--server->active == 0 && server->stopping) {
                pthread_mutex_lock(&server->mutex);
                pthread_cond_broadcast(&server->changed);
                pthread_mutex_unlock(&server->mutex);
        }
}

static void cut(Conn *conn, int phase)
{
        static const char body[] =
                "{\"code\":\"timeout\",\"message\":\"the request came too slowly\",\"hint\":\"\"}";
        char late[256]; /* the body and 110 bytes of head */
        int len = g_snprintf(
                late, sizeof late,
                "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
                "Content-Length: %d\r\n\r\n%s",
                (int)sizeof body - 1, body);

        if (!atomic_compare_exchange_strong(&conn->phase, &phase, PHASE_CUT))
                return;
        if (phase != PHASE_IDLE && !conn->tls) /* a session is its worker's */
                (void)send(conn->fd, late, (gsize)len, MSG_DONTWAIT | MSG_NOSIGNAL); /* a courtesy */
        (void)shutdown(conn->fd, SHUT_RDWR);
}

/* Of the connections that this holder has: the one whose request is the longest in coming. With the server's
 * mutex held. */
static void cut_one_of(HttpServer *server, const char *holder)
{
        gint64 since = G_MAXINT64;
        Conn *oldest = NULL;

        for (GList *link = server->connections.head; link; link = link->next) {
                Conn *conn = link->data;

                if ((conn->phase == PHASE_IDLE || conn->phase == PHASE_HEADER ||
                     (conn->phase == PHASE_BODY && !conn->known)) &&
                    conn->place == CROWD_SERVED && conn->since_ms < since &&
                    strcmp(conn->peer.holder, holder) == 0) {
                        oldest = conn;
                        since = conn->since_ms;
                }
        }
        if (oldest)
                cut(oldest, oldest->phase);
}

static void conn_open(HttpServer *server, struct MHD_Connection *connection, void **socket_context)
{
        Conn *conn = g_new0(Conn, 1);
        const char *instead_of;

        conn->server = server;
        conn->link.data = conn;
        conn->sent_fd = -1;
        conn->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        conn->since_ms = clock_monotonic_ms();
        pthread_mutex_init(&conn->mutex, NULL);
        peer_read(conn->fd, &conn->peer);
        if (server->config.tls && !conn->peer.local)
                conn->tls = tls_connection_new(
                        server->config.tls,
                        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session,
                        conn->fd);
        (*count_of(server, conn->peer.local))++;
        pthread_mutex_lock(&server->mutex);
        conn->place = crowd_enter(server->crowd, &conn->peer, &instead_of);
        if (instead_of)
                cut_one_of(server, instead_of);
        g_queue_push_tail_link(&server->connections, &conn->link);
        pthread_mutex_unlock(&server->mutex);
        if (conn->place == CROWD_DROPPED) {
                server->refused++;
                cut(conn, PHASE_IDLE);
        }
        *socket_context = conn;
}

/* The library closes the descriptor after this returns, so under the server's mutex a listed connection's
 * descriptor is its own. */
static void conn_close(HttpServer *server, void **socket_context)
{
        Conn *conn = *socket_context;

        pthread_mutex_lock(&server->mutex);
        g_queue_unlink(&server->connections, &conn->link);
        crowd_leave(server->crowd, &conn->peer, conn->place);
        pthread_mutex_unlock(&server->mutex);
        (*count_of(server, conn->peer.local))--;
        forget_file(conn);
        pthread_mutex_destroy(&conn->mutex);
        tls_connection_free(conn->tls);
        g_clear_error(&conn->client_error);
        g_free(conn->client);
        g_free(conn);
        *socket_context = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                conn_open(cls, connection, socket_context);
        else
                conn_close(cls, socket_context);
}

/* A few more connections than the limit are let in, to be told 503; above that they are dropped. */
static enum MHD_Result on_accept(void *cls, const struct sockaddr *address, socklen_t len)
{
        HttpServer *server = cls;

        if (*count_of(server, address->sa_family == AF_UNIX) <
            server->config.max_connections + OVER_LIMIT_MAX)
                return MHD_YES;
        server->refused++;
        return MHD_NO;
}

/* Paths and queries are decoded by net/url.c. */
static size_t leave_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
        return strlen(text);
}

/* ---- The watcher ---- */

/* Did less come of the body than the least rate, since it began or over the last while? So that one that
 * came fast may not stand still for long. */
static bool is_too_slow(Conn *conn, const HttpServerConfig *config, gint64 now)
{
        gint64 began = conn->since_ms, received = conn->received, passed;

        if (conn->pace_of != began) {
                conn->pace_of = conn->pace_ms = began;
                conn->pace_len = 0;
        }
        passed = now - conn->pace_ms;
        if (passed <= config->body_grace_ms * (conn->pace_ms == began ? 1 : PACE_FACTOR))
                return false;
        if (received - conn->pace_len < config->body_min_rate * passed / 1000)
                return true;
        conn->pace_ms = now;
        conn->pace_len = received;
        return false;
}

/* How long the phase may last; a body may take as long as it comes fast enough, if it is known whose it is.
 */
static bool is_overdue(const HttpServer *server, Conn *conn, int phase, gint64 now)
{
        const HttpServerConfig *config = &server->config;
        gint64 passed = now - conn->since_ms;

        switch (phase) {
        case PHASE_IDLE: return passed > config->header_deadline_ms * (conn->used ? IDLE_FACTOR : 1);
        case PHASE_HEADER: return passed > config->header_deadline_ms;
        case PHASE_BODY:
                return (!conn->known && config->stranger_body_ms && passed > config->stranger_body_ms) ||
                       is_too_slow(conn, config, now);
        default: return false;
        }
}

/* A file that was cut while it is sent: what was promised will not come, for which its client would wait
 * until SILENCE_S. A size that is known is enough: a file system that does not answer must not hold up the
 * watcher. */
static void watch_file(Conn *conn)
{
        struct statx found;

        pthread_mutex_lock(&conn->mutex);
        if (conn->sent_fd >= 0 &&
            statx(conn->sent_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &found) == 0 &&
            found.stx_size < conn->sent_end)
                (void)shutdown(conn->fd, SHUT_RDWR);
        pthread_mutex_unlock(&conn->mutex);
}

static void watch_connections(HttpServer *server, gint64 now)
{
        for (GList *link = server->connections.head; link; link = link->next) {
                Conn *conn = link->data;
                int phase = conn->phase;

                if (is_overdue(server, conn, phase, now))
                        cut(conn, phase);
                watch_file(conn);
        }
}

static bool linger_is_over(Linger *linger, gint64 now)
{
        char waste[16 << 10];

        while (linger->left > 0) {
                ssize_t len = recv(linger->fd, waste, MIN(sizeof waste, linger->left), MSG_DONTWAIT);

                if (len < 0 && (errno == EAGAIN || errno == EINTR))
                        return now > linger->until_ms;
                if (len <= 0)
                        return true;
                linger->left -= (gsize)len;
        }
        return true;
}

static void watch_lingering(HttpServer *server, gint64 now)
{
        for (guint i = server->lingering->len; i-- > 0;) {
                Linger *linger = &g_array_index(server->lingering, Linger, i);

                if (!linger_is_over(linger, now))
                        continue;
                close(linger->fd);
                g_array_remove_index_fast(server->lingering, i);
        }
}

/* Those whose right to be here was taken back go. */
static void watch_credentials(HttpServer *server, gint64 now)
{
        const HttpServerConfig *config = &server->config;

        if (!config->is_valid || now - server->credentials_ms < CREDENTIALS_MS)
                return;
        server->credentials_ms = now;
        pthread_mutex_lock(&server->streams_mutex);
        for (guint i = 0; i < server->streams->len; i++) {
                HttpStreamHandle *stream = server->streams->pdata[i];
                const char *credential = stream_credential(stream);

                if (credential && !config->is_valid(credential, config->arg))
                        stream_finish(stream);
        }
        for (guint i = 0; i < server->sockets->len; i++) {
                WebSocket *socket = server->sockets->pdata[i];
                const char *credential = websocket_credential(socket);

                if (credential && !config->is_valid(credential, config->arg))
                        websocket_close(socket, 1008,
                                        "the token was revoked, has expired, or its password was changed");
        }
        pthread_mutex_unlock(&server->streams_mutex);
}

/* At the second look what came before the end has been forwarded. */
static void watch_wires(HttpServer *server)
{
        GHashTableIter iter;
        gpointer socket, value;

        pthread_mutex_lock(&server->streams_mutex);
        g_hash_table_iter_init(&iter, server->wires);
        while (g_hash_table_iter_next(&iter, &socket, &value)) {
                Wire *wire = value;
                struct pollfd poll_fd = { .fd = wire->fd, .events = POLLRDHUP };

                if (wire->left)
                        websocket_close(socket, 1001, "the client has left");
                wire->left = poll(&poll_fd, 1, 0) > 0;
        }
        pthread_mutex_unlock(&server->streams_mutex);
}

static void watch_streams(HttpServer *server, gint64 now)
{
        pthread_mutex_lock(&server->streams_mutex);
        for (guint i = 0; i < server->streams->len; i++) {
                HttpStreamHandle *stream = server->streams->pdata[i];

                if (now - stream_born_ms(stream) > server->config.stream_max_age_ms)
                        stream_finish(stream);
                else
                        stream_look_after(stream, now - server->config.heartbeat_ms);
        }
        pthread_mutex_unlock(&server->streams_mutex);
}

static void init_cond(pthread_cond_t *cond)
{
        pthread_condattr_t monotonic;

        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(cond, &monotonic);
        pthread_condattr_destroy(&monotonic);
}

/* Waits for a change; false at `until_us` of the monotonic clock. */
static bool wait_changed(HttpServer *server, gint64 until_us)
{
        struct timespec until = { .tv_sec = until_us / G_USEC_PER_SEC,
                                  .tv_nsec = until_us % G_USEC_PER_SEC * 1000 };

        return pthread_cond_timedwait(&server->changed, &server->mutex, &until) == 0;
}

static gpointer watch(gpointer data)
{
        HttpServer *server = data;
        gint64 step = CLAMP(MIN(MIN(server->config.header_deadline_ms, server->config.body_grace_ms),
                                server->config.heartbeat_ms) /
                                    4,
                            10, 1000);

        pthread_mutex_lock(&server->mutex);
        while (!server->stop) {
                gint64 wait_ms = server->lingering->len ? MIN(step, LINGER_STEP_MS) : step;

                (void)wait_changed(server, g_get_monotonic_time() + wait_ms * 1000);
                gint64 now = clock_monotonic_ms();
                watch_connections(server, now);
                watch_lingering(server, now);
                pthread_mutex_unlock(&server->mutex);
                watch_streams(server, now);
                watch_wires(server);
                watch_credentials(server, now);
                pthread_mutex_lock(&server->mutex);
        }
        pthread_mutex_unlock(&server->mutex);
        return NULL;
}

/* ---- Starting ---- */

/* The library wants a certificate to begin with. Each connection gets its own from tls_connection_new. */
static int show_nothing(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                        gnutls_pcert_st **pcert, unsigned *pcert_len, gnutls_ocsp_data_st **ocsp,
                        unsigned *ocsp_len, gnutls_privkey_t *key, unsigned *flags)
{
        return -1;
}

/* `secure`: speaks TLS. */
static struct MHD_Daemon *start_daemon(HttpServer *server, int fd, const char *name, bool secure,
                                       GError **error)
{
        const struct MHD_OptionItem tls[] = {
                { MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)show_nothing },
                { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)tls_priorities },
                { MHD_OPTION_END, 0, NULL },
        };
        struct MHD_Daemon *daemon = MHD_start_daemon(
                MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
                        (secure ? MHD_USE_TLS : 0),
                0, on_accept, server, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
                MHD_OPTION_THREAD_POOL_SIZE, (unsigned)server->config.workers, MHD_OPTION_CONNECTION_LIMIT,
                (unsigned)(server->config.max_connections + OVER_LIMIT_MAX) *
                        (unsigned)server->config.workers,
                MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
                MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_URI_LOG_CALLBACK,
                on_request_line, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, server,
                MHD_OPTION_ARRAY, secure ? tls : tls + G_N_ELEMENTS(tls) - 1, MHD_OPTION_END);

        if (!daemon) {
                close(fd);
                err_set(error, ERR_FAILED, "cannot start the server on '%s'", name);
        }
        return daemon;
}

static bool start(HttpServer *server, const char *listen, GError **error)
{
        if (listen) {
                int fd = listen_tcp(listen, &server->port, error);

                if (fd < 0 || !(server->tcp = start_daemon(server, fd, listen, server->config.tls, error)))
                        return false;
        }
        if (server->socket_path) {
                int fd = listen_unix(server->socket_path, &server->socket_inode, error);

                if (fd < 0 || !(server->local = start_daemon(server, fd, server->socket_path, false, error)))
                        return false;
        }
        return true;
}

static void set_defaults(HttpServerConfig *config)
{
        config->workers = config->workers < 2 ? 2 : config->workers;
        config->max_connections = config->max_connections ? config->max_connections : 4096;
        config->max_per_holder = config->max_per_holder ? config->max_per_holder : config->max_connections;
        config->max_streams = config->max_streams ? config->max_streams : 1000;
        config->max_streams_per_user = config->max_streams_per_user ? config->max_streams_per_user : 100;
        config->pool_threads = config->pool_threads ? config->pool_threads : 8;
        config->pool_line_max = config->pool_line_max ? config->pool_line_max : 64;
        config->body_bytes_max = config->body_bytes_max ? config->body_bytes_max : 256 << 20;
        config->user_bytes_max = config->user_bytes_max ? config->user_bytes_max : config->body_bytes_max;
        config->stranger_bytes_max =
                config->stranger_bytes_max ? config->stranger_bytes_max : config->body_bytes_max;
        config->stranger_discard_max =
                config->stranger_discard_max ? config->stranger_discard_max : DISCARD_MAX;
        config->header_deadline_ms = config->header_deadline_ms ? config->header_deadline_ms : 10000;
        config->body_min_rate = config->body_min_rate ? config->body_min_rate : 1024;
        config->body_grace_ms = config->body_grace_ms ? config->body_grace_ms : 10000;
        config->heartbeat_ms = config->heartbeat_ms ? config->heartbeat_ms : 15000;
        config->stream_max_age_ms = config->stream_max_age_ms ? config->stream_max_age_ms : 600000;
        config->websocket_message_max =
                config->websocket_message_max ? config->websocket_message_max : 64 << 10;
        config->websocket_out_max = config->websocket_out_max ? config->websocket_out_max : 4 << 20;
}

static void face_clear(void *data)
{
        route_table_free(((Face *)data)->routes);
}

static bool open_faces(HttpServer *server, GError **error)
{
        for (const HttpFace *face = server->config.faces; face && face->prefix; face++) {
                Face row = { *face, route_table_new_exact(face->routes, error) };

                if (!row.routes)
                        return false;
                g_array_append_val(server->faces, row);
        }
        return true;
}

/* Two threads of one user that compute would leave a machine of two cores to nobody else. */
static int share_of_pool(int threads)
{
        return MAX(1, MIN(threads / 4, (int)g_get_num_processors() / 2));
}

HttpServer *http_server_new(const HttpServerConfig *config, const HttpRoute *const *routes, void *arg,
                            GError **error)
{
        g_autoptr(HttpServer) server = g_new0(HttpServer, 1);

        server->config = *config;
        set_defaults(&server->config);
        server->temp_dir = g_strdup(config->temp_dir ? config->temp_dir : g_get_tmp_dir());
        server->socket_path = g_strdup(config->socket_path);
        server->arg = arg;
        server->pool = pool_new(&(PoolConfig){ .threads = server->config.pool_threads,
                                               .share = share_of_pool(server->config.pool_threads),
                                               .line_max = server->config.pool_line_max });
        server->lingering = g_array_new(FALSE, FALSE, sizeof(Linger));
        server->streams = g_ptr_array_new();
        server->sockets = g_ptr_array_new();
        server->wires = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        server->bodies = shares_new();
        server->strangers = shares_new();
        server->crowd = crowd_new(&(CrowdLimits){
                .max = server->config.max_connections,
                .kept = config->socket_path ? server->config.max_connections / LOCAL_SHARE : 0,
                .own = server->config.max_per_holder,
                .told = OVER_LIMIT_MAX,
                .proxies = server->config.trusted_proxies });
        server->faces = g_array_new(FALSE, FALSE, sizeof(Face));
        g_array_set_clear_func(server->faces, face_clear);
        server->users = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_queue_init(&server->connections);
        pthread_mutex_init(&server->mutex, NULL);
        pthread_mutex_init(&server->streams_mutex, NULL);
        pthread_mutex_init(&server->bodies_mutex, NULL);
        init_cond(&server->changed);
        server->routes = route_table_new(routes, error);
        if (!server->routes || !open_faces(server, error) || !start(server, config->listen, error))
                return NULL;
        server->watcher = g_thread_new("http-watch", watch, server);
        return g_steal_pointer(&server);
}

/* ---- Stopping ---- */

/* Nobody connects any more. MHD_quiesce_daemon aborts when a busy worker takes the listening socket out of
 * its epoll set at the same moment (0.9.75), so the socket is closed under the library: another one, that
 * nobody connects to, takes its number, and the library closes that in its time. */
static void quiesce(struct MHD_Daemon *daemon)
{
        const union MHD_DaemonInfo *info =
                daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_LISTEN_FD) : NULL;
        fd_auto int deaf = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (info && (deaf < 0 || dup3(deaf, info->listen_fd, O_CLOEXEC) < 0))
                (void)shutdown(info->listen_fd, SHUT_RDWR); /* the workers spin until they are stopped */
}

/* Answers what waits. `stopping` is set, so nothing new begins to wait. */
static void answer_waiting(HttpServer *server)
{
        g_autoptr(GPtrArray) waiting = g_ptr_array_new();

        pthread_mutex_lock(&server->mutex);
        for (GList *link = server->connections.head; link; link = link->next) {
                Conn *conn = link->data;

                pthread_mutex_lock(&conn->mutex);
                if (conn->request) {
                        request_ref_memory(conn->request);
                        g_ptr_array_add(waiting, conn->request);
                }
                pthread_mutex_unlock(&conn->mutex);
        }
        pthread_mutex_unlock(&server->mutex);
        for (guint i = 0; i < waiting->len; i++) {
                HttpRequest *request = waiting->pdata[i];

                pthread_mutex_lock(&request->mutex);
                bool suspended = request->suspended;
                pthread_mutex_unlock(&request->mutex);
                if (suspended) {
                        GError *error = NULL;

                        set_stopping(&error);
                        fail_with(request, error);
                }
                request_unref_memory(request);
        }
}

static void finish_streams(HttpServer *server)
{
        pthread_mutex_lock(&server->streams_mutex);
        for (guint i = 0; i < server->streams->len; i++)
                stream_finish(server->streams->pdata[i]);
        pthread_mutex_unlock(&server->streams_mutex);
}

/* No socket is admitted any more, so there is a loop now or never. */
static WebSocketLoop *quiesce_sockets(HttpServer *server)
{
        pthread_mutex_lock(&server->streams_mutex);
        WebSocketLoop *loop = server->loop;
        pthread_mutex_unlock(&server->streams_mutex);
        if (loop)
                websocket_loop_quiesce(loop);
        return loop;
}

static void wait_for_requests(HttpServer *server)
{
        gint64 until = g_get_monotonic_time() + STOP_MS * 1000;

        pthread_mutex_lock(&server->mutex);
        while (server->active > 0 && wait_changed(server, until))
                ;
        pthread_mutex_unlock(&server->mutex);
}

static void stop_watcher(HttpServer *server)
{
        if (!server->watcher)
                return;
        pthread_mutex_lock(&server->mutex);
        server->stop = true;
        pthread_cond_broadcast(&server->changed);
        pthread_mutex_unlock(&server->mutex);
        g_thread_join(server->watcher);
}

static void remove_socket(const HttpServer *server)
{
        struct stat status;

        if (server->socket_inode && stat(server->socket_path, &status) == 0 &&
            status.st_ino == server->socket_inode)
                (void)unlink(server->socket_path);
}

static void free_parts(HttpServer *server)
{
        for (guint i = 0; i < server->lingering->len; i++)
                close(g_array_index(server->lingering, Linger, i).fd);
        g_array_unref(server->lingering);
        g_ptr_array_unref(server->streams);
        g_ptr_array_unref(server->sockets);
        g_hash_table_unref(server->wires);
        g_hash_table_unref(server->users);
        pool_free(server->pool);
        route_table_free(server->routes);
        g_array_unref(server->faces);
        pthread_mutex_destroy(&server->mutex);
        websocket_loop_free(server->loop);
        pthread_mutex_destroy(&server->streams_mutex);
        pthread_mutex_destroy(&server->bodies_mutex);
        shares_free(server->bodies);
        shares_free(server->strangers);
        crowd_free(server->crowd);
        pthread_cond_destroy(&server->changed);
        g_free(server->temp_dir);
        g_free(server->socket_path);
        g_free(server);
}

void http_server_free(HttpServer *server)
{
        if (!server)
                return;
        server->stopping = true;
        quiesce(server->tcp);
        quiesce(server->local);
        remove_socket(server);
        answer_waiting(server);
        pool_stop(server->pool); /* what runs sees that the server is stopping */
        finish_streams(server);
        WebSocketLoop *loop = quiesce_sockets(server);
        wait_for_requests(server);
        if (loop)
                websocket_loop_stop(loop);
        stop_watcher(server);
        if (server->tcp)
                MHD_stop_daemon(server->tcp);
        if (server->local)
                MHD_stop_daemon(server->local);
        free_parts(server);
}

int http_server_port(HttpServer *server)
{
        return server->port;
}

void http_server_metrics(HttpServer *server, HttpMetrics *ret)
{
        pthread_mutex_lock(&server->streams_mutex);
        gint64 streams = server->streams->len, websockets = server->sockets->len;
        pthread_mutex_unlock(&server->streams_mutex);

        *ret = (HttpMetrics){ .requests = server->requests,
                              .errors_4xx = server->errors_4xx,
                              .errors_5xx = server->errors_5xx,
                              .connections = server->tcp_connected + server->local_connected,
                              .suspended = server->suspended,
                              .streams = streams,
                              .refused = server->refused,
                              .websockets = websockets,
                              .body_bytes = server->body_bytes,
                              .latency_count = server->latency_count,
                              .latency_us_sum = server->latency_us };
        for (gsize i = 0; i < G_N_ELEMENTS(ret->latency_bucket); i++)
                ret->latency_bucket[i] = server->latency[i];
}
