/* HTTP client, for the command line and for programs that call others. One interface over a table of
 * transports: plain HTTP/1.1 over Unix sockets and loopback TCP without any library; libcurl, loaded only
 * when needed (dlopen), for TLS and remote hosts. Synchronous; one request at a time per client; connections
 * are kept alive. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

typedef struct HttpClient HttpClient;

/* `url`: "http://host:port", "https://...", "unix:/path/paddled.sock". ERR_INVALID for another form. Does not
 * connect yet. */
HttpClient *http_client_new(const char *url, const char *token, GError **error);
void http_client_free(HttpClient *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HttpClient, http_client_free)
const char *http_client_url(const HttpClient *client);

/* For https://: paths of PEM files, each may be NULL. */
typedef struct {
        const char *ca;         /* authorities that sign servers' certificates; NULL: those of the system */
        const char *cert, *key; /* the client's certificate and key */
} HttpClientTls;
void http_client_set_tls(HttpClient *client, const HttpClientTls *tls); /* before the first call */

typedef struct {
        int status;
        char *type; /* content type or NULL */
        GString *body;
        GHashTable *headers; /* lower-case name -> value */
        const char *url;     /* of the server; owned by the client */
} HttpReply;
void http_reply_clear(HttpReply *reply);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HttpReply, http_reply_clear)

typedef struct {
        const char *method, *path; /* path with query, already encoded */
        const char *type;          /* of the body; NULL: application/json */
        const void *body;
        gsize body_len;
        int body_fd; /* > 0: the body is body_len bytes of this file from body_offset */
        guint64 body_offset;
        const char *const *headers; /* "Name: value", NULL-terminated, or NULL */
        gint64 timeout_ms;          /* of silence, and of connecting if that is below 10 s; 0: 60 s; -1: none
                              (followers; the server's heartbeats keep the silence below 30 s) */
        gint64 until_us; /* g_get_monotonic_time() at which the call is given up even if data still flows; 0:
                            none */
        int retries;     /* after connection failures, 502, 503, 504, and 429 with Retry-After, with back-off;
                            only for GET, PUT, HEAD, DELETE or with an Idempotency-Key header */
        gsize body_max;  /* limit of the reply in memory; 0: 64 MiB */
        /* If set, the body of a 2xx reply is passed to it piece by piece instead of reply->body. False ends
         * the transfer. */
        bool (*receive)(const char *data, gsize len, void *arg, GError **error);
        void *arg;
} HttpCall;

/* True if a reply came, whatever its status. ERR_UNREACHABLE (no server listens), ERR_TIMEOUT,
 * ERR_UNAVAILABLE (the connection broke off). */
bool http_call(HttpClient *client, const HttpCall *call, HttpReply *ret, GError **error);

/* Turns a reply that is not 2xx into an error, from the JSON error body (code, message, hint) or else the
 * status line. Returns false. */
bool http_reply_error(const HttpReply *reply, GError **error);

/* The usual call: JSON in (or NULL), JSON out (NULL for an empty reply). A reply that is not 2xx is an
 * error. */
bool http_call_json(HttpClient *client, const char *method, const char *path, const json_t *body,
                    json_t **ret, GError **error);

/* Server-sent events: GETs `path` and calls `event` for each, until it returns false or the stream ends (true
 * in both cases). Does not reconnect: the caller knows where to resume. */
typedef bool (*SseFunc)(const char *id, const char *event, const char *data, void *arg);
bool http_client_events(HttpClient *client, const char *path, SseFunc event, void *arg, GError **error);

/* Percent-encodes one path segment or query value; the caller's. */
char *url_escape(const char *text);
