/* Slows down who guesses passwords: for each account and for each address (doc/people.md). Up to
 * THROTTLE_FREE failures cost nothing; then there is one attempt at a time, after a delay that doubles from 1
 * to 60 s with each failure. Small and bounded: of each table the entries that were used longest ago go
 * first, and what has been quiet for THROTTLE_FORGET_MS is forgotten. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        THROTTLE_FREE = 5,
        THROTTLE_DELAY_MAX_MS = 60000,
        THROTTLE_FORGET_MS = 15 * 60 * 1000,
        THROTTLE_ENTRIES_MAX = 4096, /* of accounts, and of addresses */
};

typedef struct Throttle Throttle;

Throttle *throttle_new(void);
void throttle_free(Throttle *throttle); /* NULL is a no-op */

/* May there be an attempt now (monotonic ms)? `address` NULL: one that is not slowed down, the server's own
 * machine. False: not before *ret_wait_ms have passed; else throttle_end has to follow. */
bool throttle_begin(Throttle *throttle, const char *account, const char *address, gint64 now,
                    gint64 *ret_wait_ms);
typedef enum {
        ATTEMPT_SUCCEEDED, /* clears the account's failures */
        ATTEMPT_FAILED,
        ATTEMPT_DROPPED, /* was not looked at: nothing counts */
} Attempt;
void throttle_end(Throttle *throttle, const char *account, const char *address, gint64 now, Attempt how);
