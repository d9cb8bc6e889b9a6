/* Private to the client: one request and its reply, and the transports that carry them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/client.h"
#include "net/curl-api.h"

enum { REPLY_HEAD_MAX = 64 << 10 };

/* What to do when no connection can be made. */
#define UNREACHED "Check the address, and that a server runs there; --server or PADDLE_SERVER names another."
#define UNREACHED_SOCKET "Start it with `paddle up`, or name another with --server."

/* The reply as it comes, whatever the transport. */
typedef struct {
        const HttpCall *call;
        HttpReply *reply;
        gsize head_len; /* so far; at most REPLY_HEAD_MAX */
        bool delivered; /* the caller's receive has seen bytes: the call cannot be repeated */
        bool stopped;   /* the caller's receive said that it is enough */
} Exchange;

/* "HTTP/1.1 200 OK", without its line end: begins the reply anew (after an interim one). ERR_UNAVAILABLE for
 * what is no status line. */
bool exchange_status(Exchange *exchange, const char *line, gsize len, GError **error);
/* "Name: value"; repeated ones are joined by ", ". */
bool exchange_header(Exchange *exchange, const char *line, gsize len, GError **error);
/* A piece of the body, to the caller's receive or into memory. False with an error, or with `stopped`. */
bool exchange_body(Exchange *exchange, const char *data, gsize len, GError **error);

typedef struct {
        char *url;         /* for messages, and without its last slash */
        bool tls, local;   /* local: a Unix socket or loopback */
        char *socket_path; /* or NULL */
        char *host;        /* without brackets */
        int port;
        char *ca, *cert, *key; /* HttpClientTls; or NULL */
} Endpoint;

/* What of TLS goes to libcurl for it. */
void endpoint_set_tls(const Endpoint *endpoint, const CurlApi *api, CURL *handle);
/* What a failure of libcurl's that has to do with TLS means, and what to do: false with ERR_UNREACHABLE; or
 * true for any other failure. `text` is the library's. */
bool endpoint_check_tls(const Endpoint *endpoint, CURLcode code, const char *text, GError **error);

typedef struct Transport Transport;
typedef struct {
        /* NULL with an error when the transport cannot be had. `endpoint` outlives it. */
        Transport *(*new)(const Endpoint *endpoint, GError **error);
        void (*free)(Transport *transport);
        /* Sends the call with these header lines (complete but for Host, Content-Length and Connection) and
         * fills the exchange. */
        bool (*perform)(Transport *transport, const HttpCall *call, const GPtrArray *headers,
                        Exchange *exchange, GError **error);
} TransportOps;

extern const TransportOps transport_plain; /* HTTP/1.1 over a socket, no library */
extern const TransportOps transport_curl;  /* libcurl, loaded by the first client that needs it */

/* Where it talks to, and as whom; borrowed. */
const Endpoint *http_client_endpoint(const HttpClient *client);
const char *http_client_token(const HttpClient *client); /* or NULL */

/* As http_client_new, on a given transport. */
HttpClient *http_client_new_on(const TransportOps *ops, const char *url, const char *token, GError **error);

/* True if doing the call twice is the same as doing it once. */
bool call_is_repeatable(const HttpCall *call);
/* Milliseconds of silence to bear, -1: any. */
gint64 call_timeout_ms(const HttpCall *call);
gint64 call_connect_ms(const HttpCall *call); /* the same until there is a connection; above 0 */
