/* Files (see file.h). */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/err.h"

bool file_read(const char *path, gsize max, char **ret, gsize *ret_len, GError **error)
{
        fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC);
        g_autoptr(GString) text = g_string_new(NULL);
        char chunk[16384]; /* one read of the page cache's usual read-ahead half */

        if (fd < 0)
                return err_set_errno(error, errno, "cannot open '%s'", path);
        for (;;) {
                ssize_t got = read(fd, chunk, sizeof chunk);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return err_set_errno(error, errno, "cannot read '%s'", path);
                if (got == 0)
                        break;
                if (text->len + (gsize)got > max)
                        return err_set(error, ERR_TOO_LARGE, "'%s' is larger than %" G_GSIZE_FORMAT " bytes",
                                       path, max);
                g_string_append_len(text, chunk, got);
        }
        if (ret_len)
                *ret_len = text->len;
        *ret = g_string_free(g_steal_pointer(&text), FALSE);
        return true;
}

char *file_path_inside(const char *path)
{
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);
        g_autoptr(GPtrArray) kept = g_ptr_array_new();

        for (char **part = parts; *part; part++) {
                if (!**part || strcmp(*part, ".") == 0)
                        continue;
                if (strcmp(*part, "..") != 0)
                        g_ptr_array_add(kept, *part);
                else if (kept->len == 0)
                        return NULL;
                else
                        g_ptr_array_set_size(kept, (int)kept->len - 1);
        }
        g_ptr_array_add(kept, NULL);
        return g_strjoinv("/", (char **)kept->pdata);
}

int file_open_below(const char *dir, const char *path)
{
        gsize len = strlen(dir);
        g_auto(GStrv) parts = NULL;
        int at;

        if (!g_str_has_prefix(path, dir) || path[len] != '/' || strstr(path + len, "/../"))
                return -1;
        parts = g_strsplit(path + len + 1, "/", -1);
        at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (char **part = parts; at >= 0 && *part; part++) {
                int flags = part[1] ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
                int next = openat(at, *part, flags | O_NOFOLLOW | O_CLOEXEC);

                close(at);
                at = next;
        }
        return at;
}

bool file_write_all(int fd, const void *data, gsize len, GError **error)
{
        const char *at = data;

        while (len > 0) {
                ssize_t put = write(fd, at, len);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return err_set_errno(error, errno, "cannot write");
                at += put;
                len -= (gsize)put;
        }
        return true;
}

bool file_replace(const char *path, const void *data, gsize len, mode_t mode, bool durable, GError **error)
{
        g_autofree char *temp = g_strdup_printf("%s.%d.new", path, (int)getpid());
        fd_auto int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

        if (fd < 0)
                return err_set_errno(error, errno, "cannot create '%s'", path);
        if (!file_write_all(fd, data, len, error)) {
                (void)unlink(temp); /* the failed write is reported */
                return err_prefix(error, "'%s': ", path);
        }
        if ((durable && fsync(fd) < 0) || rename(temp, path) < 0) {
                int err = errno;

                (void)unlink(temp); /* the failed rename is reported */
                return err_set_errno(error, err, "cannot replace '%s'", path);
        }
        return true;
}

char *file_home(void)
{
        const char *home = g_getenv("HOME");
        const struct passwd *account = home && *home ? NULL : getpwuid(geteuid());

        if (account)
                home = account->pw_dir;
        return home && *home ? g_strdup(home) : NULL;
}

bool file_mkdirs(const char *path, mode_t mode, GError **error)
{
        if (g_mkdir_with_parents(path, (int)mode) < 0)
                return err_set_errno(error, errno, "cannot make directory '%s'", path);
        return true;
}

/* A tree may be deeper than the limits of descriptors and stack: directories below REMOVE_DEPTH are renamed
 * into the top directory, and removed in the next pass. */
enum { REMOVE_DEPTH = 64 };

typedef struct {
        int top;    /* the directory of depth 0, while it is open */
        guint32 id; /* of the next name in it */
        bool moved; /* a directory was moved: another pass is needed */
        FileRemoval *tally;
} Removal;

FileRemoveEnd file_remove_at(int parent, const char *name, FileRemoval *removal)
{
        struct stat st;

        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return FILE_FAILED;
        if (removal->bound && st.st_uid != removal->uid)
                return FILE_FOREIGN;
        if (unlinkat(parent, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
                return S_ISDIR(st.st_mode) ? FILE_NOT_EMPTY : FILE_FAILED;
        if (S_ISDIR(st.st_mode) || st.st_nlink < 2) {
                removal->bytes += (gint64)st.st_blocks * 512;
                removal->files++;
        }
        return FILE_REMOVED;
}

static bool remove_at(Removal *removal, int depth, int parent, const char *name, const char *shown,
                      GError **error);

static bool remove_entries(Removal *removal, int depth, int fd, const char *shown, GError **error)
{
        DIR *dir = fdopendir(fd);
        bool ok = true;

        if (!dir) {
                close(fd);
                return err_set_errno(error, errno, "cannot list '%s'", shown);
        }
        if (depth == 0)
                removal->top = dirfd(dir);
        for (struct dirent *entry; (entry = readdir(dir));) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (!cancel_check()) {
                        ok = err_set_errno(ok ? error : NULL, errno, "cannot remove all of '%s'", shown);
                        break;
                }
                if (!remove_at(removal, depth + 1, dirfd(dir), entry->d_name, shown, ok ? error : NULL))
                        ok = false;
        }
        closedir(dir);
        return ok;
}

static bool move_up(Removal *removal, int parent, const char *name, const char *shown, GError **error)
{
        g_autofree char *above = g_strdup_printf(".removed-%08x", removal->id++);

        if (renameat(parent, name, removal->top, above) < 0)
                return err_set_errno(error, errno, "cannot move '%s' out of '%s'", name, shown);
        removal->moved = true;
        return true;
}

/* Opens the directory, after making it readable if necessary; follows no link. */
static int open_dir(int parent, const char *name)
{
        enum { FLAGS = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
        int fd = openat(parent, name, O_RDONLY | FLAGS);
        fd_auto int shut = fd < 0 && errno == EACCES ? openat(parent, name, O_PATH | FLAGS) : -1;

        if (shut >= 0) {
                g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", shut);

                if (chmod(link, 0700) == 0)
                        fd = openat(parent, name, O_RDONLY | FLAGS);
        }
        return fd;
}

/* True if the contents of the directory may be removed. A read-only directory of ours is made writable; if
 * that fails, unlink reports it. A directory that may keep files of others keeps its mode. */
static bool take_dir(const Removal *removal, int fd)
{
        struct stat st;

        if (removal->tally->bound)
                return fstat(fd, &st) == 0 && st.st_uid == removal->tally->uid;
        (void)fchmod(fd, 0700);
        return true;
}

static bool remove_at(Removal *removal, int depth, int parent, const char *name, const char *shown,
                      GError **error)
{
        FileRemoveEnd end = file_remove_at(parent, name, removal->tally);
        fd_auto int fd = -1;

        if (end == FILE_FOREIGN)
                removal->tally->left++;
        if (end == FILE_REMOVED || end == FILE_FOREIGN || errno == ENOENT)
                return true;
        if (end == FILE_FAILED)
                return err_set_errno(error, errno, "cannot remove '%s' in '%s'", name, shown);
        if (depth > REMOVE_DEPTH)
                return move_up(removal, parent, name, shown, error);
        fd = open_dir(parent, name);
        if (fd < 0)
                return err_set_errno(error, errno, "cannot open '%s' in '%s'", name, shown);
        if (!take_dir(removal, fd)) {
                removal->tally->left++;
                return true;
        }
        if (!remove_entries(removal, depth, fd_steal(&fd), name, error))
                return false;
        if (depth == 0 && removal->moved)
                return true; /* not empty yet */
        if (file_remove_at(parent, name, removal->tally) != FILE_REMOVED && errno != ENOENT &&
            removal->tally->left == 0)
                return err_set_errno(error, errno, "cannot remove '%s' in '%s'", name, shown);
        return true;
}

bool file_remove_tree_at(int parent, const char *name, FileRemoval *tally, GError **error)
{
        Removal removal = { .id = g_random_int(), .tally = tally };

        do {
                removal.moved = false;
                tally->left = 0;
                if (!remove_at(&removal, 0, parent, name, ".", error))
                        return false;
        } while (removal.moved);
        return true;
}

bool file_remove_tree(const char *path, GError **error)
{
        FileRemoval tally = { 0 };

        return file_remove_tree_at(AT_FDCWD, path, &tally, error);
}
