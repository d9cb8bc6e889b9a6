/* Identifiers: random, lower case, safe in paths, URLs and DNS labels. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { ID_LEN = 16 }; /* 80 random bits in Crockford's base 32 */

/* Writes ID_LEN characters of [0-9a-z] (no i, l, o, u) and a NUL. */
void id_new(char ret[ID_LEN + 1]);

bool id_is_valid(const char *text);
