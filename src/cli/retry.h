/* Retries for a server that restarts: reports the lost connection once, retries with growing pauses, and
 * fails if the server is unreachable for 60 s. */
#pragma once

#include "base/backoff.h"
#include "cli/cli.h"

/* Connections that are lost together report it once: the first loss, and the last reconnection. Zeroed at the
 * start; any thread. */
typedef struct {
        int lost; /* number of lost connections; atomic */
} RetryVoice;

typedef struct {
        RetryVoice *voice; /* or NULL: it reports its own loss */
        const char *hint;  /* advice in the final error */
        gint64 lost_at;    /* monotonic ms; 0: connected */
        Backoff pause_ms;  /* before the next attempt */
} Retry;

void retry_init(Retry *retry, const char *hint);
/* The same, sharing `voice` with other connections. */
void retry_join(Retry *retry, const char *hint, RetryVoice *voice);

/* True if an error of this kind may be temporary. */
bool retry_is_worth(const GError *error);

/* Call it after an attempt ended: with its error (taken), or with NULL if the server closed a stream
 * normally. Pauses, and returns true for another attempt. */
bool retry_after(Retry *retry, const Cli *cli, GError *cause, GError **error);

/* Data has arrived. True if the connection was lost and the caller should report that it is back. */
bool retry_succeeded(Retry *retry);
