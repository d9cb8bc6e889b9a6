/* Patience with a server that restarts: says once that the connection is gone, tries again with growing
 * pauses, and gives up when the server has been away for 60 s. */
#pragma once

#include "cli/cli.h"

/* Connections that break together speak with one voice: the first that is lost says so, and the last that is
 * back. Zeroed at the beginning; any thread. */
typedef struct {
        int lost; /* connections that are; atomic */
} RetryVoice;

typedef struct {
        RetryVoice *voice; /* or NULL: it speaks for itself */
        const char *hint;  /* what to do when it is given up */
        gint64 lost_at;    /* monotonic ms; 0: connected */
        int pause_ms;      /* before the next try */
} Retry;

void retry_init(Retry *retry, const char *hint);
/* The same, as one of those that share `voice`. */
void retry_join(Retry *retry, const char *hint, RetryVoice *voice);

/* True when an error of this kind may pass by itself. */
bool retry_is_worth(const GError *error);

/* After an attempt that ended: with an error (taken), or with NULL when the server ended a stream in peace.
 * Pauses and returns true when another is to be made. */
bool retry_after(Retry *retry, const Cli *cli, GError *cause, GError **error);

/* Something arrived. True when the connection had been lost and this is to be said. */
bool retry_succeeded(Retry *retry);
