/* A command beside a member, or a member's own terminal, at our standard streams (doc/guide/rest.md, "A terminal
 * into a job").
 *
 *     stdin ──▶ 0 ─┐           ┌─ 1 ──▶ stdout
 *     size  ──▶ 4 ─┤           ├─ 2 ──▶ stderr       3 ──▶ the exit status
 *     end   ──▶ 5 ─┤ WebSocket ├─ 6: bytes of stdin that were taken
 *     leave ──▶ 8 ─┘           └─ 7: where the output begins
 *
 * Standard input is read while less than the window is under way, so that a fast writer waits for the
 * command; what was written out is acknowledged, so that a fast command waits for our reader. */
#pragma once

#include "net/websocket-client.h"

typedef struct {
        /* Set before. */
        WebSocketClient *socket;
        bool input_open;              /* standard input is passed on */
        bool detaches;                /* Ctrl-P Ctrl-Q leaves the terminal */
        int signals;                  /* session_listen_to_size's; -1 */
        void (*on_placed)(void *arg); /* the terminal answers, before its output; or NULL */
        void *arg;

        /* Known afterwards. */
        bool ended, detached;
        int status;     /* of the command, when it ended */
        bool placed;    /* `offset` is known */
        guint64 offset; /* of the next byte of output */

        /* Inside. */
        gsize under_way; /* of stdin */
        gsize written;   /* of output, not acknowledged */
        bool prefix;     /* Ctrl-P was typed */
        bool leaving;
        GError *failed;
} Session;

/* Until the command ends, the terminal is left, or the connection ends: then it is false, with
 * ERR_UNAVAILABLE. */
bool session_talk(Session *session, GError **error);

/* The size of the terminal at standard input. */
bool session_window(int *ret_columns, int *ret_rows);
/* "columns=80&rows=24", or "" when there is none; the caller's. */
char *session_window_query(void);
/* A descriptor that is readable when the size has changed; close it. */
int session_listen_to_size(void);

/* The terminal at standard input passes every key on, until session_make_usual. Ends by signals give it back,
 * too. False: there is none. */
bool session_make_raw(void);
void session_make_usual(void);
