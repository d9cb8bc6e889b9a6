/* The text of a requirements file: its effective lines, and the allowed ones. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* False if the text (or NULL) names no package: then nothing is built. */
bool environment_is_needed(const char *requirements);

/* The text without comments, empty lines, and blanks around lines; the caller's. ERR_INVALID names a line
 * that refers to another file, or, unless `urls`, one that names a source of packages (an address, a path, an
 * option such as --index-url). */
char *environment_normal(const char *requirements, bool urls, GError **error);
