/* Private to the server: the thread that serves WebSockets, and the server's view of a socket. */
#pragma once

#include "net/websocket.h"

typedef struct WebSocketLoop WebSocketLoop;

typedef struct {
        gsize message_max, out_max, out_total_max; /* bytes */
        gint64 heartbeat_ms;
} WebSocketLimits;

WebSocketLoop *websocket_loop_new(const WebSocketLimits *limits, GError **error);
/* Tells every socket 1001 and gives it a short time to answer, including sockets that are attached later. */
void websocket_loop_quiesce(WebSocketLoop *loop);
/* Ends the thread and all its sockets. Sockets that are attached later end at once. */
void websocket_loop_stop(WebSocketLoop *loop);
void websocket_loop_free(WebSocketLoop *loop); /* after websocket_loop_stop; NULL is a no-op */

/* Called once at the end of an adopted socket, after `on_closed`. `connection` is the attached one, or
 * NULL. */
typedef void (*WebSocketDone)(WebSocket *socket, void *connection, void *arg);

const char *websocket_user(const WebSocket *socket);
const char *websocket_credential(const WebSocket *socket); /* the caller's; or NULL */
/* Adds a socket to the loop, before it is attached. */
void websocket_adopt(WebSocket *socket, WebSocketLoop *loop, WebSocketDone done, void *arg);
/* The handshake is complete: frames come from `fd`, and `extra` holds the first bytes that were already read.
 * The connection keeps the descriptor, which is not used after `done` is called. Takes the caller's
 * reference. */
void websocket_attach(WebSocket *socket, int fd, void *connection, const char *extra, gsize len);
/* The handshake failed. Takes the caller's reference. */
void websocket_abandon(WebSocket *socket);
