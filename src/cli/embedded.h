/* The embedded server of this user: `paddled --state HOME` on the Unix socket HOME/paddled.sock, where HOME
 * is PADDLE_HOME or $HOME/.paddle. It continues after the command that started it, in its own session. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* The directory, the caller's; "/.paddle" if no home is known (no server is started there). */
char *embedded_home(void);
char *embedded_url(void); /* "unix:HOME/paddled.sock"; the caller's */

/* The process that listens on the socket; 0: none. */
pid_t embedded_pid(void);

/* Options of paddled; NULL: not passed. Paths of files are absolute, or relative to the current directory. */
typedef struct {
        const char *address, *tls_cert, *tls_key; /* address NULL: no TCP */
        bool plain_http;
        const char *idle; /* it ends after this time without jobs and clients: "1h", "0" for never; NULL:
                             EMBEDDED_IDLE */
} EmbeddedListen;

#define EMBEDDED_IDLE "1h"

/* Ensures that it is running and ready; `listen` NULL: all defaults. *ret_started (may be NULL): whether this
 * call started it. A lock prevents two callers from starting two. ERR_UNREACHABLE with the last lines of its
 * log if it does not start. */
bool embedded_ensure(const EmbeddedListen *listen, bool *ret_started, GError **error);

/* Stops it with SIGTERM and waits for its end; its jobs continue. *ret_pid is 0 if none was running. */
bool embedded_stop(pid_t *ret_pid, GError **error);

/* The program `name` beside this one, else in PATH; the caller's. NULL: not found. */
char *program_find(const char *name);
