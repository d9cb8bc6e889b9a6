/* The owners of packages and contents (package.h). A user has what that user has sent. What others have sent
 * does not exist for this user; the shared storage is invisible.
 *
 *      owners/<user>/offered/<hash>    a manifest was offered, and its package is not made yet
 *                   /packages/<hash>   a package of this user's, with all its contents
 *                   /sent/<hash>       a content that was sent and is in none of them yet
 *
 * These are empty files. Not for other folders. */
#pragma once

#include "package/internal.h"

typedef enum { OWNED_OFFERED, OWNED_PACKAGE, OWNED_SENT } OwnedKind;

/* ERR_INVALID: not valid as the name of a directory. */
bool owner_check(const char *user, GError **error);
bool owner_has(PackageStore *store, const char *user, OwnedKind kind, const char *hash);
bool owner_add(PackageStore *store, const char *user, OwnedKind kind, const char *hash, GError **error);
void owner_drop(PackageStore *store, const char *user, OwnedKind kind, const char *hash);
/* Deletes offered manifests and sent contents that were not used for a day, of all users, and the marks of
 * deleted packages. */
void owners_sweep(PackageStore *store);

typedef struct {
        char hash[HASH_LEN + 1];
        gint64 time; /* ms: when it was created or last used */
} OwnerMark;
/* All of a kind that a user has, the latest first. */
GArray *owner_marks(PackageStore *store, const char *user, OwnedKind kind);
/* The last time that an owner used the package, ms; 0: it has no owner. */
gint64 owners_latest(PackageStore *store, const char *hash);
/* Removes the package from all owners. */
void owners_forget(PackageStore *store, const char *hash);

/* The contents of a user's latest packages and other sent contents: a set of hashes. Contents of older
 * packages have to be sent again. */
GHashTable *owner_contents(PackageStore *store, const char *user);
