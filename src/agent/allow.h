/* The rules of a builder's proxy, and the requests to it. Pure; parses untrusted bytes. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { ALLOW_HEAD_MAX = 16 * 1024 }; /* of a request */

/* A client's request to its proxy. */
typedef struct {
        bool tunnel; /* CONNECT: bytes go both ways. Else one GET or HEAD, and its answer */
        char *host;  /* lower case, without brackets */
        int port;
        char *target; /* absolute, as it was sent; NULL: a tunnel */
        char *path;   /* the same without scheme and host; NULL: a tunnel */
        char *method;
        char *headers; /* lines with their ends, without Host and the headers between client and proxy */
} AllowAsk;
void allow_ask_clear(AllowAsk *ask);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AllowAsk, allow_ask_clear)

/* Parses the head of a request: `len` bytes that end in an empty line. ERR_INVALID, ERR_DENIED. */
bool allow_ask_parse(const char *head, gsize len, AllowAsk *ret, GError **error);

/* "HOST[:PORT],...": without a port 80 and 443; "*.example.com" is every host below. */
bool allow_list_has(const char *list, const char *host, int port);

/* "example.com,.local,127.0.0.1": hosts, and all below them; "*": all. */
bool allow_is_direct(const char *no_proxy, const char *host);

/* A proxy behind this one. */
typedef struct {
        char *host;
        int port;
        char *authorization; /* "Basic ..."; or NULL */
} AllowProxy;
void allow_proxy_clear(AllowProxy *proxy);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AllowProxy, allow_proxy_clear)
/* "http://[USER:PASSWORD@]HOST[:PORT]"; other schemes are ERR_INVALID. */
bool allow_proxy_parse(const char *url, AllowProxy *ret, GError **error);
