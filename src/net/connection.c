/* Connections: who is let in, what becomes of one that is in the way, and how a request waits on it (see
 * connection.h). */
#include "net/connection.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/crowd.h"
#include "net/peer.h"
#include "net/tls.h"

Conn *conn_of(struct MHD_Connection *connection)
{
        return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static _Atomic gint64 *count_of(HttpServer *server, bool local)
{
        return local ? &server->local_connected : &server->tcp_connected;
}

void conn_resume(void *connection)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        Conn *conn = info->socket_context;

        conn->server->suspended--;
        MHD_resume_connection(connection);
}

void conn_suspend(void *connection)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        Conn *conn = info->socket_context;

        conn->server->suspended++;
        MHD_suspend_connection(connection);
}

/* The first write to a client that has gone succeeds, so it is asked before: followers do not close half of
 * their connection. */
bool conn_is_left(void *connection)
{
        struct pollfd poll_fd = {
                .fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                .events = POLLRDHUP
        };

        return poll(&poll_fd, 1, 0) > 0;
}

const StreamOps conn_stream_ops = { conn_suspend, conn_resume, conn_is_left };

const char *lookup_header(const HttpRequest *request, const char *name)
{
        return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

bool set_stopping(GError **error)
{
        return err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
}

bool conn_is_served(const Conn *conn)
{
        return conn->place == CROWD_SERVED || conn->place == CROWD_PROXY;
}

void conn_forget_file(Conn *conn)
{
        if (conn->sent_fd >= 0)
                close(conn->sent_fd);
        conn->sent_fd = -1;
}

void conn_cut(Conn *conn, int phase)
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
                conn_cut(oldest, oldest->phase);
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
                conn_cut(conn, PHASE_IDLE);
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
        conn_forget_file(conn);
        pthread_mutex_destroy(&conn->mutex);
        tls_connection_free(conn->tls);
        g_clear_error(&conn->client_error);
        tls_client_clear(&conn->client);
        g_free(conn);
        *socket_context = NULL;
}

void conn_notified(void *cls, struct MHD_Connection *connection, void **socket_context,
                   enum MHD_ConnectionNotificationCode code)
{
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                conn_open(cls, connection, socket_context);
        else
                conn_close(cls, socket_context);
}

/* A few more connections than the limit are let in, to be told 503; above that they are dropped. */
enum MHD_Result conn_accept(void *cls, const struct sockaddr *address, socklen_t len)
{
        HttpServer *server = cls;

        if (*count_of(server, address->sa_family == AF_UNIX) <
            server->config.max_connections + OVER_LIMIT_MAX)
                return MHD_YES;
        server->refused++;
        return MHD_NO;
}
