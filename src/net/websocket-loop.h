/* Private to the server: the thread that serves WebSockets, and a socket as the server sees it. */
#pragma once

#include "net/websocket.h"

typedef struct WebSocketLoop WebSocketLoop;

typedef struct {
        gsize message_max, out_max, out_total_max; /* bytes */
        gint64 heartbeat_ms;
} WebSocketLimits;

WebSocketLoop *websocket_loop_new(const WebSocketLimits *limits, GError **error);
/* From here on every socket is told 1001 and has a moment to answer, the ones that come later as well. */
void websocket_loop_quiesce(WebSocketLoop *loop);
/* Ends the thread and what it serves still. Sockets that are attached later end at once. */
void websocket_loop_stop(WebSocketLoop *loop);
void websocket_loop_free(WebSocketLoop *loop); /* after websocket_loop_stop; NULL is a no-op */

/* Told once at the end of a socket that was adopted, after `on_closed`: `connection` is what was attached, or
 * NULL. */
typedef void (*WebSocketDone)(WebSocket *socket, void *connection, void *arg);

const char *websocket_user(const WebSocket *socket);
const char *websocket_credential(const WebSocket *socket); /* of its caller, or NULL */
/* Takes a socket into the loop's care; before it is attached. */
void websocket_adopt(WebSocket *socket, WebSocketLoop *loop, WebSocketDone done, void *arg);
/* The handshake is over: frames come from `fd`, the first ones already read in `extra`. The descriptor stays
 * the connection's and is left alone once `done` is called. Takes the caller's reference. */
void websocket_attach(WebSocket *socket, int fd, void *connection, const char *extra, gsize len);
/* The handshake did not get that far. Takes the caller's reference. */
void websocket_abandon(WebSocket *socket);
