/* Times as a person types them on a command line. Pure, but for the local time zone. */
#pragma once

#include <glib.h>

/* "2h" (from now), "22:00" (when a clock next shows it), "2026-03-01T22:00" (local unless it ends in Z or an
 * offset). The time in RFC 3339; the caller's. ERR_USAGE. */
char *begin_parse(const char *what, const char *text, gint64 now, GError **error);

/* "10m" (ago: left as it is, since the server's clock counts), "22:00" (when a clock last showed it), or a
 * time as above, in RFC 3339. */
char *since_parse(const char *what, const char *text, gint64 now, GError **error);
