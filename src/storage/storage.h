/* The storage root: /pfs/<dc>/home/<user>/... and /pfs/<dc>/public/... over
 * `storage/<dc>/{home/<user>,public}` of the state directory. Paths never leave their root: "..", NUL and
 * links that point outside are refused. A user sees only their own home; public is readable by all, writable
 * by administrators.
 *
 * Where members run as users of their own (storage_share), a home belongs to its user and is shut for all
 * others, and everybody may write to public as to /tmp; what is made here below a home belongs to whom the
 * home belongs to. */
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

/* Opens the way to homes and public for other Unix users than the server. */
bool storage_share(Storage *storage, GError **error);
/* Makes the home of a user if it is missing. One that belongs to the server, from a time when all members
 * did, is given to them; ERR_DENIED when it belongs to somebody else, such as a user of this name who was
 * dropped. */
bool storage_make_home(Storage *storage, const char *user, const Owner *owner, GError **error);
/* Who owns the home of a user; asked at each access to a home from then on. False with why nobody does. */
typedef bool (*StorageOwnerOf)(const char *user, Owner *ret, void *arg, GError **error);
void storage_set_owners(Storage *storage, StorageOwnerOf owner_of, void *arg);

/* What is written is counted to whose home it is in, in public to who writes, and refused with ERR_QUOTA when
 * that is too much. Before the storage is shared; borrowed. */
void storage_count(Storage *storage, Ledger *ledger);

/* New homes and uploads carry their user's project id. Before the storage is shared; borrowed; NULL: none. */
void storage_set_projects(Storage *storage, Projects *projects);

typedef struct {
        const char *user;
        bool admin;
        bool write;
} StorageAccess;

/* The real path of a /pfs path, checked for `access`. With `make_dirs` it is made as a directory, with all
 * above it; otherwise it need not exist. The message names the rule that was broken. To read a file use
 * storage_open_file: between a path and its use a link may change. */
char *storage_resolve(Storage *storage, const char *pfs_path, const StorageAccess *access, bool make_dirs,
                      GError **error);

/* A file (or directory) opened for reading, checked as above; -1 on failure. */
int storage_open_file(Storage *storage, const char *pfs_path, const StorageAccess *access, GError **error);

typedef struct {
        char *path;  /* the /pfs path */
        mode_t mode; /* of the name itself, which may be a link */
        bool is_dir; /* this and the rest: of what it leads to */
        guint64 size;
        gint64 mtime; /* ms */
} StorageEntry;
void storage_entry_free(StorageEntry *entry);
typedef enum {
        STORAGE_LIST_RECURSIVE = 1, /* all descendants */
        STORAGE_LIST_ALL = 2,       /* links that lead out or nowhere, pipes, sockets and devices, too */
        STORAGE_LIST_SELF = 4,      /* the path itself instead of what is in it, whatever it is */
} StorageListFlags;
/* A file, or the children of a directory, sorted by path (names by bytes, a directory right before what is in
 * it); at most `limit`. Links are followed inside the home and not gone down. */
GPtrArray *storage_list(Storage *storage, const char *pfs_path, const StorageAccess *access, guint flags,
                        int limit, GError **error);

/* How much a tree holds: blocks of the disk, lengths of its files, directories (itself one) and all else. A
 * file of several names counts once; links are not followed. */
typedef struct {
        char *path;
        bool is_dir;
        gint64 bytes, size, files, dirs;
} StorageCount;
void storage_count_free(StorageCount *count);
/* Of the path; the caller's. With `parts` (of storage_count_free) also of each directory right below, at most
 * `limit`, sorted by path; *ret_more: there are more. */
StorageCount *storage_count_of(Storage *storage, const char *pfs_path, const StorageAccess *access,
                               GPtrArray *parts, int limit, bool *ret_more, GError **error);

/* With `parents` with all above it, and one that exists is fine; else the directory alone, which is new. */
bool storage_make_dir(Storage *storage, const char *pfs_path, const StorageAccess *access, bool parents,
                      GError **error);
/* In public a user removes what their own jobs have written there, and nothing of others. What has gone
 * counts at once to whom it counted, but for an administrator's removal in public, which a survey sees. A
 * directory of a home is gone for all at one moment; one of public is removed piece by piece. */
bool storage_remove(Storage *storage, const char *pfs_path, const StorageAccess *access, bool recursive,
                    GError **error);
/* Gives it another name; with `replace` in the place of a file (or empty directory) of that name. Links are
 * moved, not followed. Between a home and public, or two homes, what moves belongs to the home that it comes
 * into, and counts there; in public it stays whose it is. */
bool storage_move(Storage *storage, const char *from, const char *to, const StorageAccess *access,
                  bool replace, GError **error);
/* Removes what removals that were broken off have left out of sight. Any thread. */
void storage_sweep(Storage *storage);
/* {"size","chunk_size","chunks":[hash,...]} of a file, or of the unfinished upload of it: there "size" counts
 * the bytes that have arrived, and chunks that have not are null. No upload at all: size 0, no chunks. */
json_t *storage_chunks(Storage *storage, const char *pfs_path, const StorageAccess *access, bool upload,
                       GError **error);
/* To whom an unfinished upload counts, by its directory; NULL: not known. The caller's. */
char *storage_upload_user(const char *dir);
/* Removes an unfinished upload, by the name of its directory, unless a piece of it came after `since` (ms).
 * True and *ret_gone false: one has. */
bool storage_drop_upload(Storage *storage, const char *name, gint64 since, bool *ret_gone, GError **error);
/* One chunk (a file of bytes whose hash is given) of an upload; then storage_finish makes it the file,
 * atomically, after checking size and the hash of every chunk. What exists stays in place until then, and a
 * chunk that it has at the same place need not be put. */
bool storage_put_chunk(Storage *storage, const char *pfs_path, const StorageAccess *access, guint64 index,
                       const char *hash, const char *file, GError **error);
bool storage_finish(Storage *storage, const char *pfs_path, const StorageAccess *access, guint64 size,
                    const json_t *chunks, GError **error);
