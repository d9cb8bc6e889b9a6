/* Packages: a directory with a user's program, named by the hash of its content. A manifest lists files,
 * links and directories in byte order of their paths. The package's hash is BLAKE2b-256 (hex) of the
 * manifest's canonical text, a file's of its bytes. The client sends the manifest, and the server answers
 * which contents it lacks. The client sends only those (resumable, chunked), and the server creates the
 * read-only tree `packages/<hash>/` once.
 *
 * Canonical text: a first line "paddle-package 1", then one line an entry: `f <mode 644|755> <size> <hash>
 * <path>`, `l <target length> <target> <path>` (the length of the target as written), `d <path>` (only empty
 * directories), each ended by a newline. Newlines and backslashes in names are escaped as \n and \\. There
 * are no entries below a file or a link. */
#pragma once

#include <glib.h>
#include <jansson.h>
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

/* Client: walks `dir` with its ignore rules and hashes (with several threads if there is much). Refuses
 * devices, sockets, links that leave the directory, names that are not UTF-8, more than the limits, and files
 * that change meanwhile. `progress` may be NULL; it is called on the calling thread with the amount hashed so
 * far. */
typedef void (*PackProgress)(guint64 files, guint64 bytes, void *arg);
Manifest *manifest_of_directory(const char *dir, PackProgress progress, void *arg, GError **error);
/* The same with rules that precede those of the directory's files. */
typedef struct IgnoreRules IgnoreRules;
Manifest *manifest_of_rules(const char *dir, IgnoreRules *rules, PackProgress progress, void *arg,
                            GError **error);

/* The disk usage of a package's tree besides its contents: directories and copies of executable files. */
typedef struct {
        gint64 tree_bytes, tree_files;
} ManifestCost;
ManifestCost manifest_cost(const Manifest *manifest);

char *manifest_format(const Manifest *manifest); /* the canonical text */
Manifest *manifest_parse(const char *text, gsize len,
                         GError **error); /* checks every rule; for untrusted text */

/* Server: a store of packages under `dir` (created if missing): blobs/<xx>/<hash>, <hash>/ (trees),
 * manifests/<hash>, upload/<user>/<hash>, owners/<user>/... Any thread. A file with its final name is
 * complete and durable. A crash leaves files only in upload/; the next open deletes those after a day. */
typedef struct PackageStore PackageStore;
PackageStore *package_store_open(const char *dir, GError **error);
void package_store_close(PackageStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PackageStore, package_store_close)
/* Sets lower limits for archives than PACKAGE_*_MAX. Call it before the store is shared. */
void package_store_limit(PackageStore *store, guint files_max, guint64 bytes_max);

/* Counts written bytes to the user for whom they are, and refuses them with ERR_QUOTA above the limit
 * (ledger.h). Call it before the store is shared; borrowed. */
typedef struct Ledger Ledger;
void package_store_count(PackageStore *store, Ledger *ledger);

/* Packages and contents are stored once, and each user has those that this user has sent (doc/guide/packages.md):
 * all that follows is true for `user`, and says the same of what others have sent as of what is nowhere.
 * ERR_INVALID: the user's name is none of a directory. */
bool package_store_has(PackageStore *store, const char *user, const char *hash);
/* The same, and marks it as just used: it is not deleted for at least an hour. */
bool package_store_use(PackageStore *store, const char *user, const char *hash);
/* Stores a manifest, and lists what is missing (char * hashes, in order, each once). Empty: the tree can be
 * created. */
bool package_store_offer(PackageStore *store, const char *user, const Manifest *manifest,
                         GPtrArray **ret_missing, GError **error);
/* The number of received bytes of a content, so that an interrupted upload can resume; for a content that the
 * user has, all of them. */
guint64 package_store_blob_size(PackageStore *store, const char *user, const char *hash);
/* The same for a missing content. */
guint64 package_store_upload_size(PackageStore *store, const char *user, const char *hash);
/* Appends bytes at `offset`, which must be the number of received bytes, else ERR_CONFLICT. `last` checks the
 * hash (ERR_INVALID drops the content) and stores it. */
bool package_store_blob_write(PackageStore *store, const char *user, const char *hash, guint64 offset,
                              const char *file, bool last, GError **error);
/* Takes many small contents in one file: a sequence of <64 hex hash> <decimal size> newline, then that many
 * bytes. Each is checked and stored. */
bool package_store_blobs_write(PackageStore *store, const char *user, const char *file, GError **error);
/* Creates the tree of a stored manifest when all contents are there: once, read-only, atomically.
 * ERR_CONFLICT if some are missing (offer again), ERR_NOT_FOUND for an unknown manifest. */
bool package_store_commit(PackageStore *store, const char *user, const char *hash, GError **error);
/* Unpacks an archive (tar, tar.gz, tar.xz, zip; libarchive) into a package and commits it. Refuses absolute
 * paths, "..", links that leave the root, devices, hard links outside, more than the limits in files, bytes
 * or ratio (bombs). `ret_hash` gets HASH_LEN + 1 bytes. */
bool package_store_unpack(PackageStore *store, const char *user, const char *archive, char *ret_hash,
                          GError **error);
char *package_store_path(PackageStore *store, const char *hash); /* of the tree; the caller's */
/* The package's requirements (requirements.h); NULL without an error if it has none. The caller's. Takes up
 * to a second, unless they are known from an earlier call. */
char *package_store_requirements(PackageStore *store, const char *hash, GError **error);
bool package_store_knows_requirements(PackageStore *store, const char *hash);
/* The fingerprint of the files that a setup command names (setup.h); NULL without an error if it names none.
 * The caller's. */
char *package_store_setup(PackageStore *store, const char *hash, const char *command, GError **error);
/* What differs from the package `was` to the package `now`: {"path", "change": "new", "gone" or "differs"}, in order of paths, at
 * most `max` of *ret_total; a new reference. Reads the manifests of both. `user` NULL: whoever has sent them. ERR_NOT_FOUND: the
 * user has not sent one of them, or it was removed. */
json_t *package_store_compare(PackageStore *store, const char *user, const char *was, const char *now,
                              guint max, guint *ret_total, GError **error);
/* Deletes the tree and those of its contents that no other tree has. */
bool package_store_remove(PackageStore *store, const char *hash, GError **error);

/* Removes what a survey found unused (gc.h), unless it was used after `since` (ms). `kind` is a GcKind of
 * this store, `name` its path below the state directory. True and *ret_gone false: it is in use now. */
bool package_store_drop(PackageStore *store, int kind, const char *name, gint64 since, bool *ret_gone,
                        GError **error);
/* Deletes what crashes have left, and what was sent and not used for a day. */
void package_store_sweep(PackageStore *store);

/* A writable copy of a tree in `dest` (which must not exist): reflinks if the file system supports them, else
 * copies. */
bool package_copy(const char *tree, const char *dest, GError **error);
