/* Inside the package store (package.h): shared by its parts. Not for other folders. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/package.h"
#include "package/requirements-memory.h"
#include "storage/disk.h"
#include "storage/ledger.h"

enum { STORE_STRIPES = 64 };

struct PackageStore {
        int root; /* the directory */
        char *dir;
        guint files_max;
        guint64 bytes_max;
        Ledger *ledger; /* borrowed; NULL: no accounting */
        RequirementsMemory *requirements;
        GRWLock removal;               /* write lock for removing a package; everything else takes the read
                                          lock */
        GMutex stripes[STORE_STRIPES]; /* locks for one content or package each, chosen by its hash */
};

/* Many new contents at once. Each is written under a number in a separate directory. All are made durable
 * together, and only then renamed to their final names. Clearing it at any moment leaves no files. */
typedef struct {
        PackageStore *store;
        char *name; /* "upload/staging.<id>" */
        int dir;
        GPtrArray *hashes; /* hash of the file whose number is the index */
        gint64 bytes;
        SyncSet sync;
} Staging;
bool staging_open(Staging *staging, PackageStore *store, GError **error);
int staging_next(Staging *staging, GError **error); /* a new empty file; -1 on failure */
void staging_keep(Staging *staging, int *fd,
                  const char *hash); /* takes the file of the last staging_next, whose content has `hash` */
gint64 staging_bytes(const Staging *staging); /* of the kept files so far, as used on the disk */
bool staging_finish(Staging *staging, GError **error);
void staging_clear(Staging *staging);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Staging, staging_clear)

/* "blobs/<xx>/<hash>"; the caller's. */
char *blob_name(const char *hash);
bool store_check_hash(const char *hash, GError **error);
GMutex *packages_lock(PackageStore *store, const char *hash);

bool packages_have_tree(PackageStore *store, const char *hash);            /* sent by any user */
bool packages_have_blob(PackageStore *store, const char *hash);            /* the same for a content */
char *packages_manifest_path(const PackageStore *store, const char *hash); /* the caller's */
/* Builds the tree of the manifest; it has its name when it is complete and durable. An existing one stays. */
bool packages_make_tree(PackageStore *store, const Manifest *manifest, GError **error);
/* The manifest that any user offered under this hash. NULL with ERR_NOT_FOUND. */
Manifest *manifest_recall(PackageStore *store, const char *hash, GError **error);
/* package_store_commit for a caller that already has the read lock of `removal`. */
bool packages_commit(PackageStore *store, const char *user, const char *hash, GError **error);
