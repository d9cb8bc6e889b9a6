/* Fuzz target: crontabs.
 *
 * An accepted crontab has ticks in ascending order, no two closer than its step. A search that begins between two ticks finds the
 * second one. */
#include <stddef.h>
#include <stdint.h>

#include "schedule/cron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size);
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autoptr(GError) error = NULL;
        g_autoptr(Cron) cron = cron_parse(text, utc, &error);
        gint64 at = G_GINT64_CONSTANT(1774656000123), next, again; /* the day before clocks jump in Europe */

        g_assert_cmpint(cron == NULL, ==, error != NULL);
        for (int i = 0; cron && i < 4 && cron_next(cron, at, &next); i++) {
                g_autofree char *local = cron_format_local(cron, next);

                g_assert_cmpint(next, >, at);
                g_assert_cmpint(next % 1000, ==, 0);
                g_assert_true(i == 0 || next - at >= cron_step(cron));
                g_assert_true(cron_from(cron, next, next, &again) && again == next);
                g_assert_cmpint(cron_last(cron, next, next + 999), ==, next);
                g_assert_nonnull(local);
                at = next;
        }
        return 0;
}
