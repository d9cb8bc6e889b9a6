/* A WebSocket (RFC 6455), the client's side, for a program that polls: text messages both ways. Only opening
 * blocks. Needs libcurl, also for local servers. One thread. */
#pragma once

#include "net/client.h"

typedef struct WebSocketClient WebSocketClient;

/* GETs `path` with the client's server and token. NULL with the error of the server's reply, or with an error
 * as of http_call. The HttpClient outlives it. */
WebSocketClient *websocket_client_open(HttpClient *client, const char *path, GError **error);
void websocket_client_free(WebSocketClient *socket); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebSocketClient, websocket_client_free)

int websocket_client_fd(const WebSocketClient *socket);           /* to poll for reading, and */
bool websocket_client_wants_write(const WebSocketClient *socket); /* for writing */

typedef void (*WebSocketText)(const char *text, gsize len, void *arg);
/* Reads the available messages, and sends waiting ones. False with ERR_UNAVAILABLE, or when the server has
 * closed the socket (then without an error, unless it gave a reason). */
bool websocket_client_turn(WebSocketClient *socket, WebSocketText text, void *arg, GError **error);
/* Queues a message; turns send it. */
void websocket_client_send(WebSocketClient *socket, const char *text, gsize len);
