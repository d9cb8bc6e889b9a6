/* Inside the package store (package.h): what its parts share. Not for other rooms. */
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
        Ledger *ledger; /* borrowed; NULL: nothing is counted */
        RequirementsMemory *requirements;
        GRWLock removal;               /* removing a package is alone; everything else shares */
        GMutex stripes[STORE_STRIPES]; /* one content or package at a time, by its hash */
};

/* New contents, many at once: each is written under a number in a directory of its own, all are made durable
 * together, and only then do they get their names. Cleared at any moment, it leaves nothing. */
typedef struct {
        PackageStore *store;
        char *name; /* "upload/staging.<id>" */
        int dir;
        GPtrArray *hashes; /* of the file numbered by its index */
        gint64 bytes;
        SyncSet sync;
} Staging;
bool staging_open(Staging *staging, PackageStore *store, GError **error);
int staging_next(Staging *staging, GError **error); /* a new empty file; -1 on failure */
void staging_keep(Staging *staging, int *fd,
                  const char *hash); /* takes the file of the last staging_next, whose content has `hash` */
gint64 staging_bytes(const Staging *staging); /* kept by now, as the disk has them */
bool staging_finish(Staging *staging, GError **error);
void staging_clear(Staging *staging);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Staging, staging_clear)

/* "blobs/<xx>/<hash>"; the caller's. */
char *blob_name(const char *hash);
bool store_check_hash(const char *hash, GError **error);
GMutex *packages_lock(PackageStore *store, const char *hash);

bool packages_have_tree(PackageStore *store, const char *hash); /* whoever sent it */
/* What was offered under this hash, by anybody. NULL with ERR_NOT_FOUND. */
Manifest *manifest_recall(PackageStore *store, const char *hash, GError **error);
/* package_store_commit for one who shares `removal` already. */
bool packages_commit(PackageStore *store, const char *user, const char *hash, GError **error);
