/* Followers: event streams and WebSockets, which stay when their requests are answered. Counts them for each
 * user, and ends those whose client has gone, whose credential does not hold any more, or that are old. */
#include "net/connection.h"

#include <poll.h>
#include <string.h>

#include "base/err.h"
#include "net/websocket-loop.h"

enum {
        CREDENTIALS_MS = 1000,   /* between two looks at whether followers may stay */
        SOCKETS_OUT_FACTOR = 64, /* limit of unread bytes of all WebSockets, in limits of one */
};

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

bool follower_admit_stream(HttpRequest *request, HttpStreamHandle *stream, GError **error)
{
        HttpServer *server = request->server;

        pthread_mutex_lock(&server->streams_mutex);
        bool ok = count_follower(server, stream_user(stream), error);
        if (ok)
                g_ptr_array_add(server->streams, stream);
        pthread_mutex_unlock(&server->streams_mutex);
        return ok;
}

void follower_release_stream(HttpServer *server, HttpStreamHandle *stream)
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

bool follower_admit_socket(HttpRequest *request, WebSocket *socket, GError **error)
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

static void keep_wire(HttpServer *server, WebSocket *socket, int fd)
{
        Wire *wire = g_new0(Wire, 1);

        wire->fd = fd;
        pthread_mutex_lock(&server->streams_mutex);
        g_hash_table_insert(server->wires, socket, wire);
        pthread_mutex_unlock(&server->streams_mutex);
}

void follower_upgraded(void *cls, struct MHD_Connection *connection, void *context, const char *extra,
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

/* ---- Looked after ---- */

void followers_watch_credentials(HttpServer *server, gint64 now)
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
void followers_watch_wires(HttpServer *server)
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

void followers_watch_streams(HttpServer *server, gint64 now)
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

/* ---- The end ---- */

void followers_finish_streams(HttpServer *server)
{
        pthread_mutex_lock(&server->streams_mutex);
        for (guint i = 0; i < server->streams->len; i++)
                stream_finish(server->streams->pdata[i]);
        pthread_mutex_unlock(&server->streams_mutex);
}

/* No socket is admitted any more, so there is a loop now or never. */
WebSocketLoop *followers_quiesce_sockets(HttpServer *server)
{
        pthread_mutex_lock(&server->streams_mutex);
        WebSocketLoop *loop = server->loop;
        pthread_mutex_unlock(&server->streams_mutex);
        if (loop)
                websocket_loop_quiesce(loop);
        return loop;
}
