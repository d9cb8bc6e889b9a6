/* Private to the server: a request between the connection's worker and whoever answers it, and the replies
 * and streams it can end in. Knows nothing of libmicrohttpd: what it needs of a connection it asks through
 * RequestOps.
 *
 * Two counts. `refs` keeps the memory. `users` counts the handler and those who keep the request to answer it
 * later; when the last of them goes without an answer the request answers 500, so no client waits for ever.
 * `mutex` guards answered, suspended, held, notes and connection: a request that is not answered has a live
 * connection, and one that is suspended is resumed exactly once, by its answer. */
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
        HttpWrite write; /* makes the body when it is sent; or NULL */
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
                              const char *name); /* with request->mutex held; borrowed till unlock */
        /* Takes a stream under the server's care, or refuses it. */
        bool (*admit)(HttpRequest *request, HttpStreamHandle *stream, GError **error);
        bool (*admit_socket)(HttpRequest *request, WebSocket *socket, GError **error); /* as admit */
        bool (*is_stopping)(const HttpRequest *request);
        /* HttpServerConfig.record. */
        bool (*record)(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg);
} RequestOps;

typedef enum {
        STAGE_HEADER,  /* the request line came, the headers did not yet */
        STAGE_BODY,    /* the body is being taken */
        STAGE_DISCARD, /* answered already; the rest of the body is dropped first */
        STAGE_WAIT,    /* the handler has been called */
        STAGE_SENT,    /* the reply is in the connection's hands */
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
        const Face *face;                    /* NULL: the server's own manners */
        void *connection;                    /* NULL once the connection is done with the request */
        bool answered, suspended, recording; /* recording: `held` is the answer, once that is done */
        Reply reply, held;
        HttpNotes notes;

        /* Written by the connection's worker before the handler runs, then only read. */
        char id[REQUEST_ID_LEN + 1];
        RequestStage stage;
        bool on_pool;           /* the handler runs there, or waits for it */
        bool http_1_1, is_head; /* the method is HEAD */
        gint64 started_us;
        char *target; /* as sent: path and query */
        UrlPath path;
        GArray *query;
        const RouteEntry *entry;
        char *params[ROUTE_PARAMS_MAX];
        char *user, *credential; /* or NULL */
        char *by_certificate;    /* HttpCertificate.words, when it stands for the user; or NULL */
        HttpRight right;
        char address[46]; /* INET6_ADDRSTRLEN; of the peer */
        char holder[PEER_HOLDER_MAX];
        HttpCaller caller;
        HttpCertificate certificate; /* borrowed from the connection */
        GString *body;
        char *body_file;
        int body_fd;
        guint64 body_len, discarded;
        gint64 held_bytes; /* of the body, of its user; released with the request by the next */
        void (*release)(const char *user, gint64 bytes, int files, void *arg);
        void *hold_arg;
        gint64 accounted; /* bytes of this body in the server's count of bytes in flight */

        GPtrArray *kept; /* header values handed out; guarded by mutex */
};

HttpRequest *request_new(HttpServer *server, const RequestOps *ops, const char *target);
void request_ref_memory(HttpRequest *request);
void request_unref_memory(HttpRequest *request);
/* Answers 101 with a socket that the server has yet to admit. False when it was answered otherwise, and
 * `socket` is over. Takes a reference of its own. */
bool request_upgrade(HttpRequest *request, WebSocket *socket);
void reply_clear(Reply *reply);
/* Makes the body of a reply that is still to be written. */
void reply_write(Reply *reply);

/* The stream of a reply. */
HttpStreamHandle *stream_new(const HttpStream *stream, const char *user, const char *credential);
/* Calls `close`, once, and frees. */
void stream_free(HttpStreamHandle *stream);
const char *stream_user(const HttpStreamHandle *stream);
const char *stream_credential(const HttpStreamHandle *stream); /* or NULL */
const char *stream_type(const HttpStreamHandle *stream);

typedef struct {
        /* All with the stream's mutex held. */
        void (*suspend)(void *connection);
        void (*resume)(void *connection);
        bool (*is_left)(void *connection); /* of a suspended one: has its client gone? */
} StreamOps;
/* The connection that will read it; before the first stream_read. */
void stream_attach(HttpStreamHandle *stream, void *connection, const StreamOps *ops);

enum { STREAM_READ_END = -1 }; /* said all, or its client has gone */
/* Called by the connection when it has room: bytes written to `buf`, 0 after suspending (or when to be called
 * again), or the above. */
gssize stream_read(HttpStreamHandle *stream, char *buf, gsize max);

/* Ends the stream after what is buffered. */
void stream_finish(HttpStreamHandle *stream);
/* Looks after a stream that is suspended and silent since before `since_ms`: a heartbeat, or the end when its
 * client has gone. */
void stream_look_after(HttpStreamHandle *stream, gint64 since_ms);
gint64 stream_born_ms(const HttpStreamHandle *stream);
