/* Delays between attempts (see backoff.h). */
#include "base/backoff.h"

gint64 backoff_delay(gint64 first, gint64 max, guint64 failures)
{
        first = MAX(first, 1);
        if (failures >= 63 || first > max >> failures) /* the shift left would overflow, or exceed max */
                return max;
        return first << failures;
}

gint64 backoff_spread(gint64 delay)
{
        gint32 range = (gint32)MIN(delay / 2, G_MAXINT32 - 1);

        return delay / 2 + g_random_int_range(0, range + 1);
}

gint64 backoff_next(Backoff *backoff)
{
        backoff->last = backoff->last > 0 ? backoff_delay(backoff->last, backoff->max, 1)
                                          : backoff_delay(backoff->first, backoff->max, 0);
        return backoff->last;
}

void backoff_reset(Backoff *backoff)
{
        backoff->last = 0;
}
