/* Connects our standard streams with a command beside a member, or with a member's terminal
 * (doc/guide/rest.md, "A terminal into a job").
 *
 *     stdin ──▶ 0 ─┐           ┌─ 1 ──▶ stdout
 *     size  ──▶ 4 ─┤           ├─ 2 ──▶ stderr       3 ──▶ the exit status
 *     end   ──▶ 5 ─┤ WebSocket ├─ 6: acknowledged bytes of stdin
 *     leave ──▶ 8 ─┘           └─ 7: offset of the first byte of output
 *
 * Standard input is read while fewer bytes than the window are unacknowledged, so that a fast writer waits for
 * the command. Written output is acknowledged, so that a fast command waits for our reader. */
#pragma once

#include "net/websocket-client.h"

typedef struct {
        /* Set by the caller. */
        WebSocketClient *socket;
        bool input_open;              /* standard input is sent */
        bool detaches;                /* Ctrl-P Ctrl-Q detaches */
        int signals;                  /* from session_listen_to_size(); or -1 */
        void (*on_placed)(void *arg); /* called when the terminal answers, before its output; or NULL */
        void *arg;

        /* Results. */
        bool ended, detached;
        int status;     /* of the command, if it ended */
        bool placed;    /* `offset` is known */
        guint64 offset; /* of the next byte of output */

        /* Private. */
        gsize under_way; /* of stdin, sent and not acknowledged */
        gsize written;   /* of output, not acknowledged */
        bool prefix;     /* Ctrl-P was typed */
        bool leaving;
        GError *failed;
} Session;

/* Runs until the command ends or the user detaches. False with ERR_UNAVAILABLE if the connection ends. */
bool session_talk(Session *session, GError **error);

/* The size of the terminal at standard input. */
bool session_window(int *ret_columns, int *ret_rows);
/* "columns=80&rows=24", or "" without a terminal; the caller's. */
char *session_window_query(void);
/* A descriptor that becomes readable when the size changes; close it. */
int session_listen_to_size(void);

/* The terminal at standard input sends every key, until session_make_usual(). A signal that ends the program
 * restores it as well. False: no terminal. */
bool session_make_raw(void);
void session_make_usual(void);
