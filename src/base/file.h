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

/* Time of the last change, in ms since 1970. */
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

/* Normalizes a relative path: "./a//b/../c" gives "a/c". The caller frees it. NULL: the path leaves its
 * directory. Links are not resolved. */
char *file_path_inside(const char *path);

/* Opens a file below `dir` for reading. Follows no link below `dir` and does not block on a FIFO. `path`
 * begins with `dir`. -1: the file is missing or not below `dir`. */
int file_open_below(const char *dir, const char *path);

/* Writes all of `data`; continues after short writes and EINTR. */
bool file_write_all(int fd, const void *data, gsize len, GError **error);

/* Replaces `path` atomically (temporary file beside it, fsync when `durable`, rename). */
bool file_replace(const char *path, const void *data, gsize len, mode_t mode, bool durable, GError **error);

/* The caller's home directory: HOME, else (unset or empty) that of the account. NULL: none is known. The
 * caller's to free. */
char *file_home(void);

/* mkdir -p; an existing directory is fine. */
bool file_mkdirs(const char *path, mode_t mode, GError **error);

/* rm -rf. Never follows links and never leaves the tree. A missing path is fine. After a failure it continues
 * with the rest, and returns false with the first error. */
bool file_remove_tree(const char *path, GError **error);

/* Which entries a removal may delete, and how much it has freed: bytes of disk blocks, and inodes. A file
 * with several names counts when its last name is deleted. */
typedef struct {
        bool bound; /* delete only entries of `uid`, and only from directories of `uid` */
        uid_t uid;
        gint64 bytes, files;
        guint64 left; /* entries of other users, not deleted */
} FileRemoval;

/* Deletes one file, link or empty directory. FILE_NOT_EMPTY: rmdir refused the directory, with errno.
 * FILE_FOREIGN: it belongs to another user. FILE_FAILED: with errno. */
typedef enum { FILE_REMOVED, FILE_NOT_EMPTY, FILE_FOREIGN, FILE_FAILED } FileRemoveEnd;
FileRemoveEnd file_remove_at(int parent, const char *name, FileRemoval *removal);

/* file_remove_tree for `name` in the directory `parent`; adds to `removal`. Also true if entries of other
 * users are left: see removal->left. */
bool file_remove_tree_at(int parent, const char *name, FileRemoval *removal, GError **error);
