/* What a definition is, whatever its text looks like: two texts with the same values in the same order have one source. */
#pragma once

#include <glib.h>

/* The MD5 of the normalised definition, in hex; the caller's. NULL: it is neither YAML nor JSON. */
char *definition_source(const char *text, gsize len);
