/* Slows down who guesses passwords, and nobody else (doc/guide/people.md, 5). An attempt gets a turn: now, or after
 * a while in line. What fails makes the next turns of its own account from its own address wait longer; what
 * fails often from one address, or for one account, makes strangers wait, never who has logged in from there
 * before.
 *
 *      (account, address)    5 free, then 1 s between turns, doubling to 60 s;
 *                            1 s at most once it has succeeded
 *      address, strangers    50 free, then 1 s between turns
 *      account, strangers    100 free, then 0.1 s between turns, doubling with each 100 to 5 s
 *
 * Small and bounded: of each table the entries that were used longest ago go first, and what has been quiet
 * for THROTTLE_FORGET_MS is forgotten, a success after THROTTLE_KNOWN_MS. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        THROTTLE_FREE = 5,
        THROTTLE_FREE_OF_ADDRESS = 50,
        THROTTLE_FREE_OF_ACCOUNT = 100,
        THROTTLE_DELAY_MAX_MS = 60000,
        THROTTLE_LINE_MS = 30000, /* longest wait for a turn */
        THROTTLE_SHARE =
                16, /* waiting or running attempts of one address's strangers, or of one known account
                       there */
        THROTTLE_FORGET_MS = 15 * 60 * 1000,
        THROTTLE_ENTRIES_MAX = 4096, /* of each table */
};
#define THROTTLE_KNOWN_MS (G_GINT64_CONSTANT(30) * 24 * 3600 * 1000)

typedef struct Throttle Throttle;

Throttle *throttle_new(void);
void throttle_free(Throttle *throttle); /* NULL is a no-op */

typedef struct {
        gint64 wait_ms; /* 0: now */
        bool known;     /* this account has logged in from this address before */
} Turn;
/* A turn for an attempt (monotonic ms). `address`: of the peer, "unix" for all of the Unix socket. True: call
 * throttle_end afterwards. False: no turn is available, and wait_ms tells when to try again. */
bool throttle_begin(Throttle *throttle, const char *account, const char *address, gint64 now, Turn *ret);
typedef enum {
        ATTEMPT_SUCCEEDED, /* resets the failures of this account from this address */
        ATTEMPT_FAILED,
        ATTEMPT_DROPPED, /* not checked: it does not count */
} Attempt;
void throttle_end(Throttle *throttle, const char *account, const char *address, gint64 now, const Turn *turn,
                  Attempt how);
