/* Building a manifest: add entries in any order, then make one call that sorts, checks every rule and
 * computes the hash. This is the only place with the rules of a package, so a directory, an archive and an
 * untrusted text are checked by the same ones. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/package.h"

Entry *entry_new(EntryKind kind, const char *path);
void entry_free(Entry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Entry, entry_free)

Manifest *manifest_new(void);
void manifest_add(Manifest *manifest, Entry *entry); /* takes ownership */

/* Drops directories that are not empty, sorts, checks, sums, hashes. ERR_INVALID or ERR_TOO_LARGE with entry
 * and rule. */
bool manifest_seal(Manifest *manifest, GError **error);
