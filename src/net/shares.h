/* Who holds how much of something that is bounded in all and for each holder: connections, bytes of bodies.
 * Plain data: no I/O, no clock. Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Shares Shares;

typedef enum {
        SHARES_TAKEN,
        SHARES_OWN_FULL, /* this holder has as much as one may have */
        SHARES_ALL_FULL, /* all of it is held */
} SharesVerdict;

Shares *shares_new(void);
void shares_free(Shares *shares); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Shares, shares_free)

/* Takes `amount` for `holder`, or nothing at all: neither may the holder have more than `own_max` then, nor
 * all of them more than `all_max`. */
SharesVerdict shares_take(Shares *shares, const char *holder, gint64 amount, gint64 own_max, gint64 all_max);
/* Gives back some of what was taken. */
void shares_give(Shares *shares, const char *holder, gint64 amount);
gint64 shares_of(const Shares *shares, const char *holder);
gint64 shares_all(const Shares *shares);
/* The holder of most, borrowed until the next change; NULL when nothing is held. */
const char *shares_largest(const Shares *shares);
