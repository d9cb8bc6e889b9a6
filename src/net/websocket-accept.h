/* What a server of WebSockets answers to a handshake (RFC 6455, section 4.2.2, step 5.4). */
#pragma once

/* `key`: Sec-WebSocket-Key as it was sent. Sec-WebSocket-Accept, the caller's. */
char *websocket_accept(const char *key);
