/* The state of a WebSocket (see websocket-state.h).
 *
 *             we close              the client's close, or a fault         all is sent
 *     OPEN ─────────────▶ CLOSING ──────────────────────────────▶ CLOSED ─────────────▶ SHUT
 *      │                                                            ▲                     │
 *      └────────────────────────────────────────────────────────────┘                     │ the client's
 *         the client's close, or a fault: answered with our close                         │ half ends
 *                                                                                         ▼
 *     OPEN, CLOSING, CLOSED ───────▶ DROPPED ───────────────────────────────────────▶  OVER
 *                     too much unread          a connection may end in every state
 *
 * In CLOSING we send no more messages (section 5.5.1), but pings are answered until the client's close comes (5.5.2),
 * and its messages are delivered. After a fault nothing that the client sends is used (7.1.7). */
#include "net/websocket-state.h"

/* An event that is not in the table has no effect in that state. */
static const struct {
        WebSocketState from;
        WebSocketEvent on;
        WebSocketState to;
        guint todo;
} moves[] = {
        { WEBSOCKET_OPEN, WEBSOCKET_ON_SEND, WEBSOCKET_OPEN, WEBSOCKET_DO_SEND },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_CLOSE, WEBSOCKET_CLOSING, WEBSOCKET_DO_SEND },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_TEXT, WEBSOCKET_OPEN, WEBSOCKET_DO_DELIVER },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_PING, WEBSOCKET_OPEN, WEBSOCKET_DO_SEND },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_BYE, WEBSOCKET_CLOSED, WEBSOCKET_DO_SEND },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_FAULT, WEBSOCKET_CLOSED, WEBSOCKET_DO_SEND },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_FULL, WEBSOCKET_DROPPED, 0 },
        { WEBSOCKET_OPEN, WEBSOCKET_ON_END, WEBSOCKET_OVER, 0 },

        { WEBSOCKET_CLOSING, WEBSOCKET_ON_TEXT, WEBSOCKET_CLOSING, WEBSOCKET_DO_DELIVER },
        { WEBSOCKET_CLOSING, WEBSOCKET_ON_PING, WEBSOCKET_CLOSING, WEBSOCKET_DO_SEND },
        { WEBSOCKET_CLOSING, WEBSOCKET_ON_BYE, WEBSOCKET_CLOSED, 0 },
        { WEBSOCKET_CLOSING, WEBSOCKET_ON_FAULT, WEBSOCKET_CLOSED, 0 },
        { WEBSOCKET_CLOSING, WEBSOCKET_ON_FULL, WEBSOCKET_DROPPED, 0 },
        { WEBSOCKET_CLOSING, WEBSOCKET_ON_END, WEBSOCKET_OVER, 0 },

        { WEBSOCKET_CLOSED, WEBSOCKET_ON_SENT, WEBSOCKET_SHUT, WEBSOCKET_DO_SHUT },
        { WEBSOCKET_CLOSED, WEBSOCKET_ON_FULL, WEBSOCKET_DROPPED, 0 },
        { WEBSOCKET_CLOSED, WEBSOCKET_ON_END, WEBSOCKET_OVER, 0 },

        { WEBSOCKET_SHUT, WEBSOCKET_ON_END, WEBSOCKET_OVER, 0 },
        { WEBSOCKET_DROPPED, WEBSOCKET_ON_END, WEBSOCKET_OVER, 0 },
};

guint websocket_step(WebSocketState *state, WebSocketEvent event)
{
        for (gsize i = 0; i < G_N_ELEMENTS(moves); i++) {
                if (moves[i].from != *state || moves[i].on != event)
                        continue;
                *state = moves[i].to;
                return moves[i].todo;
        }
        return 0;
}

bool websocket_hears(WebSocketState state)
{
        return state == WEBSOCKET_OPEN || state == WEBSOCKET_CLOSING;
}
