/* WebSockets (RFC 6455), the server's side: text messages both ways over a connection that began as a GET.
 *
 * One thread serves all of a server's sockets. A message that is sent waits in the socket's buffer until the
 * client takes it; a client that lets it fill is dropped, so nobody waits for it. The client is pinged when
 * it is silent, and dropped when it stays so. Binary messages, and messages over `websocket_message_max`, end
 * the connection (1003, 1009), as do broken frames (1002) and text that is not UTF-8 (1007).
 *
 * Sockets count as followers: together with streams they are bounded by max_streams and max_streams_per_user
 * of the server. When the server stops, clients are told 1001. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "net/server.h"

typedef struct WebSocket WebSocket;

/* Both are called on the sockets' thread, must not block, and may send. */
typedef struct {
        /* A message from the client: UTF-8, with a NUL behind it that `len` does not count. */
        void (*on_text)(void *arg, const char *text, gsize len);
        /* Once, after the last on_text, however it ended; on any thread. May be NULL. */
        void (*on_closed)(void *arg);
        const char *user; /* whom the socket counts for; NULL: the request's caller */
} WebSocketOps;

/* Turns a GET into a WebSocket: the answer is 101, and the socket is open for sending at once. The request
 * needs the RFC's handshake, else it is answered 400 (426 when only the version is wrong), text/plain. NULL
 * when the request was answered otherwise, that and a refusal for want of room (503) included; then
 * `on_closed` has been called. Else one reference is the caller's. `*ops` is copied. */
WebSocket *http_upgrade_websocket(HttpRequest *request, const WebSocketOps *ops, void *arg);

WebSocket *websocket_ref(WebSocket *socket);
void websocket_unref(WebSocket *socket); /* NULL is a no-op; the connection lives on */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebSocket, websocket_unref)

/* Any thread. False when the connection is over, or is dropped because its buffer is full. */
bool websocket_send_text(WebSocket *socket, const char *text, gsize len);
/* Bytes that the client has not taken yet: who has much to say looks here and waits. */
gsize websocket_pending(WebSocket *socket);
/* Says goodbye: what was sent goes out, then a close with this status (1000, 1008, 3000-4999...) and reason.
 * Any thread; later calls change nothing. */
void websocket_close(WebSocket *socket, int status, const char *reason);
