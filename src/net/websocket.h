/* WebSockets (RFC 6455), the server's side: text messages both ways over a connection that began as a GET.
 *
 * One thread serves all sockets of a server. A sent message waits in the socket's buffer until the client
 * reads it. A client that lets the buffer fill up is dropped, so that no other code waits for it. A silent
 * client is pinged, and dropped if it stays silent. Binary messages, and messages over
 * `websocket_message_max`, end the connection (1003, 1009), as do broken frames (1002) and text that is not
 * UTF-8 (1007).
 *
 * Sockets count as followers: together with streams they are limited by max_streams and max_streams_per_user
 * of the server. When the server stops, clients are told 1001. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/server.h"

typedef struct WebSocket WebSocket;

/* on_text and on_closed are called on the sockets' thread, must not block, and may send. */
typedef struct {
        /* A message from the client: UTF-8, followed by a NUL that `len` does not count. */
        void (*on_text)(void *arg, const char *text, gsize len);
        /* Called once, after the last on_text, for any end; on any thread. May be NULL. */
        void (*on_closed)(void *arg);
        const char *user; /* the user for whom the socket is counted; NULL: the request's caller */
} WebSocketOps;

/* Turns a GET into a WebSocket: the answer is 101, and the socket can send at once. A request without the
 * RFC's handshake is answered 400 (426 if only the version is wrong), text/plain. NULL: the request was
 * answered otherwise, also with 503 because the limit is reached, and `on_closed` has been called. Else one
 * reference is the caller's. `*ops` is copied. */
WebSocket *http_upgrade_websocket(HttpRequest *request, const WebSocketOps *ops, void *arg);

WebSocket *websocket_ref(WebSocket *socket);
void websocket_unref(WebSocket *socket); /* NULL is a no-op; the connection stays open */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebSocket, websocket_unref)

/* Any thread. False if the connection has ended, or is dropped because its buffer is full. */
bool websocket_send_text(WebSocket *socket, const char *text, gsize len);
/* Bytes that the client has not read yet. A sender with much to send waits while this is large. */
gsize websocket_pending(WebSocket *socket);
/* Closes the socket: sends the waiting messages, then a close with this status (1000, 1008, 3000-4999...) and
 * reason. Any thread; later calls have no effect. */
void websocket_close(WebSocket *socket, int status, const char *reason);
