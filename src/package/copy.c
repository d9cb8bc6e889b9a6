/* A writable copy of a read-only tree (package_copy in package.h). File contents are shared with the original
 * if the file system can (FICLONE), otherwise copied in the kernel. Links stay links. A failed copy is
 * removed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "package/package.h"
#include "storage/disk.h"

static bool copy_file(int from_dir, int to_dir, const char *name, mode_t mode)
{
        fd_auto int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        fd_auto int to = from < 0 ? -1
                                  : openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                           mode & S_IXUSR ? 0755 : 0644);

        if (to < 0)
                return false;
        return ioctl(to, FICLONE, from) == 0 || copy_bytes(from, to, -1) >= 0;
}

static bool copy_link(int from_dir, int to_dir, const char *name)
{
        char target[PACKAGE_PATH_MAX];
        ssize_t len = readlinkat(from_dir, name, target, sizeof target - 1);

        if (len < 0)
                return false;
        target[len] = '\0';
        return symlinkat(target, to_dir, name) == 0;
}

static bool copy_dir(int from_parent, int to_parent, const char *name, const char *shown, GError **error);

static bool copy_name(int from, int to, const char *name, GError **error)
{
        struct stat st;
        bool ok;

        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return disk_error(error, errno, "read", name);
        if (S_ISDIR(st.st_mode))
                return mkdirat(to, name, 0755) == 0 ? copy_dir(from, to, name, name, error)
                                                    : disk_error(error, errno, "make directory", name);
        if (S_ISREG(st.st_mode))
                ok = copy_file(from, to, name, st.st_mode);
        else if (S_ISLNK(st.st_mode))
                ok = copy_link(from, to, name);
        else
                return err_set(error, ERR_INVALID, "'%s' is neither file, link nor directory", name);
        return ok ? true : disk_error(error, errno, "copy", name);
}

/* `name` must exist in both parents. PACKAGE_PATH_MAX bounds the depth; each level needs two descriptors. */
static bool copy_dir(int from_parent, int to_parent, const char *name, const char *shown, GError **error)
{
        int from = openat(from_parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fd_auto int to = openat(to_parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *stream = from < 0 ? NULL : fdopendir(from);
        bool ok = true;

        if (!stream || to < 0) {
                ok = disk_error(error, errno, "open directory", shown);
                if (stream)
                        closedir(stream);
                else
                        fd_close_p(&from);
                return ok;
        }
        for (struct dirent *entry; ok && (entry = readdir(stream));)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        ok = cancel_check() ? copy_name(from, to, entry->d_name, error)
                                            : disk_error(error, errno, "copy", entry->d_name);
        closedir(stream);
        return ok;
}

static bool copy_tree(const char *tree, const char *dest, GError **error)
{
        fd_auto int from = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd_auto int to = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (from < 0 || to < 0)
                return disk_error(error, errno, "open directory", from < 0 ? tree : dest);
        return copy_dir(from, to, ".", tree, error);
}

bool package_copy(const char *tree, const char *dest, GError **error)
{
        if (mkdir(dest, 0755) < 0)
                return errno == EEXIST ? err_set(error, ERR_EXISTS, "'%s' exists already", dest)
                                       : disk_error(error, errno, "make directory", dest);
        if (copy_tree(tree, dest, error))
                return true;
        (void)file_remove_tree(dest, NULL); /* the failed copy is reported */
        return err_prefix(error, "copy of '%s' to '%s': ", tree, dest);
}
