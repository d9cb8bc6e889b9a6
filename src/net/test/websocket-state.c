/* The states of a WebSocket, explored: each order of events from its opening. In each step the rules of RFC 6455 hold;
 * they are checked by what was sent and heard, not by the states. */
#include "net/websocket-state.h"

/* What both sides have seen of the connection so far. */
typedef struct {
        WebSocketState state;
        bool said_close, heard_close, failed, dropped, shut, over;
} World;

enum { WORLDS_MAX = 200 };

static const char *const names[WEBSOCKET_EVENTS] = {
        [WEBSOCKET_ON_SEND] = "send",   [WEBSOCKET_ON_CLOSE] = "close", [WEBSOCKET_ON_TEXT] = "text",
        [WEBSOCKET_ON_PING] = "ping",   [WEBSOCKET_ON_PONG] = "pong",   [WEBSOCKET_ON_BYE] = "client's close",
        [WEBSOCKET_ON_FAULT] = "fault", [WEBSOCKET_ON_SENT] = "sent",   [WEBSOCKET_ON_FULL] = "full",
        [WEBSOCKET_ON_END] = "end",
};

/* True if the client can still be talked to: no close of its own, no fault, and the connection goes on. */
static bool is_heard(const World *w)
{
        return !w->heard_close && !w->failed && !w->dropped && !w->over;
}

/* The actions that the RFC asks for. */
static guint expected(const World *w, WebSocketEvent event)
{
        switch (event) {
        case WEBSOCKET_ON_SEND: /* 5.5.1: no data frames after a close, sent or (7.1.4) received */
        case WEBSOCKET_ON_CLOSE: return is_heard(w) && !w->said_close ? WEBSOCKET_DO_SEND : 0;
        case WEBSOCKET_ON_TEXT: /* 1.4: the client may send until its close; 7.1.7: a failed one is not read */
                return is_heard(w) ? WEBSOCKET_DO_DELIVER : 0;
        case WEBSOCKET_ON_PING: /* 5.5.2: a pong, unless a close was received */
                return is_heard(w) ? WEBSOCKET_DO_SEND : 0;
        case WEBSOCKET_ON_PONG: return 0; /* 5.5.3: no response */
        case WEBSOCKET_ON_BYE:            /* 5.5.1: answered by a close, unless one was sent before */
        case WEBSOCKET_ON_FAULT:          /* 7.1.7: a close with a reason, if the opening was complete */
                return is_heard(w) && !w->said_close ? WEBSOCKET_DO_SEND : 0;
        case WEBSOCKET_ON_SENT: /* 7.1.1: the server ends the connection, and its own half first */
                return (w->heard_close || w->failed) && !w->dropped && !w->shut && !w->over
                               ? WEBSOCKET_DO_SHUT
                               : 0;
        default: return 0;
        }
}

static void note(World *w, WebSocketEvent event, guint todo)
{
        bool heard = is_heard(w),
             closes = event == WEBSOCKET_ON_CLOSE || event == WEBSOCKET_ON_BYE || event == WEBSOCKET_ON_FAULT;

        w->said_close |= closes && todo & WEBSOCKET_DO_SEND;
        w->heard_close |= event == WEBSOCKET_ON_BYE && heard;
        w->failed |= event == WEBSOCKET_ON_FAULT && heard;
        w->dropped |= event == WEBSOCKET_ON_FULL && !w->shut && !w->over;
        w->shut |= (todo & WEBSOCKET_DO_SHUT) != 0;
        w->over |= event == WEBSOCKET_ON_END;
}

static bool is_same(const World *a, const World *b)
{
        return a->state == b->state && a->said_close == b->said_close && a->heard_close == b->heard_close &&
               a->failed == b->failed && a->dropped == b->dropped && a->shut == b->shut && a->over == b->over;
}

static void add(World *worlds, int *n, const World *w)
{
        for (int i = 0; i < *n; i++)
                if (is_same(&worlds[i], w))
                        return;
        g_assert_cmpint(*n, <, WORLDS_MAX);
        worlds[(*n)++] = *w;
}

static void test_rules(void)
{
        World worlds[WORLDS_MAX] = { { .state = WEBSOCKET_OPEN } };
        guint reached = 0;
        int n = 1;

        for (int i = 0; i < n; i++) {
                reached |= 1u << worlds[i].state;
                for (guint event = 0; event < WEBSOCKET_EVENTS; event++) {
                        World next = worlds[i];
                        guint todo = websocket_step(&next.state, event), want = expected(&next, event);

                        if (todo != want)
                                g_error("state %d, %s: %x, not %x", (int)worlds[i].state, names[event], todo,
                                        want);
                        note(&next, event, todo);
                        g_assert_cmpint(next.over, ==, next.state == WEBSOCKET_OVER);
                        g_assert_cmpint(websocket_hears(next.state), ==, is_heard(&next));
                        add(worlds, &n, &next);
                }
        }
        g_assert_cmphex(reached, ==, (1u << WEBSOCKET_STATES) - 1);
}

/* Once the client's half has ended, or its close has come and all is sent, the way to the end is open. */
static void test_end(void)
{
        for (guint first = 0; first < WEBSOCKET_STATES; first++) {
                WebSocketState state = first;

                (void)websocket_step(&state, WEBSOCKET_ON_END);
                g_assert_cmpint((int)state, ==, (int)WEBSOCKET_OVER);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/websocket-state/rules of the RFC", test_rules);
        g_test_add_func("/websocket-state/end", test_end);
        return g_test_run();
}
