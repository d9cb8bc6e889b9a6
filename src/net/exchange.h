/* Private to the client: one request and its reply, and the transports that carry them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/client.h"
#include "net/curl-api.h"

enum { REPLY_HEAD_MAX = 64 << 10 };

/* Hints for when no connection can be made. */
#define UNREACHED "Check the address, and that a server runs there; --server or PADDLE_SERVER names another."
#define UNREACHED_SOCKET "Start it with `paddle up`, or name another with --server."

/* The reply while it arrives, for any transport. */
typedef struct {
        const HttpCall *call;
        HttpReply *reply;
        gsize head_len; /* bytes so far; at most REPLY_HEAD_MAX */
        bool delivered; /* the caller's `receive` got bytes: the call cannot be repeated */
        bool stopped;   /* the caller's `receive` returned false without an error */
} Exchange;

/* "HTTP/1.1 200 OK", without its line end. Restarts the reply (after an interim one). ERR_UNAVAILABLE for a
 * malformed status line. */
bool exchange_status(Exchange *exchange, const char *line, gsize len, GError **error);
/* "Name: value"; repeated ones are joined by ", ". */
bool exchange_header(Exchange *exchange, const char *line, gsize len, GError **error);
/* Passes a piece of the body to the caller's `receive` or appends it in memory. False with an error, or with
 * `stopped`. */
bool exchange_body(Exchange *exchange, const char *data, gsize len, GError **error);

typedef struct {
        char *url;         /* for messages, and without its last slash */
        bool tls, local;   /* local: a Unix socket or loopback */
        char *socket_path; /* or NULL */
        char *host;        /* without brackets */
        int port;
        char *ca, *cert, *key; /* HttpClientTls; or NULL */
} Endpoint;

/* Sets libcurl's TLS options for the endpoint. */
void endpoint_set_tls(const Endpoint *endpoint, const CurlApi *api, CURL *handle);
/* Explains a failure of libcurl that concerns TLS, with a hint: false with ERR_UNREACHABLE. True: it is
 * another failure. `text` is the library's. */
bool endpoint_check_tls(const Endpoint *endpoint, CURLcode code, const char *text, GError **error);

typedef struct Transport Transport;
typedef struct {
        /* NULL with an error if the transport is not available. `endpoint` outlives it. */
        Transport *(*new)(const Endpoint *endpoint, GError **error);
        void (*free)(Transport *transport);
        /* Sends the call with these header lines (complete except for Host, Content-Length and Connection)
         * and fills the exchange. */
        bool (*perform)(Transport *transport, const HttpCall *call, const GPtrArray *headers,
                        Exchange *exchange, GError **error);
} TransportOps;

extern const TransportOps transport_plain; /* HTTP/1.1 over a socket, without a library */
extern const TransportOps transport_curl;  /* libcurl, loaded by the first client that needs it */

/* The server and the caller's token; borrowed. */
const Endpoint *http_client_endpoint(const HttpClient *client);
const char *http_client_token(const HttpClient *client); /* or NULL */

/* As http_client_new, on a given transport. */
HttpClient *http_client_new_on(const TransportOps *ops, const char *url, const char *token, GError **error);

/* True if repeating the call has the same effect as making it once. */
bool call_is_repeatable(const HttpCall *call);
/* Time limit of silence in ms; -1: none. */
gint64 call_timeout_ms(const HttpCall *call);
gint64 call_connect_ms(const HttpCall *call); /* the same until there is a connection; above 0 */
