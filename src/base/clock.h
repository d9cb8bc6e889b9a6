/* Time. Wall clock in milliseconds since 1970 (UTC) for what is kept and shown; a monotonic one for waiting.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

gint64 clock_now_ms(void);
gint64 clock_monotonic_ms(void);

/* RFC 3339 with milliseconds and Z: "2026-03-01T10:00:00.123Z"; the caller's. */
char *clock_format(gint64 ms);

/* The kernel's boot id as 36 characters; it differs after a restart of the machine. */
bool clock_boot_id(char ret_id[37], GError **error);
