/* Private to the server: a request between the connection's worker and the code that answers it, and the
 * replies and streams in which it can end. It does not know libmicrohttpd: it uses RequestOps to query a
 * connection.
 *
 * There are two counts. `refs` keeps the memory. `users` counts the handler and those who keep the request to
 * answer it later. When the last user drops it without an answer the request answers 500, so no client waits
 * for ever. `mutex` guards answered, suspended, held, notes and connection. A request that is not answered
 * has a live connection. A suspended request is resumed exactly once, by its answer. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

#include "net/peer.h"
#include "net/route.h"
#include "net/server.h"
#include "net/url.h"
#include "net/websocket.h"

enum { REQUEST_ID_LEN = 12 };

typedef enum { REPLY_MEMORY, REPLY_FILE, REPLY_STREAM, REPLY_UPGRADE } ReplyKind;

typedef struct {
        ReplyKind kind;
        int status;
        char *type; /* content type or NULL */
        char *body; /* REPLY_MEMORY */
        gsize len;
        HttpWrite write; /* produces the body when it is sent; or NULL */
        void *write_arg;
        GDestroyNotify write_free;
        int fd; /* REPLY_FILE: `size` bytes from `offset` */
        guint64 offset, size;
        HttpStreamHandle *stream; /* REPLY_STREAM */
        WebSocket *socket;        /* REPLY_UPGRADE, until it is attached */
        GPtrArray *headers;       /* name, value, name, value...; or NULL */
} Reply;

typedef struct {
        void (*resume)(HttpRequest *request); /* with request->mutex held */
        const char *(*header)(const HttpRequest *request,
                              const char *name); /* with request->mutex held; borrowed until unlock */
        /* Registers a stream with the server, or refuses it. */
        bool (*admit)(HttpRequest *request, HttpStreamHandle *stream, GError **error);
        bool (*admit_socket)(HttpRequest *request, WebSocket *socket, GError **error); /* as admit */
        bool (*is_stopping)(const HttpRequest *request);
        /* HttpServerConfig.record. */
        bool (*record)(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg);
} RequestOps;

typedef enum {
        STAGE_HEADER,  /* the request line has arrived, the headers have not */
        STAGE_BODY,    /* the body is being received */
        STAGE_DISCARD, /* already answered; the rest of the body is read and dropped first */
        STAGE_WAIT,    /* the handler has been called */
        STAGE_SENT,    /* the reply was passed to the connection */
} RequestStage;

/* A face of the server and its dispatcher. */
typedef struct {
        HttpFace face;
        RouteTable *routes;
} Face;

struct HttpRequest {
        gint refs, users;
        const RequestOps *ops;
        HttpServer *server; /* valid while the request is not answered */
        pthread_mutex_t mutex;
        const Face *face;                    /* NULL: the server's own routes */
        void *connection;                    /* NULL once the connection is done with the request */
        bool answered, suspended, recording; /* recording: `held` is the answer, to be sent when the recording
                                                is done */
        Reply reply, held;
        HttpNotes notes;

        /* Written by the connection's worker before the handler runs, read-only afterwards. */
        char id[REQUEST_ID_LEN + 1];
        RequestStage stage;
        bool on_pool;           /* the handler runs on the pool, or waits for it */
        bool http_1_1, is_head; /* the method is HEAD */
        gint64 started_us;
        char *target; /* as sent: path and query */
        UrlPath path;
        GArray *query;
        const RouteEntry *entry;
        char *params[ROUTE_PARAMS_MAX];
        char *user, *credential; /* or NULL */
        char *by_certificate;    /* HttpCertificate.words of the certificate that authenticates the user; or
                                    NULL */
        HttpRight right;
        char address[46]; /* INET6_ADDRSTRLEN; of the peer */
        char holder[PEER_HOLDER_MAX];
        HttpCaller caller;
        HttpCertificate certificate; /* borrowed from the connection */
        GString *body;
        char *body_file;
        int body_fd;
        guint64 body_len, discarded;
        gint64 held_bytes; /* bytes of the body reserved for its user; released with the request by
                              `release` */
        void (*release)(const char *user, gint64 bytes, int files, void *arg);
        void *hold_arg;
        gint64 accounted; /* bytes of this body in the server's count of bodies in memory */

        GPtrArray *kept; /* header values that were returned; guarded by mutex */
};

HttpRequest *request_new(HttpServer *server, const RequestOps *ops, const char *target);
void request_ref_memory(HttpRequest *request);
void request_unref_memory(HttpRequest *request);
/* Answers 101 with a socket that the server has not admitted yet. False: another answer was sent, and
 * `socket` has ended. Takes a reference of its own. */
bool request_upgrade(HttpRequest *request, WebSocket *socket);
void reply_clear(Reply *reply);
/* Produces the body of a reply with `write`. */
void reply_write(Reply *reply);

/* Creates the stream of a reply. */
HttpStreamHandle *stream_new(const HttpStream *stream, const char *user, const char *credential);
/* Calls `close` once, and frees. */
void stream_free(HttpStreamHandle *stream);
const char *stream_user(const HttpStreamHandle *stream);
const char *stream_credential(const HttpStreamHandle *stream); /* or NULL */

typedef struct {
        /* All with the stream's mutex held. */
        void (*suspend)(void *connection);
        void (*resume)(void *connection);
        bool (*is_left)(void *connection); /* for a suspended one: whether its client has gone */
} StreamOps;
/* Sets the connection that will read the stream. Call it before the first stream_read. */
void stream_attach(HttpStreamHandle *stream, void *connection, const StreamOps *ops);

enum { STREAM_READ_END = -1 }; /* the stream has ended, or its client has gone */
/* Called by the connection when it can send. Returns the bytes written to `buf`, 0 after suspending (or to be
 * called again), or STREAM_READ_END. */
gssize stream_read(HttpStreamHandle *stream, char *buf, gsize max);

/* Ends the stream after what is buffered. */
void stream_finish(HttpStreamHandle *stream);
/* Checks a stream that is suspended and has been silent since before `since_ms`: sends a heartbeat, or ends
 * it if its client has gone. */
void stream_look_after(HttpStreamHandle *stream, gint64 since_ms);
gint64 stream_born_ms(const HttpStreamHandle *stream);
