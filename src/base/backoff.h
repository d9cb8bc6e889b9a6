/* Delays between attempts: the first delay, then twice the delay before, up to a maximum. No clock: the caller
 * waits. Milliseconds or microseconds, as the caller likes.
 *
 *      Backoff backoff = { .first = 1000, .max = 30000 };
 *
 *      backoff_next(&backoff);  1000, 2000, 4000, 8000, 16000, 30000, 30000, ...
 *      backoff_reset(&backoff); an attempt has succeeded: the next delay is 1000 again */
#pragma once

#include <glib.h>

/* The delay after `failures` earlier failures: `first` after none. A `first` below 1 counts as 1, so that a
 * delay grows from it; a delay is never above `max`. */
gint64 backoff_delay(gint64 first, gint64 max, guint64 failures);

/* A random delay from half of `delay` to all of it, so that clients that failed together do not return together.
 * `delay` is not negative. Any thread. */
gint64 backoff_spread(gint64 delay);

/* Embedded where attempts are made one after another; `first` and `max` as above. */
typedef struct {
        gint64 first, max;
        gint64 last; /* the delay before the attempt that is made now; 0: none since the last reset */
} Backoff;

gint64 backoff_next(Backoff *backoff);
void backoff_reset(Backoff *backoff);
