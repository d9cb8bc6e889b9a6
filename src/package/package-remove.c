/* Packages that are removed, by name or because they were not used (see package.h and package-store.c). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "package/internal.h"
#include "package/manifest.h"
#include "package/package-owner.h"
#include "storage/gc.h"

/* Removes contents of a deleted package, unless a tree has a link to them. A tree with only executable copies
 * does not need them. */
static void drop_blobs(PackageStore *store, const Manifest *manifest)
{
        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];
                g_autofree char *blob = entry->kind == ENTRY_FILE ? blob_name(entry->hash) : NULL;
                struct stat st;

                if (blob && fstatat(store->root, blob, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1)
                        (void)unlinkat(store->root, blob, 0); /* an extra content is harmless */
        }
}

static bool remove_alone(PackageStore *store, const char *hash, GError **error)
{
        g_autoptr(Manifest) manifest = manifest_recall(store, hash, NULL);
        g_autofree char *text = packages_manifest_path(store, hash);
        char id[ID_LEN + 1];
        g_autofree char *gone = (id_new(id), g_strconcat(".gone.", id, NULL));
        g_autofree char *path = g_build_filename(store->dir, gone, NULL);

        if (renameat(store->root, hash, store->root, gone) < 0)
                return errno == ENOENT ? err_set(error, ERR_NOT_FOUND, "there is no package '%s'", hash)
                                       : disk_error(error, errno, "remove package", hash);
        (void)unlink(text); /* a manifest without a tree is only an offer */
        if (!file_remove_tree(path, error))
                return false;
        if (manifest)
                drop_blobs(store, manifest);
        return true;
}

bool package_store_remove(PackageStore *store, const char *hash, GError **error)
{
        bool ok;

        if (!store_check_hash(hash, error))
                return false;
        g_rw_lock_writer_lock(&store->removal);
        ok = remove_alone(store, hash, error);
        g_rw_lock_writer_unlock(&store->removal);
        return ok;
}

/* Removing unused packages */

static bool is_used(const struct stat *st, gint64 since)
{
        return file_mtime_ms(st) > since;
}

/* Hides the package and drops its owners; deleting it may then take its time. */
static bool hide_package(PackageStore *store, const char *hash, const char *gone, gint64 since,
                         bool *ret_gone, GError **error)
{
        g_autofree char *text = packages_manifest_path(store, hash);

        if (owners_latest(store, hash) > since || !packages_have_tree(store, hash))
                return true;
        if (renameat(store->root, hash, store->root, gone) < 0)
                return disk_error(error, errno, "remove package", hash);
        owners_forget(store, hash);
        (void)unlink(text); /* a manifest without a tree is only an offer */
        *ret_gone = true;
        return true;
}

/* Removes its contents, unless another package has them or a client has just sent them. */
static void drop_unused_blobs(PackageStore *store, const Manifest *manifest, gint64 since)
{
        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];
                g_autofree char *blob = entry->kind == ENTRY_FILE ? blob_name(entry->hash) : NULL;
                struct stat st;

                if (blob && fstatat(store->root, blob, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1 &&
                    !is_used(&st, since))
                        (void)unlinkat(store->root, blob, 0); /* else the next survey finds it */
        }
}

static bool drop_package(PackageStore *store, const char *hash, gint64 since, bool *ret_gone, GError **error)
{
        char id[ID_LEN + 1];
        g_autofree char *gone = (id_new(id), g_strconcat(".gone.", id, NULL));
        g_autofree char *path = g_build_filename(store->dir, gone, NULL);
        g_autoptr(Manifest) manifest = manifest_recall(store, hash, NULL);
        bool ok;

        g_rw_lock_writer_lock(&store->removal);
        ok = hide_package(store, hash, gone, since, ret_gone, error);
        g_rw_lock_writer_unlock(&store->removal);
        if (!ok || !*ret_gone)
                return ok;
        ok = file_remove_tree(path, error);
        g_rw_lock_writer_lock(&store->removal);
        if (manifest)
                drop_unused_blobs(store, manifest, since);
        g_rw_lock_writer_unlock(&store->removal);
        return ok;
}

static bool drop_file(PackageStore *store, const char *name, gint64 since, bool *ret_gone, GError **error)
{
        struct stat st;
        bool ok = true;

        g_rw_lock_writer_lock(&store->removal);
        if (fstatat(store->root, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1 &&
            !is_used(&st, since)) {
                *ret_gone = unlinkat(store->root, name, 0) == 0;
                ok = *ret_gone || disk_error(error, errno, "remove", name);
        }
        g_rw_lock_writer_unlock(&store->removal);
        return ok;
}

bool package_store_drop(PackageStore *store, int kind, const char *name, gint64 since, bool *ret_gone,
                        GError **error)
{
        const char *below = g_str_has_prefix(name, "packages/") ? name + strlen("packages/") : name;

        *ret_gone = false;
        if (kind != GC_PACKAGE)
                return drop_file(store, below, since, ret_gone, error);
        return store_check_hash(below, error) && drop_package(store, below, since, ret_gone, error);
}
