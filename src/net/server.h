/* HTTP server: a table of routes, requests that may be answered later, streams, server-sent events. On
 * libmicrohttpd, which net/connection.h includes for the files of the server alone (doc/internals/net.md has its
 * rules). Listens on TCP and on a Unix socket with one set of routes.
 *
 * Handlers run on a small pool of workers and must not block on anything but a short read. A handler ends in
 * exactly one of http_reply*, http_fail, http_stream, http_upgrade_websocket (net/websocket.h); or keeps the
 * request (http_request_ref) and lets another thread call one of these later: the connection is suspended
 * meanwhile. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/json.h"
#include "net/tls.h"

typedef struct HttpServer HttpServer;
typedef struct HttpRequest HttpRequest;
typedef void (*HttpHandler)(HttpRequest *request, void *arg);

/* Who may reach a route's handler at all; what depends on the thing itself is the handler's. */
typedef enum {
        HTTP_PUBLIC, /* no credentials needed, none looked at */
        HTTP_USER,   /* any known caller */
        HTTP_ADMIN,
        HTTP_NOBODY, /* of a row that does not say */
} HttpAccess;

typedef enum {
        HTTP_BODY_MEMORY, /* collected up to body_max; http_request_body */
        HTTP_BODY_FILE,   /* streamed to a temporary file of at most body_max bytes; http_request_body_file */
} HttpBody;

typedef enum { HTTP_STRING, HTTP_INTEGER, HTTP_BOOLEAN, HTTP_ARRAY, HTTP_PARAMETER_TYPES } HttpParameterType;
/* A parameter of a route's query, for the API document: values are checked by the handler. */
typedef struct {
        const char *name; /* NULL ends a list */
        HttpParameterType type;
        const char *help; /* sentences for people */
} HttpParameter;

/* One row: the dispatcher, the OpenAPI document and its tests are drawn from it. In `path`, {x} matches one
 * segment; a last {x...} the rest, which may be nothing. Text is preferred to {x}, {x} to {x...}. The tables
 * outlive the server. A trailing slash in the request matters not. Rows of one server: HEAD is answered where
 * GET is. */
typedef struct {
        const char *method, *path;
        guint8 kind,
                verb; /* of thing, and what is done to it: for HttpServerConfig.access and the handlers */
        HttpHandler handler;
        const char *summary;         /* one sentence, for the API document */
        const HttpParameter *query;  /* or NULL: none */
        HttpBody body;               /* where it is kept */
        guint64 body_max;            /* bytes; 0: a body is refused with 400 */
        const char *request, *reply; /* names of component schemas, or NULL */
        int reply_status;            /* of success; 0: 200 */
        const char *reply_type;      /* content type of success; NULL: application/json */
        bool on_pool; /* works on files, or long: not on a worker, but on a thread of the pool, of which a
                         user has a share. base/cancel.h tells the handler when nobody waits for it any more
                       */
} HttpRoute;

/* What the client showed by TLS. */
typedef struct {
        const char *name;      /* of the user whom it names; NULL: see `error` */
        gint64 until_ms;       /* it is valid until then */
        const GError *error;   /* ERR_UNAUTHENTICATED: it does not hold */
        const char *authority; /* that vouches for it (net/tls.h) */
        const char *words;     /* which one it is, for people */
} HttpCertificate;

typedef struct {
        const char *user; /* who calls; NULL on a route that is public */
        bool admin;
        int scope; /* as in HttpRight */
        const char *queue, *token;
        gint64 until_ms;         /* as in HttpRight */
        const char *certificate; /* HttpCertificate.words of the one that stands for the user; or NULL */
        const char *address;     /* of the peer, "unix" on the Unix socket */
        int port;                /* of the peer; 0 on the Unix socket */
        pid_t pid;               /* of who connected to the Unix socket, which may have ended; 0: by TCP */
} HttpCaller;

/* How far a caller's right goes: what scopes mean is the application's. */
typedef struct {
        bool admin;
        int scope;
        char *queue;     /* the only one; or NULL. Freed with g_free, as is */
        char *token;     /* the id of the token that was shown; or NULL */
        gint64 until_ms; /* when the token or certificate ends; 0: never */
} HttpRight;

/* Routes with manners of their own below a prefix: of an older interface. Slashes all count, HEAD is not GET,
 * text goes before {x} for the methods that it serves, bad pairs of a query are left out (url.h), and errors
 * are written by it, those of the server itself included. */
typedef struct {
        const char *prefix;      /* "/api/x/v1/": of the path as it was sent; NULL ends a list */
        const HttpRoute *routes; /* ends with a NULL method */
        void *arg;               /* of its handlers and of what follows */
        /* Who calls? Before the body is taken; as HttpServerConfig.authenticate, but for all routes, and the
         * error may be of any domain. A user of NULL is good, too. */
        bool (*authenticate)(HttpRequest *request, char **ret_user, HttpRight *ret_right, void *arg,
                             GError **error);
        /* Writes the reply that http_fail stands for; any thread. */
        void (*fail)(HttpRequest *request, const GError *error, void *arg);
        /* As HttpServerConfig.credential; NULL: nothing may be taken back. */
        char *(*credential)(HttpRequest *request, void *arg);
} HttpFace;

typedef struct {
        const HttpFace *faces;   /* or NULL */
        const char *listen;      /* "127.0.0.1:8999", "[::1]:0"; NULL: no TCP */
        const char *socket_path; /* Unix socket, made with mode 0660 (0600 when not root); NULL: none */
        const char *temp_dir;    /* for HTTP_BODY_FILE */
        int workers;             /* 0: 2; never 1 */
        int pool_threads;        /* 0: 8; one user has a quarter, or half the cores */
        int pool_line_max;       /* requests of one user that wait for one; 0: 64 */
        int max_connections;     /* 0: 4096; above it 503; an eighth is the Unix socket's alone */
        int max_per_holder; /* connections of one address, network or Unix user (peer.h); 0: all of them */
        int max_streams;    /* streams and WebSockets in all; 0: 1000 */
        int max_streams_per_user;  /* 0: 250 */
        gint64 body_bytes_max;     /* bytes of bodies in memory in flight; 0: 256 MiB; above it 503 */
        gint64 user_bytes_max;     /* of them of one user; 0: all */
        gint64 stranger_bytes_max; /* of them of callers who are not known, of one holder an eighth; 0: all */
        gint64 stranger_body_ms;   /* how long a body of such a caller may take; 0: as anybody's */
        gint64 stranger_discard_max; /* bytes of a body of such a caller that are read after it was refused,
                                        to keep the connection; 0: 1 MiB, as anybody's */
        gint64 header_deadline_ms;   /* 0: 10 s */
        gint64 body_min_rate;        /* bytes/s, over body_grace_ms and then over each three of it; 0: 1024 */
        gint64 body_grace_ms;        /* 0: 10 s */
        gint64 heartbeat_ms;         /* of streams; 0: 15 s */
        gint64 stream_max_age_ms;    /* a follower is ended after this and resumes; 0: 10 min */
        gsize websocket_message_max; /* bytes of a client's message; 0: 64 KiB */
        gsize websocket_out_max;     /* bytes a client may leave unread; 0: 4 MiB; of all 64 times that */
        /* Peers whose X-Forwarded-For is believed: the address is then the last of it that is none of these.
         * NULL: nobody's. */
        const char *const *trusted_proxies;
        /* Who may reach this route from that address; NULL: anybody. */
        HttpAccess (*access)(const HttpRoute *route, const HttpRequest *request, void *arg);
        /* NULL: only HTTP_PUBLIC routes can be reached. `address` is the peer's, "unix" on the Unix socket.
         * Who calls? For TCP `authorization` is the header or NULL and uid is -1; for the Unix socket uid is
         * the peer's. Fills user (copied by the server: *ret_user is freed with g_free). False with
         * ERR_UNAUTHENTICATED. Any worker thread; short. */
        bool (*authenticate)(const char *authorization, uid_t uid, const char *address, char **ret_user,
                             HttpRight *ret_right, void *arg, GError **error);
        /* May this caller, who is known, use the route, of a face or not? NULL: yes. */
        bool (*permits)(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error);
        /* A request is about to be answered with `status`. True: its answer waits until `done` is called,
         * once, on any thread. Asked with done NULL where the answer cannot wait: what was refused before its
         * handler, streams, WebSockets. Any thread; short. NULL: nothing is recorded. */
        bool (*record)(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg,
                       void *arg);
        /* What stands for the caller's right to be here and may be taken back, such as a token: a text, freed
         * with g_free; NULL: nothing. `is_valid` is asked for it each second while its stream or WebSocket is
         * open, which ends when it says no. Short. Both NULL: followers stay. */
        char *(*credential)(const char *authorization, void *arg);
        bool (*is_valid)(const char *credential, void *arg);
        /* The same of a caller without `authorization` whose certificate holds, with what may be taken back.
         * NULL: certificates are looked at by faces alone. */
        bool (*by_certificate)(const HttpCertificate *certificate, char **ret_user, HttpRight *ret_right,
                               char **ret_credential, void *arg, GError **error);
        Tls *tls; /* what the TCP port speaks; borrowed. NULL: plain HTTP */
        void *arg;
        /* HTTP_BODY_FILE: may the user have so many bytes, and files, more on the disk? Asked before they are
         * read, as many as are announced, else piece by piece, of which the first is a file; the sum of what
         * was held is released with the answer. ERR_QUOTA, say. Any worker thread; short. Both NULL: nobody
         * is asked. */
        bool (*hold)(const char *user, gint64 bytes, int files, void *arg, GError **error);
        void (*release)(const char *user, gint64 bytes, int files, void *arg);
        void *hold_arg; /* outlives all requests */
} HttpServerConfig;

/* Binds and listens; `routes` are arrays ending with a NULL method, in a NULL-terminated list; `arg` goes to
 * handlers. */
HttpServer *http_server_new(const HttpServerConfig *config, const HttpRoute *const *routes, void *arg,
                            GError **error);
/* Quiesces: no new connections, waiting requests are answered 503, streams end; then stops. */
void http_server_free(HttpServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HttpServer, http_server_free)
/* "127.0.0.1:8999" in parts, "[::1]:0" without its brackets; ERR_INVALID for anything else. */
bool http_listen_split(const char *listen, char **ret_host, char **ret_port, GError **error);
/* Is what would be listened on reached from this machine alone? ERR_INVALID. */
bool http_listen_is_local(const char *listen, bool *ret, GError **error);
int http_server_port(HttpServer *server); /* the TCP port, 0 without one */

typedef struct {
        gint64 requests, errors_4xx, errors_5xx, connections, suspended, streams, refused, body_bytes;
        gint64 websockets;                                        /* open ones */
        gint64 latency_count, latency_us_sum, latency_bucket[16]; /* bucket i: <= 2^i * 64 us */
} HttpMetrics;
void http_server_metrics(HttpServer *server, HttpMetrics *ret);

/* For the handler of a route that is not `on_pool`, before it has done anything, when this very request takes
 * long: true when the handler is called again, on a thread of the pool; it returns at once then. False: it is
 * there already. */
bool http_request_to_pool(HttpRequest *request);

/* The request. Strings are borrowed until the reply. */
HttpRequest *http_request_ref(HttpRequest *request);
void http_request_unref(HttpRequest *request);
const HttpCaller *http_request_caller(const HttpRequest *request);
const char *http_request_id(const HttpRequest *request);   /* also sent as X-Request-Id */
const char *http_request_path(const HttpRequest *request); /* decoded, without query */
const char *
http_request_param(const HttpRequest *request,
                   const char *name); /* of the path, decoded; never NULL for a name of the route */
const char *http_request_query(const HttpRequest *request, const char *name); /* decoded, or NULL */
char **http_request_queries(const HttpRequest *request, const char *name); /* all of that name, the caller's;
                                                                              NULL: none */
const char *http_request_header(const HttpRequest *request, const char *name); /* or NULL */
/* NULL: the client showed none. In `authenticate` and `credential` of a face, and in a handler until it
 * returns. */
const HttpCertificate *http_request_certificate(const HttpRequest *request);
const char *http_request_body(const HttpRequest *request,
                              gsize *ret_len); /* HTTP_BODY_MEMORY; "" when empty */
const char *
http_request_body_file(const HttpRequest *request); /* path; unlinked after the reply unless renamed away */
json_t *http_request_json(const HttpRequest *request,
                          GError **error); /* the body as an object; the caller's */
const HttpRoute *http_request_route(const HttpRequest *request);
/* For HttpServerConfig.record, by whoever knows it, before the answer: who logged in, what the request is
 * about, whose that is, and that it was denied, whatever the status says. The last word counts. Copied. */
void http_request_set_user(HttpRequest *request, const char *user);
void http_request_set_subject(HttpRequest *request, const char *subject);
void http_request_set_owner(HttpRequest *request, const char *user);
void http_request_set_denied(HttpRequest *request);
typedef struct {
        char *user, *subject, *owner; /* or NULL; the caller's */
        bool denied;
} HttpNotes;
HttpNotes http_request_notes(const HttpRequest *request);
/* Integer query parameter with default; false has replied with the error already. */
bool http_request_query_int(HttpRequest *request, const char *name, gint64 min, gint64 max, gint64 fallback,
                            gint64 *ret);

/* Replies. Any thread, once. Bodies are copied unless said otherwise. */
void http_reply(HttpRequest *request, int status, const char *type, const char *body, gsize len);
void http_reply_take(HttpRequest *request, int status, const char *type, char *body,
                     gsize len); /* g_free()s body */
/* As http_reply_take, but the body is written by the worker that sends it, so that a thread with better
 * things to do only hands over `arg`. `write` runs once or, when nobody waits any more, never; `arg` is freed
 * in both cases. */
typedef char *(*HttpWrite)(void *arg, gsize *ret_len);
void http_reply_written(HttpRequest *request, int status, const char *type, HttpWrite write, void *arg,
                        GDestroyNotify free_arg);
void http_reply_json(HttpRequest *request, int status, const json_t *value);
void http_reply_file(HttpRequest *request, const char *path, int fd, guint64 offset, guint64 len,
                     const char *type); /* takes fd; sendfile; answers Range by itself (206, 416) */
void http_reply_header(HttpRequest *request, const char *name, const char *value); /* call before the reply */
void http_fail(HttpRequest *request, const GError *error); /* status and body by the error table */

/* A stream produces its bytes as they come. `pull` runs on a worker: it appends what is there now to `out`
 * and returns STREAM_MORE (call again at once), STREAM_WAIT (suspended until http_stream_wake, or the
 * heartbeat) or STREAM_END. A wake that comes while pull runs is not lost. `close` runs once, after the last
 * pull, on any thread. */
typedef enum { STREAM_MORE, STREAM_WAIT, STREAM_END } StreamState;
typedef struct {
        const char *type;                             /* content type */
        StreamState (*pull)(GString *out, void *arg); /* at most some 64 KiB a call */
        void (*close)(void *arg);
        const char *heartbeat; /* sent every 15 s of silence (": \n\n"), or NULL */
        void *arg;
} HttpStream;
typedef struct HttpStreamHandle HttpStreamHandle;
/* Starts the stream; the handle is valid until `close` has been called. NULL when refused (too many streams:
 * 503 was sent; close was called). Called outside of the handler, `close` may run before this returns. A
 * client that closes even half of its connection counts as gone. */
HttpStreamHandle *http_stream(HttpRequest *request, const HttpStream *stream);
void http_stream_wake(HttpStreamHandle *handle); /* any thread */

/* Appends one server-sent event: "id: ...\nevent: ...\ndata: ...\n\n"; id and event may be NULL; newlines in
 * data become several data lines. */
void sse_append(GString *out, const char *id, const char *event, const char *data);
