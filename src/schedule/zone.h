/* Time zones by the name of their file in the system's database, such as Europe/Berlin. Other words that the C library
 * takes for a zone are none here: its 'CET+1' is one hour west of Greenwich, not east. Reads files. */
#pragma once

#include <glib.h>

/* NULL with ERR_INVALID: there is no such zone; the message names a near one. */
GTimeZone *zone_new(const char *name, GError **error);

/* The zone that `name` means if upper and lower case do not count; the caller's. NULL: there is none. */
char *zone_find(const char *name);
