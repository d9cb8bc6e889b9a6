/* The embedded server of this user: `paddled --state HOME` on the Unix socket HOME/paddled.sock, where HOME
 * is PADDLE_HOME or $HOME/.paddle. It outlives the command that started it, in a session of its own. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/* The directory, the caller's; "/.paddle" where no home is known, in which no server is started. */
char *embedded_home(void);
char *embedded_url(void); /* "unix:HOME/paddled.sock"; the caller's */

/* The process that listens on the socket; 0: nobody does. */
pid_t embedded_pid(void);

/* Options of paddled; those that are NULL are not given. Paths of files are absolute, or from here. */
typedef struct {
        const char *address, *tls_cert, *tls_key; /* address NULL: no TCP */
        bool plain_http;
        const char *idle; /* it ends after this time without jobs and clients: "1h", "0" for never; NULL:
                             EMBEDDED_IDLE */
} EmbeddedListen;

#define EMBEDDED_IDLE "1h"

/* Makes sure that it is up and ready; `listen` NULL: as of all defaults. *ret_started (may be NULL) tells
 * whether this call started it. A lock keeps two callers from starting two. ERR_UNREACHABLE with the last
 * lines of its log when it does not come up. */
bool embedded_ensure(const EmbeddedListen *listen, bool *ret_started, GError **error);

/* Stops it with SIGTERM and waits for its end; its jobs run on. *ret_pid is 0 when none was up. */
bool embedded_stop(pid_t *ret_pid, GError **error);

/* The program `name` beside this one, else in PATH; the caller's. NULL: not found. */
char *program_find(const char *name);
