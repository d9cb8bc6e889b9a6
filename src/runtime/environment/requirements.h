/* The text of a requirements file: which lines count, and what they may ask for. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* False when the text (or NULL) names no package at all: then there is nothing to build. */
bool environment_is_needed(const char *requirements);

/* Without comments, blanks around lines and empty lines; the caller's. ERR_INVALID names the line: of one
 * that refers to another file, and, unless `urls`, of one that says where packages come from (an address, a
 * path, an option such as --index-url). */
char *environment_normal(const char *requirements, bool urls, GError **error);
