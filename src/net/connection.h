/* Inside of the HTTP server: connections, and what its files have of each other. Only they include the
 * library, libmicrohttpd.
 *
 *     server.c      begins and ends the server
 *     connection.c  lets connections in, and takes them away
 *     head.c        route, framing, limits; caller.c: who asks, and may they
 *     body.c        the body, in memory or in a file
 *     dispatch.c    the life of a request around these; runs the handler, waits for its answer
 *     send.c        the reply
 *     follower.c    streams and WebSockets, which stay
 *     watch.c       a thread that ends what is too slow
 *
 * The rules that always hold:
 *
 * - A connection is touched by its own worker only, but for resume, which is called once per suspension,
 *   under the lock of the request or stream that suspended it. What is suspended cannot complete, so the
 *   connection is alive then.
 * - Nothing is suspended once `stopping` is set: the sweep of http_server_free answers what was suspended
 *   before.
 * - Locks are pthread's, since ThreadSanitizer does not see GLib's, which are futexes.
 * - The library counts silence only, has no limit for bodies and divides its connection limit among its
 *   workers, so deadlines, rates and limits are ours: watch.c looks at every connection some times a deadline
 *   and shuts down the sockets that are too slow. */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "net/crowd.h"
#include "net/peer.h"
#include "net/pool.h"
#include "net/request.h"
#include "net/route.h"
#include "net/server.h"
#include "net/shares.h"
#include "net/tls.h"
#include "net/websocket-loop.h"

enum {
        SILENCE_S = 60,        /* a connection without any traffic */
        OVER_LIMIT_MAX = 1024, /* connections above the limit that are held long enough to be told so */
        DISCARD_MAX = 1 << 20, /* bytes of a refused body read so that the connection can be kept */
};

typedef enum { PHASE_IDLE, PHASE_HEADER, PHASE_BODY, PHASE_BUSY, PHASE_CUT } Phase;

typedef struct {
        GList link; /* in server->connections */
        HttpServer *server;
        int fd;
        Peer peer;
        TlsConnection *tls;   /* NULL: it does not speak TLS */
        bool client_asked;    /* what follows is known */
        TlsClient client;     /* whom its certificate names */
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

/* ---- connection.c ---- */

Conn *conn_of(struct MHD_Connection *connection);
/* The library's connection of a request or stream, whose mutex is held (StreamOps). */
void conn_suspend(void *connection);
void conn_resume(void *connection); /* once for each suspension */
bool conn_is_left(void *connection);
extern const StreamOps conn_stream_ops;
const char *lookup_header(const HttpRequest *request, const char *name); /* borrowed from the connection */
bool set_stopping(GError **error);                                       /* ERR_UNAVAILABLE */
bool conn_is_served(const Conn *conn);                                   /* or is it there to be told 503? */
void conn_forget_file(Conn *conn);                                       /* with conn->mutex held */
/* Ends a connection that is in this phase, with a 408 where that goes. With the server's mutex held, or from
 * the connection's own worker. */
void conn_cut(Conn *conn, int phase);
/* An MHD_NotifyConnectionCallback and an MHD_AcceptPolicyCallback. */
void conn_notified(void *cls, struct MHD_Connection *connection, void **socket_context,
                   enum MHD_ConnectionNotificationCode code);
enum MHD_Result conn_accept(void *cls, const struct sockaddr *address, socklen_t len);

/* ---- follower.c ---- */

/* RequestOps. ERR_UNAVAILABLE when there are as many as may be. */
bool follower_admit_stream(HttpRequest *request, HttpStreamHandle *stream, GError **error);
bool follower_admit_socket(HttpRequest *request, WebSocket *socket, GError **error);
/* The end of a stream that was admitted: off the list, so that it is not woken any more, then closed and
 * freed. */
void follower_release_stream(HttpServer *server, HttpStreamHandle *stream);
/* An MHD_UpgradeHandler: the 101 was sent, and the connection is out of the library's hands. */
void follower_upgraded(void *cls, struct MHD_Connection *connection, void *context, const char *extra,
                       size_t len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle);
/* The watcher's: credentials that do not hold any more, clients that have left, silence and age. */
void followers_watch_credentials(HttpServer *server, gint64 now);
void followers_watch_wires(HttpServer *server);
void followers_watch_streams(HttpServer *server, gint64 now);
/* `stopping` is set. The loop that is still to be freed, or NULL. */
void followers_finish_streams(HttpServer *server);
WebSocketLoop *followers_quiesce_sockets(HttpServer *server);

/* ---- send.c ---- */

/* Queues the reply of an answered request. On the connection's worker. */
enum MHD_Result send_reply(HttpRequest *request, Conn *conn);
/* Answers in mid-body, where the library cannot: writes the reply to the socket and keeps a copy of that, to
 * be emptied by the watcher. The caller returns MHD_NO, which closes the connection. */
enum MHD_Result send_refusal(HttpRequest *request, Conn *conn);
void fail_with(HttpRequest *request, GError *error); /* takes the error */

/* ---- caller.c ---- */

/* Whom the certificate of the connection names, asked for once. Its time may have passed since. */
void caller_take_certificate(HttpRequest *request, Conn *conn);
/* Who calls, and whether the route is for them: of a face, which asks for itself and whose handlers decide;
 * else of the server's own routes. */
bool caller_ask_face(HttpRequest *request, GError **error);
bool caller_check_access(HttpRequest *request, const Conn *conn, GError **error);
bool caller_is_known(const HttpRequest *request); /* is it of somebody with an account? */

/* ---- body.c ---- */

/* The announced length of the body; -1 when it is chunked. */
bool body_announced(const HttpRequest *request, gint64 *ret, GError **error);
bool body_open(HttpRequest *request, gint64 announced, GError **error);
enum MHD_Result body_take(HttpRequest *request, Conn *conn, const char *data, size_t *len);
void body_release(HttpRequest *request); /* gives back what it holds of the bytes for bodies */
/* How much of a body that is refused is read, so that the connection can be kept. */
gsize body_discard_max(const HttpRequest *request);

/* ---- head.c ---- */

enum MHD_Result head_take(HttpRequest *request, Conn *conn, const char *method);

/* ---- dispatch.c: what the library calls for a request ---- */

void *request_begun(void *cls, const char *target, struct MHD_Connection *connection); /* its line has come */
enum MHD_Result request_continued(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data, size_t *len,
                                  void **context);
void request_completed(void *cls, struct MHD_Connection *connection, void **context,
                       enum MHD_RequestTerminationCode code);

/* ---- watch.c ---- */

gpointer http_watch(gpointer data); /* the watcher's thread; `data` is the HttpServer */
