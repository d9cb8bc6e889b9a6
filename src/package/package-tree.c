/* The tree of a package, built of contents that are there (see package-store.c). */
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
#include "base/id.h"
#include "base/keyed-hash.h"
#include "package/internal.h"
#include "package/manifest.h"

typedef struct {
        PackageStore *store;
        int dir;
        GHashTable *dirs; /* the created ones, by path */
        SyncSet sync;
} Tree;

static bool tree_dir(Tree *tree, const char *path)
{
        if (g_hash_table_contains(tree->dirs, path))
                return true;
        if (mkdirat(tree->dir, path, 0755) < 0)
                return false;
        g_hash_table_add(tree->dirs, g_strdup(path));
        return true;
}

static bool tree_parents(Tree *tree, const char *path)
{
        g_autofree char *above = g_strdup(path);

        for (char *slash = above; (slash = strchr(slash, '/')); slash++) {
                bool ok;

                *slash = '\0';
                ok = tree_dir(tree, above);
                *slash = '/';
                if (!ok)
                        return false;
        }
        return true;
}

static bool tree_copy(Tree *tree, const char *blob, const Entry *entry)
{
        fd_auto int from = openat(tree->store->root, blob, O_RDONLY | O_CLOEXEC);
        fd_auto int to =
                from < 0 ? -1 : openat(tree->dir, entry->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        if (to < 0 || (ioctl(to, FICLONE, from) < 0 && copy_bytes(from, to, -1) < 0) ||
            fchmod(to, entry->executable ? 0555 : 0444) < 0)
                return false;
        sync_set_add(&tree->sync, &to);
        return true;
}

static bool tree_file(Tree *tree, const Entry *entry, GError **error)
{
        g_autofree char *blob = blob_name(entry->hash);
        struct stat st;

        if (fstatat(tree->store->root, blob, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? err_set(error, ERR_CONFLICT,
                                                 "the content of '%s' is missing\nSend the package again.",
                                                 entry->path)
                                       : disk_error(error, errno, "read content", entry->hash);
        if ((guint64)st.st_size != entry->size)
                return err_set(error, ERR_INVALID,
                               "'%s' is said to have %" G_GUINT64_FORMAT
                               " bytes, but its content has %" G_GUINT64_FORMAT,
                               entry->path, entry->size, (guint64)st.st_size);
        if (!entry->executable && linkat(tree->store->root, blob, tree->dir, entry->path, 0) == 0)
                return true;
        /* Copy: too many links to one content (empty files), a file system without links, or a different
         * mode. */
        return tree_copy(tree, blob, entry) ? true : disk_error(error, errno, "make", entry->path);
}

static bool tree_entry(Tree *tree, const Entry *entry, GError **error)
{
        if (!tree_parents(tree, entry->path))
                return disk_error(error, errno, "make the directories of", entry->path);
        if (entry->kind == ENTRY_FILE)
                return tree_file(tree, entry, error);
        if (entry->kind == ENTRY_DIR ? tree_dir(tree, entry->path)
                                     : symlinkat(entry->target, tree->dir, entry->path) == 0)
                return true;
        return disk_error(error, errno, "make", entry->path);
}

/* Makes the directories read-only and everything durable. */
static bool tree_seal(Tree *tree)
{
        GHashTableIter iter;
        gpointer path;

        g_hash_table_iter_init(&iter, tree->dirs);
        while (g_hash_table_iter_next(&iter, &path, NULL)) {
                fd_auto int fd = openat(tree->dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                if (fd < 0 || fchmod(fd, 0555) < 0)
                        return false;
                sync_set_add(&tree->sync, &fd);
        }
        return fchmod(tree->dir, 0555) == 0 && fsync(tree->dir) == 0 &&
               sync_set_flush(&tree->sync, tree->dir);
}

static bool fill_tree(Tree *tree, const Manifest *manifest, GError **error)
{
        for (guint i = 0; i < manifest->entries->len; i++)
                if (!(cancel_check() || disk_error(error, errno, "make", manifest->hash)) ||
                    !tree_entry(tree, manifest->entries->pdata[i], error))
                        return false;
        return tree_seal(tree) ? true : disk_error(error, errno, "write", tree->store->dir);
}

static bool name_tree(PackageStore *store, const char *temp, const char *hash, GError **error)
{
        if (renameat(store->root, temp, store->root, hash) < 0 && errno != ENOTEMPTY && errno != EEXIST)
                return disk_error(error, errno, "name", hash);
        return fsync(store->root) == 0 ? true : disk_error(error, errno, "write", store->dir);
}

bool packages_make_tree(PackageStore *store, const Manifest *manifest, GError **error)
{
        char id[ID_LEN + 1];
        g_autofree char *temp = (id_new(id), g_strconcat(".tree.", id, NULL));
        g_autofree char *path = g_build_filename(store->dir, temp, NULL);
        g_autoptr(GHashTable) dirs = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        g_auto(SyncSet) unused = { 0 };
        Tree tree = { .store = store, .dir = -1, .dirs = dirs, .sync = unused };
        bool ok;

        if (mkdirat(store->root, temp, 0755) == 0)
                tree.dir = openat(store->root, temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ok = tree.dir >= 0
                     ? fill_tree(&tree, manifest, error) && name_tree(store, temp, manifest->hash, error)
                     : disk_error(error, errno, "make directory", temp);
        sync_set_clear(&tree.sync);
        fd_close_p(&tree.dir);
        cancel_end();                       /* clean up even if the caller has given up */
        (void)file_remove_tree(path, NULL); /* gone after the rename; else an error is reported */
        return ok;
}
