/* Gives a tree to another user (see tree.h). Until the last step only the server can enter it (or, for a
 * home, has a process in it), so nothing changes meanwhile. Still no link is followed. */
#include "storage/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "storage/disk.h"

enum { DEPTH_MAX = 256 }; /* two descriptors per level; packages are shallower */

static bool give_entries(int dir, const Owner *owner, int depth, GError **error);

/* A descriptor holds the entry, so that the entry that is changed is the one that was checked. */
static bool give_entry(int parent, const char *name, const Owner *owner, int depth, GError **error)
{
        fd_auto int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return errno == ENOENT ? true : disk_error(error, errno, "read", name);
        if (S_ISREG(st.st_mode) && st.st_nlink > 1)
                return true;
        if (S_ISDIR(st.st_mode)) {
                fd_auto int dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                if (dir < 0)
                        return disk_error(error, errno, "open directory", name);
                close(fd);
                fd = fd_steal(&dir);
                if (!give_entries(fd, owner, depth + 1, error))
                        return false;
        }
        if (fchownat(fd, "", owner->uid, owner->gid, AT_EMPTY_PATH) < 0)
                return disk_error(error, errno, "give away", name);
        return true;
}

static bool give_entries(int dir, const Owner *owner, int depth, GError **error)
{
        int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = again < 0 ? NULL : fdopendir(again);
        bool ok = true;

        if (!stream) {
                int err = errno;

                fd_close_p(&again);
                return disk_error(error, err, "list", ".");
        }
        if (depth > DEPTH_MAX)
                ok = err_set(error, ERR_TOO_LARGE, "more than %d levels of directories", DEPTH_MAX);
        for (struct dirent *entry; ok && (entry = readdir(stream));)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        ok = give_entry(dir, entry->d_name, owner, depth, error);
        closedir(stream);
        return ok;
}

bool tree_give(int parent, const char *name, const Owner *owner, GError **error)
{
        fd_auto int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0)
                return disk_error(error, errno, "open directory", name);
        if (!give_entries(fd, owner, 0, error))
                return err_prefix(error, "'%s' cannot be given to uid %u: ", name, owner->uid);
        if (fchown(fd, owner->uid, owner->gid) < 0 || fchmod(fd, 0700) < 0)
                return disk_error(error, errno, "give away", name);
        return true;
}

bool tree_hand_over(int parent, const char *name, const Owner *owner, GError **error)
{
        return give_entry(parent, name, owner, 0, error) ||
               err_prefix(error, "'%s' cannot be given to uid %u: ", name, owner->uid);
}
