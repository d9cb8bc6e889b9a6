/* Directories of this machine (see local.h). Every function runs with the rights of the user. */
#include "fs/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "storage/disk.h"

enum { PIECE = 64 * 1024, DIR_MODE = 0755, FILE_MODE = 0644 };

#define TEMPORARY ".paddle-new-" /* and an id: a file while it is written */

typedef struct {
        int root;
} Local;

static Local *local_of(const Vfs *vfs)
{
        return vfs->data;
}

/* ---- errors ---- */

/* "file system 'data': cannot read 'a/b': Permission denied" */
static bool fail(const Vfs *vfs, int err, const char *what, const char *path, GError **error)
{
        const char *shown = *path ? path : vfs->root;

        if (err == EXDEV)
                err_set(error, ERR_INVALID, "cannot %s '%.300s': a link in it leads out of the file system",
                        what, shown);
        else
                disk_error(error, err, what, shown);
        return err_prefix(error, "file system '%s': ", vfs->name);
}

/* ---- opening ---- */

/* False with errno for a file of /proc. */
static bool is_allowed(int fd)
{
        struct statfs about;

        if (fstatfs(fd, &about) < 0)
                return false;
        if (about.f_type != PROC_SUPER_MAGIC)
                return true;
        errno = EACCES;
        return false;
}

static int open_path(const Vfs *vfs, const char *path, int flags)
{
        fd_auto int fd = open_beneath(local_of(vfs)->root, *path ? path : ".", flags, 0);

        if (fd < 0 || !is_allowed(fd))
                return -1;
        return fd_steal(&fd);
}

/* The directory that contains the path; *ret_name is the last part. */
static int open_parent(const Vfs *vfs, const char *path, const char **ret_name)
{
        const char *slash = strrchr(path, '/');
        g_autofree char *above = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");

        *ret_name = slash ? slash + 1 : path;
        return open_path(vfs, above, O_PATH | O_DIRECTORY);
}

/* A descriptor of O_PATH needs no right to the directory itself, a look-up in it does. */
static bool may_enter(int dir)
{
        fd_auto int fd = open_beneath(dir, ".", O_PATH | O_DIRECTORY, 0);

        return fd >= 0;
}

static bool local_open(Vfs *vfs, GError **error)
{
        Local *local = g_new(Local, 1);
        int err;

        vfs->data = local;
        local->root = open(vfs->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (local->root >= 0 && is_allowed(local->root) && may_enter(local->root))
                return true;
        err = errno;
        if (err == ENOENT || err == ENOTDIR)
                return err_set(error, ERR_NOT_FOUND,
                               "file system '%s': there is no directory '%.300s' on this machine", vfs->name,
                               vfs->root);
        if (err == EACCES || err == EPERM)
                return err_set(error, ERR_DENIED,
                               "file system '%s': user '%s' may not use the directory '%.300s'", vfs->name,
                               vfs->user, vfs->root);
        return fail(vfs, err, "open", "", error);
}

static void local_close(Vfs *vfs)
{
        Local *local = local_of(vfs);

        if (local && local->root >= 0)
                close(local->root);
        g_free(local);
}

/* ---- reading ---- */

static gint64 ns_of(const struct timespec *time)
{
        return (gint64)time->tv_sec * 1000000000 + time->tv_nsec;
}

static VfsStat stat_of(const struct stat *st)
{
        return (VfsStat){ .is_dir = S_ISDIR(st->st_mode),
                          .is_file = S_ISREG(st->st_mode),
                          .size = S_ISDIR(st->st_mode) ? 0 : (gint64)st->st_size,
                          .mtime = file_mtime_ms(st),
                          .mtime_ns = ns_of(&st->st_mtim),
                          .ctime_ns = ns_of(&st->st_ctim),
                          .device = st->st_dev,
                          .inode = st->st_ino,
                          .is_link = S_ISLNK(st->st_mode) };
}

static bool local_stat(Vfs *vfs, const char *path, VfsStat *ret, GError **error)
{
        fd_auto int fd = open_path(vfs, path, O_PATH);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fail(vfs, errno, "look at", path, error);
        *ret = stat_of(&st);
        return true;
}

static bool local_look(Vfs *vfs, const char *path, VfsStat *ret, GError **error)
{
        const char *name;
        fd_auto int parent = open_parent(vfs, path, &name);
        struct stat st;

        if (parent < 0 || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return fail(vfs, errno, "look at", path, error);
        *ret = stat_of(&st);
        return true;
}

static char *local_read_link(Vfs *vfs, const char *path, GError **error)
{
        const char *name;
        fd_auto int parent = open_parent(vfs, path, &name);
        char text[PATH_MAX]; /* no link is longer */
        ssize_t len = parent < 0 ? -1 : readlinkat(parent, name, text, sizeof text);

        if (len < 0) {
                (void)fail(vfs, errno == EINVAL ? ENOENT : errno, "read the link", path, error);
                return NULL;
        }
        return g_strndup(text, (gsize)len);
}

/* False with errno. */
static bool give_all(int fd, VfsTake take, void *arg)
{
        g_autofree guint8 *piece = g_malloc(PIECE);

        for (;;) {
                ssize_t got = cancel_check() ? read(fd, piece, PIECE) : -1;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0 || !take(arg, piece, (gsize)got))
                        return got >= 0;
        }
}

static bool local_scan(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        fd_auto int fd = open_path(vfs, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fail(vfs, errno, "read", path, error);
        if (!S_ISREG(st.st_mode))
                return err_set(error, ERR_INVALID, "file system '%s': '%.300s' is not a file", vfs->name,
                               path);
        return give_all(fd, take, arg) || fail(vfs, errno, "read", path, error);
}

/* The length of the file may change meanwhile. */
static bool read_all(int fd, GByteArray *bytes, gsize max)
{
        g_autofree guint8 *piece = g_malloc(PIECE);

        while (bytes->len <= max) {
                ssize_t got = cancel_check() ? read(fd, piece, PIECE) : -1;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return got == 0;
                g_byte_array_append(bytes, piece, (guint)got);
        }
        errno = EFBIG;
        return false;
}

static char *local_read(Vfs *vfs, const char *path, gsize max, gsize *ret_len, GError **error)
{
        /* O_NONBLOCK: a FIFO would block. */
        fd_auto int fd = open_path(vfs, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0) {
                (void)fail(vfs, errno, "read", path, error);
                return NULL;
        }
        if (!S_ISREG(st.st_mode)) {
                err_set(error, ERR_INVALID, "file system '%s': '%.300s' is not a file", vfs->name, path);
                return NULL;
        }
        if (st.st_size > (off_t)max || !read_all(fd, bytes, max)) {
                int err = st.st_size > (off_t)max ? EFBIG : errno;

                if (err == EFBIG)
                        err_set(error, ERR_TOO_LARGE,
                                "file system '%s': '%.300s' has more than %" G_GSIZE_FORMAT
                                " bytes, the limit",
                                vfs->name, path, max);
                else
                        (void)fail(vfs, err, "read", path, error);
                return NULL;
        }
        *ret_len = bytes->len;
        g_byte_array_append(bytes, (const guint8 *)"", 1);
        return (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* False with errno; EFBIG: more than `max`. */
static bool read_names(DIR *dir, GPtrArray *names, guint max)
{
        for (;;) {
                struct dirent *entry;

                errno = 0;
                entry = cancel_check() ? readdir(dir) : NULL;
                if (!entry)
                        return errno == 0;
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (names->len == max) {
                        errno = EFBIG;
                        return false;
                }
                g_ptr_array_add(names, g_strdup(entry->d_name));
        }
}

static char **local_list(Vfs *vfs, const char *path, guint max, GError **error)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        fd_auto int fd = open_path(vfs, path, O_RDONLY | O_DIRECTORY);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        bool ok;
        int err;

        if (!dir) {
                (void)fail(vfs, errno, "list", path, error);
                return NULL;
        }
        (void)fd_steal(&fd);
        ok = read_names(dir, names, max);
        err = errno;
        closedir(dir);
        if (!ok && err == EFBIG)
                err_set(error, ERR_TOO_LARGE,
                        "file system '%s': '%.300s' has more than %u entries, the limit", vfs->name,
                        *path ? path : vfs->root, max);
        else if (!ok)
                (void)fail(vfs, err, "list", path, error);
        if (!ok)
                return NULL;
        g_ptr_array_sort(names, compare_names);
        g_ptr_array_add(names, NULL);
        return (char **)g_ptr_array_steal(names, NULL);
}

/* ---- changing ---- */

/* One directory, whose parent exists. */
static bool make_dir(const Vfs *vfs, const char *path)
{
        const char *name;
        fd_auto int parent = open_parent(vfs, path, &name);
        fd_auto int there = -1;

        if (parent < 0)
                return false;
        if (mkdirat(parent, name, DIR_MODE) == 0)
                return true;
        if (errno != EEXIST)
                return false;
        there = open_path(vfs, path, O_PATH | O_DIRECTORY); /* perhaps by a link; else ENOTDIR */
        return there >= 0;
}

static bool local_make_dirs(Vfs *vfs, const char *path, GError **error)
{
        g_autofree char *part = g_strdup(path);

        for (char *slash = strchr(part, '/'); *part; slash = strchr(slash + 1, '/')) {
                if (slash)
                        *slash = '\0';
                if (!make_dir(vfs, part))
                        return fail(vfs, errno, "create the directory", part, error);
                if (!slash)
                        break;
                *slash = '/';
        }
        return true;
}

/* A new file with the content, durable, in place of `name`. */
static bool replace(int parent, const char *name, const void *data, gsize len)
{
        char id[ID_LEN + 1];
        g_autofree char *temporary = NULL;
        fd_auto int fd = -1;
        bool ok;
        int err;

        id_new(id);
        temporary = g_strconcat(TEMPORARY, id, NULL);
        fd = openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
        if (fd < 0)
                return false;
        ok = write_at(fd, data, len, 0) && fsync(fd) == 0 && renameat(parent, temporary, parent, name) == 0;
        err = errno;
        if (!ok)
                (void)unlinkat(parent, temporary, 0); /* the first error counts */
        errno = err;
        return ok;
}

static bool sync_dir(int parent)
{
        fd_auto int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 || fsync(fd) == 0; /* a directory that may not be read cannot be synced */
}

static bool local_write(Vfs *vfs, const char *path, const void *data, gsize len, GError **error)
{
        const char *slash = strrchr(path, '/'), *name;
        g_autofree char *above = slash ? g_strndup(path, (gsize)(slash - path)) : g_strdup("");
        fd_auto int parent = -1;

        if (!*path)
                return fail(vfs, EISDIR, "write", path, error);
        if (!local_make_dirs(vfs, above, error))
                return false;
        parent = open_parent(vfs, path, &name);
        if (parent < 0 || !replace(parent, name, data, len) || !sync_dir(parent))
                return fail(vfs, errno, "write", path, error);
        return true;
}

static bool local_remove(Vfs *vfs, const char *path, GError **error)
{
        FileRemoval removal = { 0 };
        const char *name;
        fd_auto int parent = open_parent(vfs, path, &name);

        if (parent < 0 && (errno == ENOENT || errno == ENOTDIR))
                return true;
        if (parent < 0)
                return fail(vfs, errno, "remove", path, error);
        return file_remove_tree_at(parent, name, &removal, error) ||
               err_prefix(error, "file system '%s': ", vfs->name);
}

const VfsOps local_ops = {
        .name = "local",
        .open = local_open,
        .close = local_close,
        .stat = local_stat,
        .look = local_look,
        .read_link = local_read_link,
        .scan = local_scan,
        .read = local_read,
        .write = local_write,
        .list = local_list,
        .make_dirs = local_make_dirs,
        .remove = local_remove,
};
