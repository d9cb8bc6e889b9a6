/* The server's answer to a WebSocket handshake (RFC 6455, section 4.2.2, step 5.4). */
#pragma once

/* Returns Sec-WebSocket-Accept; the caller's. `key`: Sec-WebSocket-Key as it was sent. */
char *websocket_accept(const char *key);
