/* A file system that is open, as a table of operations (doc/internals/filesystems.md). A driver implements the table for
 * one or more kinds (model/filesystem.h).
 *
 * All calls block, perhaps for ever: only threads for such work may make them, never the engine's. Several threads may
 * use a Vfs at once. Each call has the rights of the owner's Unix user (unix-rights.h).
 *
 * A path is relative to the root; "/", "./" and doubled slashes are removed, ".." inside the path is resolved. ""
 * is the root itself. A path that leaves the root, also by a link, is ERR_INVALID. A missing file is ERR_NOT_FOUND, and
 * missing rights are ERR_DENIED. Messages name the file system and the path. */
#pragma once

#include "fs/unix-rights.h"
#include "model/filesystem.h"

typedef struct Vfs Vfs;

typedef struct {
        bool is_dir, is_file; /* neither: a FIFO, a socket, a device */
        gint64 size;          /* bytes; 0 for a directory */
        gint64 mtime;         /* ms since 1970 */
        gint64 mtime_ns;
        gint64 ctime_ns;       /* of its last change of any kind; nobody can set it back */
        guint64 device, inode; /* which file it is, while it is there */
        bool is_link;          /* only of vfs_look */
} VfsStat;

/* Takes a part of a file. False: no more of it. */
typedef bool (*VfsTake)(void *arg, const void *data, gsize len);

/* Paths are normal here: without "." and "..", no slash at the ends; "" is the root. */
typedef struct {
        const char *name;
        bool (*open)(Vfs *vfs, GError **error); /* sets vfs->data */
        void (*close)(Vfs *vfs);                /* also after a failed open */
        bool (*stat)(Vfs *vfs, const char *path, VfsStat *ret, GError **error);
        bool (*look)(Vfs *vfs, const char *path, VfsStat *ret, GError **error);
        char *(*read_link)(Vfs *vfs, const char *path, GError **error);
        bool (*scan)(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error);
        char *(*read)(Vfs *vfs, const char *path, gsize max, gsize *ret_len, GError **error);
        bool (*write)(Vfs *vfs, const char *path, const void *data, gsize len, GError **error);
        char **(*list)(Vfs *vfs, const char *path, guint max, GError **error);
        bool (*make_dirs)(Vfs *vfs, const char *path, GError **error);
        bool (*remove)(Vfs *vfs, const char *path, GError **error);
} VfsOps;

/* For drivers. */
struct Vfs {
        const VfsOps *ops;
        char *name, *user, *root;
        bool read_only;
        UnixRights *rights; /* NULL: the server's */
        void *data;         /* the driver's */
};

/* Opens the root. `rights`: of the owner's Unix user; NULL: the server's own, if members run as the server. Copies what
 * it needs. NULL with why not: ERR_NOT_FOUND (there is no such directory), ERR_DENIED, ERR_CONFLICT (no driver). */
Vfs *vfs_open(const FilesystemPlace *place, const UnixRights *rights, GError **error);
void vfs_close(Vfs *vfs); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Vfs, vfs_close)

/* Links are followed. */
bool vfs_stat(Vfs *vfs, const char *path, VfsStat *ret, GError **error);
/* The same of a link itself: its last part is not followed. Not for the root. */
bool vfs_look(Vfs *vfs, const char *path, VfsStat *ret, GError **error);
/* Where a link leads, as it is written; the caller's. ERR_NOT_FOUND also for what is no link. */
char *vfs_read_link(Vfs *vfs, const char *path, GError **error);
/* Gives the content of a regular file to `take`, part by part; `take` runs with the rights of the user. */
bool vfs_scan(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error);
/* ERR_NOT_FOUND is *ret false. */
bool vfs_exists(Vfs *vfs, const char *path, bool *ret, GError **error);
/* The content of a regular file of at most `max` bytes (else ERR_TOO_LARGE), with a NUL byte behind; the caller's. */
char *vfs_read(Vfs *vfs, const char *path, gsize max, gsize *ret_len, GError **error);
/* Replaces a file at one moment, and makes it durable. The directories above it are created. */
bool vfs_write(Vfs *vfs, const char *path, const void *data, gsize len, GError **error);
/* The names in a directory, sorted by bytes; more than `max` of them are ERR_TOO_LARGE. The caller's g_strfreev. */
char **vfs_list(Vfs *vfs, const char *path, guint max, GError **error);
/* Creates a directory and all above it; they may exist. */
bool vfs_make_dirs(Vfs *vfs, const char *path, GError **error);
/* The same for the directory that contains the path: what a program that writes to the path needs. */
bool vfs_make_parents(Vfs *vfs, const char *path, GError **error);
/* Removes a file, or a directory with its content. It may be missing. The root itself cannot be removed. */
bool vfs_remove(Vfs *vfs, const char *path, GError **error);
