/* Building a manifest: entries in any order, then one call that sorts, checks every rule and names it. The
 * only place where the rules of a package stand, so a directory, an archive and a text from outside pass the
 * same ones. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/package.h"

Entry *entry_new(EntryKind kind, const char *path);
void entry_free(Entry *entry);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Entry, entry_free)

Manifest *manifest_new(void);
void manifest_add(Manifest *manifest, Entry *entry); /* takes it */

/* Drops directories that are not empty, sorts, checks, sums, hashes. ERR_INVALID or ERR_TOO_LARGE with entry
 * and rule. */
bool manifest_seal(Manifest *manifest, GError **error);
