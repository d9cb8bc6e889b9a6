/* Times that users type on the command line. Pure, except for the local time zone. */
#pragma once

#include <glib.h>

/* "2h" (from now), "22:00" (the next time that a clock shows it), "2026-03-01T22:00" (local unless it ends in
 * Z or an offset). Returns the time in RFC 3339; the caller's. ERR_USAGE. */
char *begin_parse(const char *what, const char *text, gint64 now, GError **error);

/* "10m" (ago: unchanged, since the server's clock counts), "22:00" (the last time that a clock showed it), or
 * a time as above, in RFC 3339. */
char *since_parse(const char *what, const char *text, gint64 now, GError **error);
