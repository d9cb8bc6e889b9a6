/* YAML 1.2 into the JSON values everything else reads. Bounded: 1 MiB, depth 64, aliases expanded to at most
 * 10,000 nodes. */
#pragma once

#include <glib.h>

#include "base/json.h"

/* Parses one document. Plain scalars follow the core schema (null, true, 12, 1.5, else text); keys must be
 * strings and unique. ERR_INVALID with "line L, column C". `name` is the file's name for messages. NULL on
 * failure. */
json_t *yaml_parse(const char *text, gsize len, const char *name, GError **error);

/* Block-style YAML of a JSON value, for `-o yaml`; the caller's. */
char *yaml_format(const json_t *value);
