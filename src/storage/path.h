/* The relative paths and targets of links that storage and packages accept. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { STORAGE_PATH_MAX = 4096 };

/* A valid relative path of packages and storage: not empty, no empty, "." or ".." part, no slash at its ends,
 * UTF-8, no control bytes, parts of at most 255 bytes, shorter than STORAGE_PATH_MAX. */
bool path_check(const char *path, GError **error);

/* One part of such a path: a file name. */
bool path_part_check(const char *part, GError **error);

/* A link at `path` may point to `target`: relative, UTF-8, no control bytes, ".." only in front and at most
 * as often as `path` is deep. Directories above an entry are never links, so such a target stays inside,
 * through any chain of links. */
bool link_check(const char *path, const char *target, GError **error);
