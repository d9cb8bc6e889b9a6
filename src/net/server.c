/* The HTTP server on libmicrohttpd: its beginning and its end. doc/internals/net.md draws the life of a request, and
 * connection.h says in which file which part of it is. */
#include "net/connection.h"

#include <fcntl.h>
#include <gnutls/abstract.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/file.h"
#include "net/crowd.h"
#include "net/listen.h"
#include "net/route.h"
#include "net/shares.h"
#include "net/tls.h"
#include "net/websocket-loop.h"

enum {
        CONNECTION_MEMORY = 32 << 10, /* of the library, per connection: bounds the request's head, too */
        LOCAL_SHARE = 8,              /* 1/N of the connections is reserved for the Unix socket */
        STOP_MS = 5000,               /* replies under way may take so long when stopping */
};

/* ---- Starting ---- */

/* Paths and queries are decoded by net/url.c. */
static size_t leave_escaped(void *cls, struct MHD_Connection *connection, char *text)
{
        return strlen(text);
}

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
                0, conn_accept, server, request_continued, server, MHD_OPTION_LISTEN_SOCKET, fd,
                MHD_OPTION_THREAD_POOL_SIZE, (unsigned)server->config.workers, MHD_OPTION_CONNECTION_LIMIT,
                (unsigned)(server->config.max_connections + OVER_LIMIT_MAX) *
                        (unsigned)server->config.workers,
                MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, conn_notified, server,
                MHD_OPTION_NOTIFY_COMPLETED, request_completed, server, MHD_OPTION_URI_LOG_CALLBACK,
                request_begun, server, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, server, MHD_OPTION_ARRAY,
                secure ? tls : tls + G_N_ELEMENTS(tls) - 1, MHD_OPTION_END);

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
        config->max_streams_per_user = config->max_streams_per_user ? config->max_streams_per_user : 250;
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

/* The most threads of one user. Two that compute would use a machine of two cores completely. */
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
        server->pool =
                thread_pool_new(&(ThreadPoolConfig){ .name = "requests",
                                                     .details = "that work on files",
                                                     .threads = server->config.pool_threads,
                                                     .share = share_of_pool(server->config.pool_threads),
                                                     .waiting_max = server->config.pool_line_max,
                                                     .background = true });
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
        cond_init(&server->changed);
        server->routes = route_table_new(routes, error);
        if (!server->routes || !open_faces(server, error) || !start(server, config->listen, error))
                return NULL;
        server->watcher = g_thread_new("http-watch", http_watch, server);
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

static void wait_for_requests(HttpServer *server)
{
        gint64 until_ms = clock_monotonic_ms() + STOP_MS;

        pthread_mutex_lock(&server->mutex);
        while (server->active > 0 && cond_wait_until(&server->changed, &server->mutex, until_ms))
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
        thread_pool_free(server->pool);
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
        thread_pool_stop(server->pool); /* what runs sees that the server is stopping */
        followers_finish_streams(server);
        WebSocketLoop *loop = followers_quiesce_sockets(server);
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
