/* Internal to the HTTP server: connections, and functions that its files share. Only these files include the
 * library, libmicrohttpd.
 *
 *     server.c      starts and stops the server
 *     connection.c  accepts and removes connections
 *     head.c        route, framing, limits; caller.c: authenticates and authorizes the caller
 *     body.c        the body, in memory or in a file
 *     dispatch.c    the life of a request around these; runs the handler, waits for its answer
 *     send.c        the reply
 *     follower.c    streams and WebSockets, which stay open
 *     watch.c       a thread that ends connections that are too slow
 *
 * Rules that always hold:
 *
 * - Only a connection's own worker touches it, except for resume. Resume is called once per suspension, under
 *   the lock of the request or stream that suspended it. A suspended request cannot complete, so the
 *   connection is alive then.
 * - No request or stream is suspended after `stopping` is set. The sweep of http_server_free answers those
 *   that were suspended before.
 * - Locks are pthread locks, because ThreadSanitizer does not see GLib's, which are futexes.
 * - The library only times silence, has no limit for bodies and divides its connection limit among its
 *   workers. So deadlines, rates and limits are ours: watch.c checks every connection several times per
 *   deadline and shuts down the sockets that are too slow. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/thread-pool.h"
#include "net/crowd.h"
#include "net/peer.h"
#include "net/request.h"
#include "net/route.h"
#include "net/server.h"
#include "net/shares.h"
#include "net/tls.h"
#include "net/websocket-loop.h"

enum {
        SILENCE_S = 60,        /* a connection without any traffic */
        OVER_LIMIT_MAX = 1024, /* connections above the limit that are held long enough to be told about it */
        DISCARD_MAX = 1 << 20, /* bytes of a refused body read so that the connection can be kept */
};

typedef enum { PHASE_IDLE, PHASE_HEADER, PHASE_BODY, PHASE_BUSY, PHASE_CUT } Phase;

typedef struct {
        GList link; /* in server->connections */
        HttpServer *server;
        int fd;
        Peer peer;
        TlsConnection *tls;   /* NULL: the connection does not use TLS */
        bool client_asked;    /* the next two fields are set */
        TlsClient client;     /* the user that its certificate names */
        GError *client_error; /* why its certificate is not valid; or NULL */
        CrowdPlace place;     /* a connection that is not served gets one 503 and is closed */
        atomic_bool used;     /* a request has been answered on it */
        atomic_bool known;    /* the caller of its request has an account */
        atomic_int phase;
        _Atomic gint64 since_ms;           /* start of the phase */
        _Atomic gint64 received;           /* bytes of the body, in PHASE_BODY */
        gint64 pace_of, pace_ms, pace_len; /* begin of the body whose pace was last checked, time of that
                                              check, bytes received by then; used by the watcher */
        pthread_mutex_t mutex;             /* guards the fields below */
        HttpRequest *request;
        int sent_fd;      /* a descriptor of our own for the file that is being sent; -1: none */
        guint64 sent_end; /* the offset in the file at which its reply ends */
} Conn;

/* A socket to which a refusal was written. It is drained so that a reset does not destroy the refusal. */
typedef struct {
        int fd;
        gint64 until_ms;
        gsize left;
} Linger;

/* The client's end of a WebSocket over TLS. The library forwards its bytes, but not its end. */
typedef struct {
        int fd;
        bool left; /* the client had gone at the last check */
} Wire;

struct HttpServer {
        HttpServerConfig config;
        char *temp_dir, *socket_path;
        void *arg; /* passed to the handlers */
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

        pthread_mutex_t streams_mutex; /* guards the fields below */
        GPtrArray *streams;            /* HttpStreamHandle */
        GPtrArray *sockets;            /* WebSocket */
        GHashTable *wires;             /* WebSocket -> Wire, of those over TLS */
        GHashTable *users;             /* user -> number of followers: streams and WebSockets */
        WebSocketLoop *loop;           /* serves WebSockets; created for the first one */
        ThreadPool *pool;              /* for routes with `on_pool` */
        gint64 credentials_ms;         /* time of the last check of followers' credentials; used by the
                                          watcher */

        pthread_mutex_t bodies_mutex; /* guards the fields below */
        Shares *bodies, *strangers;   /* bytes of bodies in memory: of users, and of unauthenticated
                                         holders */

        atomic_bool stopping;
        _Atomic gint64 active; /* requests whose request line has arrived and that are not completed */
        _Atomic gint64 requests, errors_4xx, errors_5xx, tcp_connected, local_connected, suspended, refused,
                body_bytes;
        _Atomic gint64 latency_count, latency_us, latency[16];
};

/* ---- connection.c ---- */

Conn *conn_of(struct MHD_Connection *connection);
/* The library's connection of a request or stream. The mutex of that is held (StreamOps). */
void conn_suspend(void *connection);
void conn_resume(void *connection); /* once for each suspension */
bool conn_is_left(void *connection);
extern const StreamOps conn_stream_ops;
const char *lookup_header(const HttpRequest *request, const char *name); /* borrowed from the connection */
bool set_stopping(GError **error);                                       /* ERR_UNAVAILABLE */
bool conn_is_served(const Conn *conn);                                   /* false: it is only told 503 */
void conn_forget_file(Conn *conn);                                       /* with conn->mutex held */
/* Ends a connection if it is in this phase, with a 408 where possible. Call it with the server's mutex held,
 * or from the connection's own worker. */
void conn_cut(Conn *conn, int phase);
/* MHD_NotifyConnectionCallback and MHD_AcceptPolicyCallback. */
void conn_notified(void *cls, struct MHD_Connection *connection, void **socket_context,
                   enum MHD_ConnectionNotificationCode code);
enum MHD_Result conn_accept(void *cls, const struct sockaddr *address, socklen_t len);

/* ---- follower.c ---- */

/* RequestOps. ERR_UNAVAILABLE: the limit of followers is reached. */
bool follower_admit_stream(HttpRequest *request, HttpStreamHandle *stream, GError **error);
bool follower_admit_socket(HttpRequest *request, WebSocket *socket, GError **error);
/* Ends an admitted stream: removes it from the list, so that it is not woken any more, then closes and frees
 * it. */
void follower_release_stream(HttpServer *server, HttpStreamHandle *stream);
/* An MHD_UpgradeHandler: the 101 was sent, and the library no longer handles the connection. */
void follower_upgraded(void *cls, struct MHD_Connection *connection, void *context, const char *extra,
                       size_t len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle);
/* Called by the watcher: followers with revoked credentials, with clients that have left, that are silent or
 * too old. */
void followers_watch_credentials(HttpServer *server, gint64 now);
void followers_watch_wires(HttpServer *server);
void followers_watch_streams(HttpServer *server, gint64 now);
/* Called when `stopping` is set. followers_quiesce_sockets returns the loop that the caller frees, or
 * NULL. */
void followers_finish_streams(HttpServer *server);
WebSocketLoop *followers_quiesce_sockets(HttpServer *server);

/* ---- send.c ---- */

/* Queues the reply of an answered request. On the connection's worker. */
enum MHD_Result send_reply(HttpRequest *request, Conn *conn);
/* Answers in the middle of a body, where the library cannot: writes the reply to the socket and keeps a
 * duplicate of its descriptor, which the watcher drains. The caller returns MHD_NO, which closes the
 * connection. */
enum MHD_Result send_refusal(HttpRequest *request, Conn *conn);
void fail_with(HttpRequest *request, GError *error); /* takes the error */

/* ---- caller.c ---- */

/* The user that the certificate of the connection names, read once. The certificate may have expired
 * since. */
void caller_take_certificate(HttpRequest *request, Conn *conn);
/* Authenticates the caller and checks that the route is allowed: caller_ask_face for a face, which
 * authenticates callers itself and whose handlers decide; caller_check_access for the server's own routes. */
bool caller_ask_face(HttpRequest *request, GError **error);
bool caller_check_access(HttpRequest *request, const Conn *conn, GError **error);
bool caller_is_known(const HttpRequest *request); /* whether the caller has an account */

/* ---- body.c ---- */

/* *ret: the announced length of the body; -1: chunked. */
bool body_announced(const HttpRequest *request, gint64 *ret, GError **error);
bool body_open(HttpRequest *request, gint64 announced, GError **error);
enum MHD_Result body_take(HttpRequest *request, Conn *conn, const char *data, size_t *len);
void body_release(HttpRequest *request); /* returns its reserved bytes to the limit for bodies */
/* How many bytes of a refused body are read, so that the connection can be kept. */
gsize body_discard_max(const HttpRequest *request);

/* ---- head.c ---- */

enum MHD_Result head_take(HttpRequest *request, Conn *conn, const char *method);

/* ---- dispatch.c: what the library calls for a request ---- */

void *request_begun(void *cls, const char *target, struct MHD_Connection *connection); /* the request line has
                                                                                          arrived */
enum MHD_Result request_continued(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **context);
void request_completed(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code);

/* ---- watch.c ---- */

gpointer http_watch(gpointer data); /* the watcher's thread; `data` is the HttpServer */
