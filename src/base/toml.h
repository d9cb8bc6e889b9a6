/* TOML 1.0 into the JSON values everything else reads: pyproject.toml, uv.lock. Bounded: 16 MiB, depth 64. */
#pragma once

#include <glib.h>

#include "base/json.h"

/* Parses one document: an object. Dates, times, `inf` and `nan`, which JSON lacks, become strings as written.
 * ERR_INVALID with `name` and the line, ERR_TOO_LARGE. NULL on failure. */
json_t *toml_parse(const char *text, gsize len, const char *name, GError **error);
