/* How much each user may do in a minute, on average. The allowance refills evenly, and at most a minute of it is kept, so that a
 * user who was idle may do as much at once. Part of the engine: its thread only. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        GHashTable *users; /* name (interned) -> Allowance */
        gint64 per_minute; /* 0: no limit */
} UserRates;

void user_rates_init(UserRates *rates, gint64 per_minute);
void user_rates_clear(UserRates *rates);

/* Why a user may not. */
typedef struct {
        gint64 lack;   /* that much more than is left */
        gint64 wait_s; /* after which it is there, if the user does nothing else */
} UserRateLack;

/* Takes `n` for `user` at `now` (ms), or with `only_check` only looks. False: there is less; fills `ret` (or NULL). */
bool user_rates_take(UserRates *rates, const char *user, gint64 n, gint64 now, bool only_check,
                     UserRateLack *ret);
