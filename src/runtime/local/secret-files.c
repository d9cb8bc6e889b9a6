/* Secrets as files (see secret-files.h). A directory is filled under another name and then renamed, so an
 * existing directory is complete. The name in /dev/shm is random, so a local user cannot create it first. */
#include "runtime/local/secret-files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

enum { FILE_MODE = 0400, ROOT_MODE = 0711, GROUP_DIR_MODE = 0750 };

struct SecretFiles {
        GMutex lock;
        char *memory, *link;
        char *dir; /* the target of the link; NULL: not needed yet */
};

/* True if it is the server's own directory, in memory, and writable by no other user. */
static bool is_good(const char *dir)
{
        struct stat st;
        struct statfs fs;

        return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
               statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

SecretFiles *secret_files_new(const char *state_dir, const char *memory)
{
        SecretFiles *files = g_new0(SecretFiles, 1);
        g_autofree char *dir = NULL;

        g_mutex_init(&files->lock);
        files->memory = g_strdup(memory);
        files->link = g_build_filename(state_dir, "secret-files", NULL);
        dir = g_file_read_link(files->link, NULL);
        if (dir && is_good(dir))
                files->dir = g_steal_pointer(&dir);
        return files;
}

void secret_files_free(SecretFiles *files)
{
        if (!files)
                return;
        g_mutex_clear(&files->lock);
        g_free(files->memory);
        g_free(files->link);
        g_free(files->dir);
        g_free(files);
}

bool secret_files_wanted(const TaskSecret *secrets, int n)
{
        for (int i = 0; i < n; i++)
                if (secrets[i].file)
                        return true;
        return false;
}

static bool replace_link(const SecretFiles *files, const char *dir, GError **error)
{
        g_autofree char *fresh = g_strconcat(files->link, ".new", NULL);

        if ((unlink(fresh) < 0 && errno != ENOENT) || symlink(dir, fresh) < 0 ||
            rename(fresh, files->link) < 0)
                return err_set_errno(error, errno, "cannot make '%s'", files->link);
        return true;
}

static bool make_root(SecretFiles *files, GError **error)
{
        g_autofree char *dir = g_build_filename(files->memory, "paddle-XXXXXX", NULL);

        if (files->dir && is_good(files->dir))
                return true;
        g_clear_pointer(&files->dir, g_free);
        if (!g_mkdtemp(dir) || chmod(dir, ROOT_MODE) < 0)
                return err_set_errno(error, errno, "cannot make a directory in '%s' for files with secrets",
                                     files->memory);
        if (!is_good(dir)) {
                (void)rmdir(dir);
                return err_set(error, ERR_UNAVAILABLE,
                               "'%s' is not in memory (tmpfs), so secrets would be written to a disk\n"
                               "Use variables instead of files, or ask an administrator.",
                               files->memory);
        }
        if (!replace_link(files, dir, error)) {
                (void)rmdir(dir);
                return false;
        }
        files->dir = g_steal_pointer(&dir);
        return true;
}

static bool write_file(int dir_fd, const TaskSecret *secret, const Owner *owner, GError **error)
{
        fd_auto int fd =
                openat(dir_fd, secret->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

        if (fd < 0)
                return err_set_errno(error, errno, "cannot make the file '%s' with a secret", secret->file);
        if (!file_write_all(fd, secret->value, secret->len, error))
                return err_prefix(error, "cannot write the file '%s' with a secret: ", secret->file);
        if (fchmod(fd, FILE_MODE) < 0 || (owner && fchown(fd, owner->uid, owner->gid) < 0))
                return err_set_errno(error, errno, "cannot give the file '%s' to its user", secret->file);
        return true;
}

/* The server owns it, so that the job's user cannot add files. The group of that user may list it. */
static bool make_dir(const char *dir, const Owner *owner, int *ret_fd, GError **error)
{
        fd_auto int fd = -1;

        if (mkdir(dir, 0700) < 0 || (fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
            (owner && (fchown(fd, (uid_t)-1, owner->gid) < 0 || fchmod(fd, GROUP_DIR_MODE) < 0)))
                return err_set_errno(error, errno, "cannot make '%s'", dir);
        *ret_fd = fd_steal(&fd);
        return true;
}

static bool fill(const char *dir, const TaskSecret *secrets, int n, const Owner *owner, GError **error)
{
        fd_auto int dir_fd = -1;

        if (!make_dir(dir, owner, &dir_fd, error))
                return false;
        for (int i = 0; i < n; i++)
                if (secrets[i].file && !write_file(dir_fd, &secrets[i], owner, error))
                        return false;
        return true;
}

static bool put(const char *dir, const TaskSecret *secrets, int n, const Owner *owner, GError **error)
{
        g_autofree char *fresh = g_strconcat(dir, ".new", NULL);

        if (access(dir, F_OK) == 0)
                return true;
        if (!file_remove_tree(fresh, error))
                return false;
        if (fill(fresh, secrets, n, owner, error) &&
            (rename(fresh, dir) == 0 || err_set_errno(error, errno, "cannot make '%s'", dir)))
                return true;
        (void)file_remove_tree(fresh, NULL); /* the start's error is more important */
        return false;
}

char *secret_files_put(SecretFiles *files, const char *attempt, const TaskSecret *secrets, int n,
                       const Owner *owner, GError **error)
{
        g_autofree char *dir = NULL;
        bool made;

        g_mutex_lock(&files->lock);
        made = make_root(files, error);
        if (made) {
                dir = g_build_filename(files->dir, attempt, NULL);
                made = put(dir, secrets, n, owner, error);
        }
        g_mutex_unlock(&files->lock);
        return made ? g_steal_pointer(&dir) : NULL;
}

/* Call it with the lock. */
static void drop(SecretFiles *files, const char *name)
{
        g_autofree char *dir = g_build_filename(files->dir, name, NULL);
        g_autoptr(GError) error = NULL;

        if (!file_remove_tree(dir, &error))
                log_warning("files with secrets of an ended job cannot be removed", "directory", dir, "error",
                            error->message, NULL);
}

void secret_files_drop(SecretFiles *files, const char *attempt)
{
        g_mutex_lock(&files->lock);
        if (files->dir)
                drop(files, attempt);
        g_mutex_unlock(&files->lock);
}

void secret_files_sweep(SecretFiles *files, GHashTable *known)
{
        g_autoptr(GDir) dir = NULL;
        const char *name;

        g_mutex_lock(&files->lock);
        dir = files->dir ? g_dir_open(files->dir, 0, NULL) : NULL;
        while (dir && (name = g_dir_read_name(dir)))
                if (!g_hash_table_contains(known, name))
                        drop(files, name);
        g_mutex_unlock(&files->lock);
}
