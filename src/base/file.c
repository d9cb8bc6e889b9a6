/* Files (see file.h). */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
                return err_set_errno(error, errno, "cannot create '%s'", temp);
        if (!file_write_all(fd, data, len, error)) {
                (void)unlink(temp); /* the failed write is what is reported */
                return err_prefix(error, "'%s': ", temp);
        }
        if ((durable && fsync(fd) < 0) || rename(temp, path) < 0) {
                int err = errno;

                (void)unlink(temp); /* the failed rename is what is reported */
                return err_set_errno(error, err, "cannot replace '%s'", path);
        }
        return true;
}

bool file_mkdirs(const char *path, mode_t mode, GError **error)
{
        if (g_mkdir_with_parents(path, (int)mode) < 0)
                return err_set_errno(error, errno, "cannot make directory '%s'", path);
        return true;
}

static bool remove_at(int parent, const char *name, const char *shown, GError **error);

static bool remove_entries(int fd, const char *shown, GError **error)
{
        DIR *dir = fdopendir(fd);
        bool ok = true;

        if (!dir) {
                close(fd);
                return err_set_errno(error, errno, "cannot list '%s'", shown);
        }
        for (struct dirent *entry; (entry = readdir(dir));) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (!remove_at(dirfd(dir), entry->d_name, shown, ok ? error : NULL))
                        ok = false;
        }
        closedir(dir);
        return ok;
}

static bool remove_at(int parent, const char *name, const char *shown, GError **error)
{
        int fd;

        if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
                return true;
        if (errno != EISDIR && errno != EPERM)
                return err_set_errno(error, errno, "cannot remove '%s' in '%s'", name, shown);
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
                fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return err_set_errno(error, errno, "cannot open '%s' in '%s'", name, shown);
        (void)fchmod(fd,
                     0700); /* a read-only tree of ours; the unlink below reports what this could not help */
        if (!remove_entries(fd, name, error))
                return false;
        if (unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                return err_set_errno(error, errno, "cannot remove '%s' in '%s'", name, shown);
        return true;
}

bool file_remove_tree(const char *path, GError **error)
{
        return remove_at(AT_FDCWD, path, ".", error);
}
