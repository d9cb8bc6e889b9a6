/* A WebSocket (RFC 6455), the client's side, for a program that polls: text messages both ways. Opening
 * waits; after that nothing does. Needs libcurl, for local servers as well. One thread. */
#pragma once

#include "net/client.h"

typedef struct WebSocketClient WebSocketClient;

/* GETs `path` with the client's server and token. NULL with the error of the server's reply, or as http_call
 * says it. The HttpClient outlives it. */
WebSocketClient *websocket_client_open(HttpClient *client, const char *path, GError **error);
void websocket_client_free(WebSocketClient *socket); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WebSocketClient, websocket_client_free)

int websocket_client_fd(const WebSocketClient *socket);           /* to poll for reading, and */
bool websocket_client_wants_write(const WebSocketClient *socket); /* for writing */

typedef void (*WebSocketText)(const char *text, gsize len, void *arg);
/* Takes what is there, and sends what waits. False with ERR_UNAVAILABLE, or when the server has said goodbye
 * (no error then, unless it said why). */
bool websocket_client_turn(WebSocketClient *socket, WebSocketText text, void *arg, GError **error);
/* Sent by the turns. */
void websocket_client_send(WebSocketClient *socket, const char *text, gsize len);
