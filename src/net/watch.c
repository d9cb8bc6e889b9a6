/* The watcher: a thread that looks at every connection some times a deadline, as the library counts silence
 * only. It shuts down the sockets that are too slow, and lets followers look after themselves. */
#include "net/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"

enum {
        IDLE_FACTOR = 6, /* a kept connection may idle this many header deadlines */
        PACE_FACTOR = 3, /* the pace of a body is checked once in N graces */
        LINGER_STEP_MS = 20,
};

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
                        conn_cut(conn, phase);
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

gpointer http_watch(gpointer data)
{
        HttpServer *server = data;
        gint64 step = CLAMP(MIN(MIN(server->config.header_deadline_ms, server->config.body_grace_ms),
                                server->config.heartbeat_ms) /
                                    4,
                            10, 1000);

        pthread_mutex_lock(&server->mutex);
        while (!server->stop) {
                gint64 wait_ms = server->lingering->len ? MIN(step, LINGER_STEP_MS) : step;

                (void)cond_wait_until(&server->changed, &server->mutex, clock_monotonic_ms() + wait_ms);
                gint64 now = clock_monotonic_ms();
                watch_connections(server, now);
                watch_lingering(server, now);
                pthread_mutex_unlock(&server->mutex);
                followers_watch_streams(server, now);
                followers_watch_wires(server);
                followers_watch_credentials(server, now);
                pthread_mutex_lock(&server->mutex);
        }
        pthread_mutex_unlock(&server->mutex);
        return NULL;
}
