/* Which relative paths, and which targets of links, storage and packages take. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { STORAGE_PATH_MAX = 4096 };

/* A relative path as packages and storage take it: not empty, no empty, "." or ".." part, no slash at its
 * ends, UTF-8, no control bytes, parts of at most 255 bytes, shorter than STORAGE_PATH_MAX. */
bool path_check(const char *path, GError **error);

/* One part of such a path: a file name. */
bool path_part_check(const char *part, GError **error);

/* A link at `path` may point to `target`: relative, UTF-8, no control bytes, ".." only in front and no more
 * often than `path` is deep. As the directories above an entry are never links, such a target stays inside,
 * through any chain of links. */
bool link_check(const char *path, const char *target, GError **error);
