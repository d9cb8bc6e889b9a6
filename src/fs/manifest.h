/* Building a manifest: entries in any order, then one call that sorts, checks every rule and names it. The
 * only place where the rules of a package stand, so a directory, an archive and a text from outside pass the
 * same ones. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "fs/package.h"

Entry *entry_new(EntryKind kind, const char *path);
void entry_free(Entry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Entry, entry_free)

Manifest *manifest_new(void);
void manifest_add(Manifest *manifest, Entry *entry); /* takes it */

/* Drops directories that are not empty, sorts, checks, sums, hashes. ERR_INVALID or ERR_TOO_LARGE with entry
 * and rule. */
bool manifest_seal(Manifest *manifest, GError **error);

/* A relative path as packages and storage take it: not empty, no empty, "." or ".." part, no slash at its
 * ends, UTF-8, no control bytes, parts of at most 255 bytes, shorter than PACKAGE_PATH_MAX. */
bool path_check(const char *path, GError **error);

/* One part of such a path: a file name. */
bool path_part_check(const char *part, GError **error);

/* A link at `path` may point to `target`: relative, UTF-8, no control bytes, ".." only in front and no more
 * often than `path` is deep. As the directories above an entry are never links, such a target stays inside,
 * through any chain of links. */
bool link_check(const char *path, const char *target, GError **error);
