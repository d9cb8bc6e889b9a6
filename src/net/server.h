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

/* The callers that may reach the handler of a route. The handler itself checks access to the object. */
typedef enum {
        HTTP_PUBLIC, /* no credentials needed, and none are checked */
        HTTP_USER,   /* any authenticated caller */
        HTTP_ADMIN,
        HTTP_NOBODY, /* a row that does not set it */
} HttpAccess;

typedef enum {
        HTTP_BODY_MEMORY, /* collected up to body_max; http_request_body */
        HTTP_BODY_FILE,   /* streamed to a temporary file of at most body_max bytes; http_request_body_file */
} HttpBody;

typedef enum { HTTP_STRING, HTTP_INTEGER, HTTP_BOOLEAN, HTTP_ARRAY, HTTP_PARAMETER_TYPES } HttpParameterType;
/* A parameter of a route's query, for the API document. The handler checks the value. */
typedef struct {
        const char *name; /* NULL ends a list */
        HttpParameterType type;
        const char *help; /* sentences for people */
} HttpParameter;

/* One route. The dispatcher, the OpenAPI document and its tests use the row. In `path`, {x} matches one
 * segment, and a last {x...} matches the rest, which may be empty. Literal text is preferred to {x}, {x} to
 * {x...}. The tables outlive the server. A trailing slash in the request is ignored. For the server's own
 * rows HEAD is answered where GET is. */
typedef struct {
        const char *method, *path;
        guint8 kind, verb; /* kind of object and action, for HttpServerConfig.access and the handlers */
        HttpHandler handler;
        const char *summary;         /* one sentence, for the API document */
        const HttpParameter *query;  /* or NULL: none */
        HttpBody body;               /* where the body is kept */
        guint64 body_max;            /* bytes; 0: a body is refused with 400 */
        const char *request, *reply; /* names of component schemas, or NULL */
        int reply_status;            /* status of success; 0: 200 */
        const char *reply_type;      /* content type of success; NULL: application/json */
        bool on_pool; /* the handler uses files or runs long, so it runs on a thread of the pool instead of a
                         worker. Each user has a share of the pool. base/cancel.h tells the handler when the
                         client has gone */
} HttpRoute;

/* The certificate that the client presented by TLS. */
typedef struct {
        const char *name;      /* the user that it names; NULL: see `error` */
        gint64 until_ms;       /* end of its validity */
        const GError *error;   /* ERR_UNAUTHENTICATED: why it is not valid */
        const char *authority; /* the authority that signed it (net/tls.h) */
        const char *words;     /* description of the certificate, for people */
} HttpCertificate;

typedef struct {
        const char *user; /* the caller; NULL on a public route */
        bool admin;
        int scope; /* as in HttpRight */
        const char *queue, *token;
        gint64 until_ms;         /* as in HttpRight */
        const char *certificate; /* HttpCertificate.words of the certificate that authenticates the user; or
                                    NULL */
        const char *address;     /* of the peer, "unix" on the Unix socket */
        int port;                /* of the peer; 0 on the Unix socket */
        pid_t pid;               /* of the process that connected to the Unix socket, which may have ended; 0:
                                    by TCP */
} HttpCaller;

/* The limits of a caller's rights. The application defines the meaning of scopes. */
typedef struct {
        bool admin;
        int scope;
        char *queue;     /* the only queue allowed; or NULL. Freed with g_free, as is */
        char *token;     /* the id of the token that was presented; or NULL */
        gint64 until_ms; /* when the token or certificate expires; 0: never */
} HttpRight;

/* Routes below a prefix that follow the rules of another API. All slashes count, HEAD is not GET, and literal
 * text goes before {x} only for the methods that it serves. Malformed pairs of a query are ignored (url.h).
 * The face writes all errors, also those of the server itself. */
typedef struct {
        const char *prefix;      /* "/api/x/v1/", compared with the path as it was sent; NULL ends a list */
        const HttpRoute *routes; /* ends with a NULL method */
        void *arg;               /* for its handlers and for the functions below */
        /* Authenticates the caller, before the body is read. As HttpServerConfig.authenticate, but called for
         * all routes, and the error may be of any domain. *ret_user may be NULL on success. */
        bool (*authenticate)(HttpRequest *request, char **ret_user, HttpRight *ret_right, void *arg,
                             GError **error);
        /* Writes the reply for http_fail. Any thread. */
        void (*fail)(HttpRequest *request, const GError *error, void *arg);
        /* As HttpServerConfig.credential; NULL: credentials cannot be revoked. */
        char *(*credential)(HttpRequest *request, void *arg);
} HttpFace;

typedef struct {
        const HttpFace *faces;   /* or NULL */
        const char *listen;      /* "127.0.0.1:8999", "[::1]:0"; NULL: no TCP */
        const char *socket_path; /* Unix socket, created with mode 0660 (0600 when not root); NULL: none */
        const char *temp_dir;    /* for HTTP_BODY_FILE */
        int workers;             /* 0: 2; at least 2 */
        int pool_threads;        /* 0: 8; one user gets at most a quarter, or half the cores */
        int pool_line_max;       /* waiting requests of one user for the pool; 0: 64 */
        int max_connections;     /* 0: 4096; further ones get 503; an eighth is reserved for the Unix
                                    socket */
        int max_per_holder; /* connections of one address, network or Unix user (peer.h); 0: no own limit */
        int max_streams;    /* streams and WebSockets in all; 0: 1000 */
        int max_streams_per_user;  /* 0: 250 */
        gint64 body_bytes_max;     /* bytes of request bodies in memory; 0: 256 MiB; above it 503 */
        gint64 user_bytes_max;     /* the part of these for one user; 0: all */
        gint64 stranger_bytes_max; /* the part of these for unauthenticated callers, of which one holder gets
                                      an eighth; 0: all */
        gint64 stranger_body_ms;   /* time limit for the body of an unauthenticated caller; 0: as for
                                      others */
        gint64 stranger_discard_max; /* bytes of an unauthenticated caller's body that are read after its
                                        refusal, to keep the connection; 0: 1 MiB, as for others */
        gint64 header_deadline_ms;   /* 0: 10 s */
        gint64 body_min_rate;        /* bytes/s, measured over body_grace_ms and then over each further three
                                        times that; 0: 1024 */
        gint64 body_grace_ms;        /* 0: 10 s */
        gint64 heartbeat_ms;         /* interval for streams; 0: 15 s */
        gint64 stream_max_age_ms;    /* a follower's connection is ended after this time, and it resumes; 0:
                                        10 min */
        gsize websocket_message_max; /* bytes of one message of a client; 0: 64 KiB */
        gsize websocket_out_max;     /* unread bytes of one client; 0: 4 MiB; for all clients together 64
                                        times that */
        /* Proxies whose X-Forwarded-For is trusted. The address of a request is the last one in it that is
         * not in this list. NULL: no proxy is trusted. */
        const char *const *trusted_proxies;
        /* Who may reach this route from that address; NULL: any caller. */
        HttpAccess (*access)(const HttpRoute *route, const HttpRequest *request, void *arg);
        /* Authenticates the caller. NULL: only HTTP_PUBLIC routes can be reached. `address` is the peer's,
         * "unix" on the Unix socket. For TCP `authorization` is the header or NULL, and uid is -1. For the
         * Unix socket uid is the peer's. Sets *ret_user, which the server frees with g_free. False with
         * ERR_UNAUTHENTICATED. Any worker thread; short. */
        bool (*authenticate)(const char *authorization, uid_t uid, const char *address, char **ret_user,
                             HttpRight *ret_right, void *arg, GError **error);
        /* Checks whether this authenticated caller may use the route, also one of a face. NULL: yes. */
        bool (*permits)(const HttpRoute *route, const HttpCaller *caller, void *arg, GError **error);
        /* A request is about to be answered with `status`. True: the answer waits until `done` is called,
         * once, on any thread. `done` is NULL if the answer cannot wait: for requests that were refused
         * before their handler, streams and WebSockets. Any thread; short. NULL: nothing is recorded. */
        bool (*record)(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg,
                       void *arg);
        /* The caller's revocable credential, such as a token, as a text that is freed with g_free; NULL:
         * none. `is_valid` is called for it each second while a stream or WebSocket of the caller is open.
         * When it returns false the stream or WebSocket ends. Short. Both NULL: followers are not checked. */
        char *(*credential)(const char *authorization, void *arg);
        bool (*is_valid)(const char *credential, void *arg);
        /* Authenticates a caller without `authorization` but with a valid certificate, and returns its
         * revocable credential. NULL: only faces use certificates. */
        bool (*by_certificate)(const HttpCertificate *certificate, char **ret_user, HttpRight *ret_right,
                               char **ret_credential, void *arg, GError **error);
        Tls *tls; /* TLS of the TCP port; borrowed. NULL: plain HTTP */
        void *arg;
        /* HTTP_BODY_FILE: reserves bytes and files of the user on the disk, before they are read. The
         * announced length is reserved at once; else each piece is, the first one with the file. `release`
         * returns the sum with the answer. Fails with ERR_QUOTA, for example. Any worker thread; short. Both
         * NULL: no check. */
        bool (*hold)(const char *user, gint64 bytes, int files, void *arg, GError **error);
        void (*release)(const char *user, gint64 bytes, int files, void *arg);
        void *hold_arg; /* outlives all requests */
} HttpServerConfig;

/* Binds and listens. `routes`: arrays ending with a NULL method, in a NULL-terminated list. `arg` is passed
 * to handlers. */
HttpServer *http_server_new(const HttpServerConfig *config, const HttpRoute *const *routes, void *arg,
                            GError **error);
/* Accepts no new connections, answers waiting requests with 503, ends streams, then stops. */
void http_server_free(HttpServer *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HttpServer, http_server_free)
/* Splits "127.0.0.1:8999", and "[::1]:0" without its brackets; ERR_INVALID for any other text. */
bool http_listen_split(const char *listen, char **ret_host, char **ret_port, GError **error);
/* *ret: whether this address is reachable from this machine only. ERR_INVALID. */
bool http_listen_is_local(const char *listen, bool *ret, GError **error);
int http_server_port(HttpServer *server); /* the TCP port; 0: no TCP */

typedef struct {
        gint64 requests, errors_4xx, errors_5xx, connections, suspended, streams, refused, body_bytes;
        gint64 websockets;                                        /* open now */
        gint64 latency_count, latency_us_sum, latency_bucket[16]; /* bucket i: <= 2^i * 64 us */
} HttpMetrics;
void http_server_metrics(HttpServer *server, HttpMetrics *ret);

/* Moves a long request to the pool. The handler of a route that is not `on_pool` calls it before it has done
 * anything. True: return at once; the handler is called again on a thread of the pool. False: it already runs
 * there. */
bool http_request_to_pool(HttpRequest *request);

/* The request. Strings are borrowed until the reply. */
HttpRequest *http_request_ref(HttpRequest *request);
void http_request_unref(HttpRequest *request);
const HttpCaller *http_request_caller(const HttpRequest *request);
const char *http_request_id(const HttpRequest *request);   /* also sent as X-Request-Id */
const char *http_request_path(const HttpRequest *request); /* decoded, without query */
const char *
http_request_param(const HttpRequest *request,
                   const char *name); /* a parameter of the path, decoded; never NULL for a name of the
                                         route */
const char *http_request_query(const HttpRequest *request, const char *name);  /* decoded, or NULL */
char **http_request_queries(const HttpRequest *request, const char *name);     /* all values of that name; the
                                                                              caller's; NULL: none */
const char *http_request_header(const HttpRequest *request, const char *name); /* or NULL */
/* NULL: the client presented none. Valid in `authenticate` and `credential` of a face, and in a handler until
 * it returns. */
const HttpCertificate *http_request_certificate(const HttpRequest *request);
const char *http_request_body(const HttpRequest *request,
                              gsize *ret_len); /* HTTP_BODY_MEMORY; "" when empty */
const char *
http_request_body_file(const HttpRequest *request); /* path; the file is deleted after the reply unless it was
                                                       renamed */
json_t *http_request_json(const HttpRequest *request,
                          GError **error); /* parses the body as an object; the caller's */
const HttpRoute *http_request_route(const HttpRequest *request);
/* Facts for HttpServerConfig.record, set before the answer: the user who logged in, the object of the
 * request, the owner of that object, and that it was denied, whatever the status is. The last call wins.
 * Copied. */
void http_request_set_user(HttpRequest *request, const char *user);
void http_request_set_subject(HttpRequest *request, const char *subject);
void http_request_set_owner(HttpRequest *request, const char *user);
void http_request_set_denied(HttpRequest *request);
typedef struct {
        char *user, *subject, *owner; /* or NULL; the caller's */
        bool denied;
} HttpNotes;
HttpNotes http_request_notes(const HttpRequest *request);
/* Integer query parameter with a default. False: it has already replied with the error. */
bool http_request_query_int(HttpRequest *request, const char *name, gint64 min, gint64 max, gint64 fallback,
                            gint64 *ret);

/* Replies. Any thread, once. Bodies are copied unless said otherwise. */
void http_reply(HttpRequest *request, int status, const char *type, const char *body, gsize len);
void http_reply_take(HttpRequest *request, int status, const char *type, char *body,
                     gsize len); /* frees `body` with g_free */
/* As http_reply_take, but the worker that sends the reply writes its body, so that the calling thread only
 * passes `arg`. `write` runs once, or never if the client has gone. `arg` is freed in both cases. */
typedef char *(*HttpWrite)(void *arg, gsize *ret_len);
void http_reply_written(HttpRequest *request, int status, const char *type, HttpWrite write, void *arg,
                        GDestroyNotify free_arg);
void http_reply_json(HttpRequest *request, int status, const json_t *value);
void http_reply_file(HttpRequest *request, const char *path, int fd, guint64 offset, guint64 len,
                     const char *type); /* takes fd; sendfile; handles Range (206, 416) */
void http_reply_header(HttpRequest *request, const char *name, const char *value); /* call before the reply */
void http_fail(HttpRequest *request, const GError *error); /* status and body as in the table of errors */

/* A stream produces its bytes over time. `pull` runs on a worker. It appends the available bytes to `out` and
 * returns STREAM_MORE (call again at once), STREAM_WAIT (suspended until http_stream_wake or the heartbeat)
 * or STREAM_END. A wake during pull is not lost. `close` runs once, after the last pull, on any thread. */
typedef enum { STREAM_MORE, STREAM_WAIT, STREAM_END } StreamState;
typedef struct {
        const char *type;                             /* content type */
        StreamState (*pull)(GString *out, void *arg); /* at most about 64 KiB a call */
        void (*close)(void *arg);
        const char *heartbeat; /* sent every 15 s of silence (": \n\n"), or NULL */
        void *arg;
} HttpStream;
typedef struct HttpStreamHandle HttpStreamHandle;
/* Starts the stream. The handle is valid until `close` has been called. NULL: refused because of too many
 * streams; 503 was sent and close was called. If this is called outside of the handler, `close` may run
 * before it returns. A client that closes even half of its connection counts as gone. */
HttpStreamHandle *http_stream(HttpRequest *request, const HttpStream *stream);
void http_stream_wake(HttpStreamHandle *handle); /* any thread */

/* Appends one server-sent event: "id: ...\nevent: ...\ndata: ...\n\n"; id and event may be NULL; newlines in
 * data become several data lines. */
void sse_append(GString *out, const char *id, const char *event, const char *data);
