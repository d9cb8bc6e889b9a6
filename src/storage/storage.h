/* The storage root: /pfs/<dc>/home/<user>/... and /pfs/<dc>/public/... over
 * `storage/<dc>/{home/<user>,public}` of the state directory. Paths never leave their root: "..", NUL and
 * links that point outside are refused. A user sees only their own home. Public is readable by all, writable
 * by administrators.
 *
 * If members run as users of their own (storage_share), a home belongs to its user and is closed to all
 * others. All users may then write to public, as to /tmp. Files that the server creates below a home belong
 * to the owner of the home. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/json.h"
#include "storage/ledger.h"
#include "storage/project.h"
#include "storage/tree.h"

typedef struct Storage Storage;
enum { STORAGE_CHUNK = 4 * 1024 * 1024 };

/* `dir` is the directory `storage` itself. */
Storage *storage_open(const char *dir, const char *dc, GError **error);
void storage_close(Storage *storage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Storage, storage_close)

/* Makes homes and public reachable for Unix users other than the server. */
bool storage_share(Storage *storage, GError **error);
/* Creates the home of a user if it is missing. A home that belongs to the server, from a time when all
 * members ran as the server, is given to the user. ERR_DENIED: it belongs to another user, such as a deleted
 * user of the same name. */
bool storage_make_home(Storage *storage, const char *user, const Owner *owner, GError **error);
/* The owner of a user's home; called at each access to a home from then on. False: why there is none. */
typedef bool (*StorageOwnerOf)(const char *user, Owner *ret, void *arg, GError **error);
void storage_set_owners(Storage *storage, StorageOwnerOf owner_of, void *arg);

/* Counts written bytes to the owner of the home, in public to the writer, and refuses them with ERR_QUOTA
 * above the limit. Call it before the storage is shared; borrowed. */
void storage_count(Storage *storage, Ledger *ledger);

/* New homes and uploads carry their user's project id. Call it before the storage is shared; borrowed; NULL:
 * none. */
void storage_set_projects(Storage *storage, Projects *projects);

typedef struct {
        const char *user;
        bool admin;
        bool write;
} StorageAccess;

/* The real path of a /pfs path, checked for `access`. With `make_dirs` it is created as a directory, with all
 * above it; otherwise it need not exist. The message names the rule that was broken. To read a file use
 * storage_open_file: a link may change between the look-up of a path and its use. */
char *storage_resolve(Storage *storage, const char *pfs_path, const StorageAccess *access, bool make_dirs,
                      GError **error);

/* A file (or directory) opened for reading, checked as above; -1 on failure. */
int storage_open_file(Storage *storage, const char *pfs_path, const StorageAccess *access, GError **error);

typedef struct {
        char *path;  /* the /pfs path */
        mode_t mode; /* of the name itself, which may be a link */
        bool is_dir; /* this and the fields below: of its target */
        guint64 size;
        gint64 mtime; /* ms */
} StorageEntry;
void storage_entry_free(StorageEntry *entry);
typedef enum {
        STORAGE_LIST_RECURSIVE = 1, /* all descendants */
        STORAGE_LIST_ALL = 2,       /* also links that lead outside or nowhere, pipes, sockets and devices */
        STORAGE_LIST_SELF = 4,      /* the path itself, of any type, instead of its content */
} StorageListFlags;
/* A file, or the children of a directory, sorted by path (names by bytes, a directory right before its
 * content); at most `limit`. Links are followed inside the home, but linked directories are not entered. */
GPtrArray *storage_list(Storage *storage, const char *pfs_path, const StorageAccess *access, guint flags,
                        int limit, GError **error);

/* The content of a tree: blocks on the disk, lengths of its files, directories (including itself) and all
 * other entries. A file with several names counts once; links are not followed. */
typedef struct {
        char *path;
        bool is_dir;
        gint64 bytes, size, files, dirs;
} StorageCount;
void storage_count_free(StorageCount *count);
/* The count of the path; the caller's. With `parts` (of storage_count_free) also of each directory right
 * below, at most `limit`, sorted by path; *ret_more: there are more. */
StorageCount *storage_count_of(Storage *storage, const char *pfs_path, const StorageAccess *access,
                               GPtrArray *parts, int limit, bool *ret_more, GError **error);

/* With `parents` it also creates all directories above, and the directory may exist. Else it creates only the
 * directory, which must be new. */
bool storage_make_dir(Storage *storage, const char *pfs_path, const StorageAccess *access, bool parents,
                      GError **error);
/* In public a user may remove what their own jobs have written there, but nothing of others. Removed amounts
 * are subtracted at once from the user to whom they were counted, except for an administrator's removal in
 * public, which a survey finds. A directory of a home disappears for all at one moment; one of public is
 * removed piece by piece. */
bool storage_remove(Storage *storage, const char *pfs_path, const StorageAccess *access, bool recursive,
                    GError **error);
/* Renames; with `replace` it replaces a file (or empty directory) of the new name. Links are moved, not
 * followed. Between a home and public, or two homes, the file then belongs to the owner of the home into
 * which it moves, and counts there. In public its owner stays the same. */
bool storage_move(Storage *storage, const char *from, const char *to, const StorageAccess *access,
                  bool replace, GError **error);
/* Deletes what interrupted removals have left out of sight. Any thread. */
void storage_sweep(Storage *storage);
/* {"size","chunk_size","chunks":[hash,...]} of a file, or of its unfinished upload. For an upload "size" is
 * the number of bytes received, and missing chunks are null. No upload at all: size 0, no chunks. */
json_t *storage_chunks(Storage *storage, const char *pfs_path, const StorageAccess *access, bool upload,
                       GError **error);
/* The user to whom an unfinished upload is counted, by its directory; NULL: unknown. The caller's. */
char *storage_upload_user(const char *dir);
/* Removes an unfinished upload, by the name of its directory, unless a piece of it arrived after `since`
 * (ms). True and *ret_gone false: one has. */
bool storage_drop_upload(Storage *storage, const char *name, gint64 since, bool *ret_gone, GError **error);
/* storage_put_chunk adds one chunk of an upload (a file of bytes whose hash is given). storage_finish makes
 * the upload the file, atomically, after checking size and the hash of every chunk. An existing file stays in
 * place until then, and chunks that are equal to its own at the same place need not be sent. */
bool storage_put_chunk(Storage *storage, const char *pfs_path, const StorageAccess *access, guint64 index,
                       const char *hash, const char *file, GError **error);
bool storage_finish(Storage *storage, const char *pfs_path, const StorageAccess *access, guint64 size,
                    const json_t *chunks, GError **error);
