/* The state of a WebSocket of a server: which frames it may hear and send, and when its connection ends (RFC 6455,
 * sections 5.5 and 7). Pure: websocket.c reads and writes. websocket-state.c draws the states. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        WEBSOCKET_OPEN,    /* both sides send. Until the handshake is answered, messages wait */
        WEBSOCKET_CLOSING, /* our close was sent, or waits behind messages; the client's has not come */
        WEBSOCKET_CLOSED,  /* no more input is used: the client's close has come, or it has broken the rules.
                              Our frames are still sent, the close last */
        WEBSOCKET_SHUT,    /* all is sent and our half of the connection has ended; the client's has not */
        WEBSOCKET_DROPPED, /* the client has left too much unread: the connection is about to be ended */
        WEBSOCKET_OVER,    /* the connection has ended */
        WEBSOCKET_STATES
} WebSocketState;

typedef enum {
        WEBSOCKET_ON_SEND,  /* we want to send a message or a ping */
        WEBSOCKET_ON_CLOSE, /* we want to close */
        WEBSOCKET_ON_TEXT,  /* the client has sent a whole message, */
        WEBSOCKET_ON_PING,  /* ... a ping, */
        WEBSOCKET_ON_PONG,  /* ... a pong, asked for or not, */
        WEBSOCKET_ON_BYE,   /* ... its close, */
        WEBSOCKET_ON_FAULT, /* ... bytes that break the rules */
        WEBSOCKET_ON_SENT,  /* all frames are sent */
        WEBSOCKET_ON_FULL,  /* the client has left too much unread */
        WEBSOCKET_ON_END,   /* the connection has ended, by whichever side */
        WEBSOCKET_EVENTS
} WebSocketEvent;

/* What has to be done. */
enum {
        WEBSOCKET_DO_SEND = 1 << 0,    /* send the frame: the message, a close, or a pong to a ping */
        WEBSOCKET_DO_DELIVER = 1 << 1, /* hand the client's message over */
        WEBSOCKET_DO_SHUT = 1 << 2,    /* end our half of the connection */
};

/* Moves the state and returns the actions; 0: the event has no effect. The only writer of a state. */
guint websocket_step(WebSocketState *state, WebSocketEvent event);
/* True if input is used. */
bool websocket_hears(WebSocketState state);
