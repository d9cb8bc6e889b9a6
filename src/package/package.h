/* Packages: a directory of a user's program, named by its content. A manifest lists files, links and
 * directories in byte order of their paths; the package's hash is BLAKE2b-256 (hex) of the manifest's
 * canonical text, a file's of its bytes. The client sends the manifest, the server answers which contents it
 * lacks, the client sends only those (resumable, chunked), and the server makes the read-only tree
 * `packages/<hash>/` once.
 *
 * Canonical text: a first line "paddle-package 1", then one line an entry: `f <mode 644|755> <size> <hash>
 * <path>`, `l <target length> <target> <path>` (the length of the target as it stands there), `d <path>`
 * (only empty directories), each ended by a newline; newlines and backslashes in names are escaped as \n and
 * \\. Nothing stands below a file or a link. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "storage/hash.h"
#include "storage/path.h"

enum {
        PACKAGE_FILES_MAX = 100000,
        PACKAGE_PATH_MAX = STORAGE_PATH_MAX,
        MANIFEST_TEXT_MAX = 64 * 1024 * 1024,
};
#define PACKAGE_BYTES_MAX (G_GUINT64_CONSTANT(16) << 30) /* unpacked */

typedef enum { ENTRY_FILE, ENTRY_LINK, ENTRY_DIR } EntryKind;
typedef struct {
        EntryKind kind;
        bool executable;
        guint64 size;
        char hash[HASH_LEN + 1]; /* of a file's content */
        char *path;   /* relative, no "." or "..", no leading or trailing slash, valid UTF-8, no control bytes
                       */
        char *target; /* of a link: relative, ".." only at its front, stays inside the package */
} Entry;

typedef struct {
        GPtrArray *entries; /* Entry *, sorted by path */
        guint64 bytes;      /* of all files */
        char hash[HASH_LEN + 1];
} Manifest;
void manifest_free(Manifest *manifest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manifest, manifest_free)

/* Client: walks `dir` by its ignore rules, hashes (with several threads when there is much). Refuses devices,
 * sockets, links that leave the directory, names that are not UTF-8, more than the limits, files that change
 * meanwhile. `progress` may be NULL; it is called on the calling thread with what has been hashed so far. */
typedef void (*PackProgress)(guint64 files, guint64 bytes, void *arg);
Manifest *manifest_of_directory(const char *dir, PackProgress progress, void *arg, GError **error);
/* The same with rules that come before those of the directory's files. */
typedef struct IgnoreRules IgnoreRules;
Manifest *manifest_of_rules(const char *dir, IgnoreRules *rules, PackProgress progress, void *arg,
                            GError **error);

/* What the tree of a package takes on the disk beside its contents: directories and copies of executable
 * files. */
typedef struct {
        gint64 tree_bytes, tree_files;
} ManifestCost;
ManifestCost manifest_cost(const Manifest *manifest);

char *manifest_format(const Manifest *manifest); /* the canonical text */
Manifest *manifest_parse(const char *text, gsize len,
                         GError **error); /* checks every rule; for outside bytes */

/* Server: a store of packages under `dir` (made if missing): blobs/<xx>/<hash>, <hash>/ (trees),
 * manifests/<hash>, upload/<user>/<hash>, owners/<user>/... Any thread. What has its final name is whole and
 * on disk; a crash leaves only things in upload/, which the next open drops after a day. */
typedef struct PackageStore PackageStore;
PackageStore *package_store_open(const char *dir, GError **error);
void package_store_close(PackageStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PackageStore, package_store_close)
/* Lower limits for archives than PACKAGE_*_MAX. Before the store is shared. */
void package_store_limit(PackageStore *store, guint files_max, guint64 bytes_max);

/* What is written is counted to whom it is for, and refused with ERR_QUOTA when that is too much (ledger.h).
 * Before the store is shared; borrowed. */
typedef struct Ledger Ledger;
void package_store_count(PackageStore *store, Ledger *ledger);

/* Packages and contents are stored once, and each user has those that this user has sent (doc/guide/packages.md):
 * all that follows is true for `user`, and says the same of what others have sent as of what is nowhere.
 * ERR_INVALID: the user's name is none of a directory. */
bool package_store_has(PackageStore *store, const char *user, const char *hash);
/* The same, and from now on it counts as just used: it does not go for an hour at least. */
bool package_store_use(PackageStore *store, const char *user, const char *hash);
/* Takes a manifest: remembers it, and lists what is missing (char * hashes, in order, each once). Empty: the
 * tree can be made. */
bool package_store_offer(PackageStore *store, const char *user, const Manifest *manifest,
                         GPtrArray **ret_missing, GError **error);
/* How many bytes of a content have arrived, so that an upload goes on after a break; of one that is the
 * user's, all. */
guint64 package_store_blob_size(PackageStore *store, const char *user, const char *hash);
/* The same of one that is missing. */
guint64 package_store_upload_size(PackageStore *store, const char *user, const char *hash);
/* Appends bytes at `offset` (which must be what has arrived, else ERR_CONFLICT); `last` checks the hash
 * (ERR_INVALID drops it) and keeps it. */
bool package_store_blob_write(PackageStore *store, const char *user, const char *hash, guint64 offset,
                              const char *file, bool last, GError **error);
/* Takes many small contents in one file: a sequence of <64 hex hash> <decimal size> newline, then that many
 * bytes; each is checked and kept. */
bool package_store_blobs_write(PackageStore *store, const char *user, const char *file, GError **error);
/* Makes the tree of a remembered manifest when all contents are there: once, read-only, atomically.
 * ERR_CONFLICT when some are missing (offer again), ERR_NOT_FOUND when nothing is known of it. */
bool package_store_commit(PackageStore *store, const char *user, const char *hash, GError **error);
/* Unpacks an archive (tar, tar.gz, tar.xz, zip; libarchive) into a package and commits it: refuses absolute
 * paths, "..", links that leave the root, devices, hard links outside, more than the limits in files, bytes
 * or ratio (bombs). `ret_hash` gets HASH_LEN + 1 bytes. */
bool package_store_unpack(PackageStore *store, const char *user, const char *archive, char *ret_hash,
                          GError **error);
char *package_store_path(PackageStore *store, const char *hash); /* of the tree; the caller's */
/* What the package asks for (requirements.h); NULL without an error when that is nothing. The caller's. Takes
 * up to a second, unless it is known from an earlier call. */
char *package_store_requirements(PackageStore *store, const char *hash, GError **error);
bool package_store_knows_requirements(PackageStore *store, const char *hash);
/* The fingerprint of the files that a setup command names (setup.h); NULL without an error when it names
 * none. The caller's. */
char *package_store_setup(PackageStore *store, const char *hash, const char *command, GError **error);
/* Drops the tree and those of its contents that no other tree has. */
bool package_store_remove(PackageStore *store, const char *hash, GError **error);

/* Removes what a survey found unused (gc.h), unless it was used after `since` (ms). `kind` is a GcKind of
 * this store, `name` its path below the state directory. True and *ret_gone false: it is in use now. */
bool package_store_drop(PackageStore *store, int kind, const char *name, gint64 since, bool *ret_gone,
                        GError **error);
/* Drops what crashes have left and what was sent and not used for a day. */
void package_store_sweep(PackageStore *store);

/* A writable copy of a tree in `dest` (which must not exist): reflinks where the file system can, else
 * copies. */
bool package_copy(const char *tree, const char *dest, GError **error);
