/* YAML into the JSON values everything else reads. Bounded: 1 MiB, depth 64, aliases expanded to at most
 * 10,000 nodes and 1 MiB of text.
 *
 * The language is YAML 1.2 with limits of libyaml: a key before ':' has at most 1024 characters and one line;
 * the name of an anchor has letters, digits, '-' and '_' only; U+0085, U+2028 and U+2029 are line breaks.
 * JSON is parsed as JSON. */
#pragma once

#include <glib.h>

#include "base/json.h"

/* Parses one document. Plain scalars follow the core schema (null, true, 12, 1.5, else text); keys must be
 * strings and unique. ERR_INVALID with "line L, column C". `name` is the file's name for messages. NULL on
 * failure. */
json_t *yaml_parse(const char *text, gsize len, const char *name, GError **error);

/* Block-style YAML of a JSON value, for `-o yaml`; the caller's. */
char *yaml_format(const json_t *value);
