/* Files: descriptors that close themselves, whole reads, atomic replaces. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* `fd_auto int fd = open(...)`: closed at the end of the scope unless taken with fd_steal. (g_autofd needs
 * GLib 2.76.) */
static inline void fd_close_p(const int *fd)
{
        if (*fd >= 0)
                close(*fd);
}
#define fd_auto __attribute__((cleanup(fd_close_p)))
static inline int fd_steal(int *fd)
{
        int taken = *fd;

        *fd = -1;
        return taken;
}

/* When it was changed last, in ms since 1970. */
static inline gint64 file_mtime_ms(const struct stat *st)
{
        return (gint64)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

static inline gint64 file_mtime_ns(const struct stat *st)
{
        return (gint64)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* Reads a whole file of at most `max` bytes; *ret is NUL-terminated and the caller's. ERR_TOO_LARGE above
 * `max`. */
bool file_read(const char *path, gsize max, char **ret, gsize *ret_len, GError **error);

/* A relative path without empty parts, "." and "..": "./a//b/../c" gives "a/c". The caller's; NULL: the path
 * leads out of the directory it is relative to. Links are not looked at. */
char *file_path_inside(const char *path);

/* Opens a file below `dir` for reading, following no link on the way from there and not waiting for a writer.
 * `path` begins with `dir`. -1: there is none, or it is not below. */
int file_open_below(const char *dir, const char *path);

/* Writes all of `data`, going on after short writes and EINTR. */
bool file_write_all(int fd, const void *data, gsize len, GError **error);

/* Replaces `path` atomically (temporary file beside it, fsync when `durable`, rename). */
bool file_replace(const char *path, const void *data, gsize len, mode_t mode, bool durable, GError **error);

/* The caller's home directory: HOME, else (unset or empty) that of the account. NULL: none is known. The
 * caller's to free. */
char *file_home(void);

/* mkdir -p; an existing directory is fine. */
bool file_mkdirs(const char *path, mode_t mode, GError **error);

/* rm -rf, never following links and never leaving the tree; a missing path is fine. Returns false on the
 * first failure, having gone on with the rest. */
bool file_remove_tree(const char *path, GError **error);

/* Whose things a removal may take, and how much has gone: blocks of the disk and inodes, of a file of several
 * names with the last of them. */
typedef struct {
        bool bound; /* only what belongs to `uid` goes, and only out of directories that do */
        uid_t uid;
        gint64 bytes, files;
        guint64 left; /* entries of others, which stay */
} FileRemoval;

/* One file, link or empty directory. FILE_NOT_EMPTY: a directory that rmdir does not take, for the reason in
 * errno; FILE_FAILED: with errno. */
typedef enum { FILE_REMOVED, FILE_NOT_EMPTY, FILE_FOREIGN, FILE_FAILED } FileRemoveEnd;
FileRemoveEnd file_remove_at(int parent, const char *name, FileRemoval *removal);

/* file_remove_tree for the name in the directory `parent`, which adds to `removal`. True also when things of
 * others are left: `removal` says how many. */
bool file_remove_tree_at(int parent, const char *name, FileRemoval *removal, GError **error);
