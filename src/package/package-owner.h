/* Whose the packages and contents are (package.h): a user has what that user has sent. What others have sent
 * is, for this one, nowhere; that it is stored once shows to nobody.
 *
 *      owners/<user>/offered/<hash>    a manifest was offered, and its package is not made yet
 *                   /packages/<hash>   a package of this user's, with all its contents
 *                   /sent/<hash>       a content that was sent and is in none of them yet
 *
 * These are empty files. Not for other rooms. */
#pragma once

#include "package/internal.h"

typedef enum { OWNED_OFFERED, OWNED_PACKAGE, OWNED_SENT } OwnedKind;

/* ERR_INVALID: no name of a directory. */
bool owner_check(const char *user, GError **error);
bool owner_has(PackageStore *store, const char *user, OwnedKind kind, const char *hash);
bool owner_add(PackageStore *store, const char *user, OwnedKind kind, const char *hash, GError **error);
void owner_drop(PackageStore *store, const char *user, OwnedKind kind, const char *hash);
/* What was offered or sent and not used for a day is forgotten, of all users, and so are packages that are no
 * more. */
void owners_sweep(PackageStore *store);

typedef struct {
        char hash[HASH_LEN + 1];
        gint64 time; /* ms: when it was made or used last */
} OwnerMark;
/* All of a kind that a user has, the latest first. */
GArray *owner_marks(PackageStore *store, const char *user, OwnedKind kind);
/* When some owner used the package last, ms; 0: nobody has it. */
gint64 owners_latest(PackageStore *store, const char *hash);
/* Nobody has the package any more. */
void owners_forget(PackageStore *store, const char *hash);

/* The contents of a user's latest packages and what was sent besides: a set of hashes. Of packages longer ago
 * the contents are asked for again. */
GHashTable *owner_contents(PackageStore *store, const char *user);
