/* Amounts of a resource by holder, limited in all and for each holder: connections, bytes of bodies. Plain
 * data: no I/O, no clock. Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Shares Shares;

typedef enum {
        SHARES_TAKEN,
        SHARES_OWN_FULL, /* this holder has reached its limit */
        SHARES_ALL_FULL, /* the limit of all holders is reached */
} SharesVerdict;

Shares *shares_new(void);
void shares_free(Shares *shares); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Shares, shares_free)

/* Takes `amount` for `holder`. Takes nothing if the holder would have more than `own_max`, or all holders
 * more than `all_max`. */
SharesVerdict shares_take(Shares *shares, const char *holder, gint64 amount, gint64 own_max, gint64 all_max);
/* Returns some of what was taken. */
void shares_give(Shares *shares, const char *holder, gint64 amount);
gint64 shares_of(const Shares *shares, const char *holder);
gint64 shares_all(const Shares *shares);
/* The holder with the largest amount, borrowed until the next change; NULL: nothing is held. */
const char *shares_largest(const Shares *shares);
