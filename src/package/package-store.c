/* The store of packages (see package.h).
 *
 *      <dir>/blobs/<xx>/<hash>       contents, 0444; complete and durable once they have this name
 *      <dir>/manifests/<hash>        canonical texts of offers
 *      <dir>/<hash>/                 trees, 0555, of hard links to contents (executable files are copies: the
 *                                    mode belongs to the inode)
 *      <dir>/upload/<user>/<hash>    partial contents
 *      <dir>/upload/staging.<id>/    new contents without a name
 *      <dir>/.tree.<id>, .gone.<id>  trees being built and deleted; here, because a read-only directory cannot
 *                                    change its parent
 *
 * Everything gets its final name by a rename after it was synced. So after kill -9 or a power failure all
 * named things are complete, and the rest is swept. A content's mutex is held while its upload file changes,
 * a package's while its tree is built.
 *
 * Here is what opens the store, takes offers, commits them, and reads what is there. Contents are received in
 * package-contents.c, trees are built in package-tree.c, and packages removed in package-remove.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "package/internal.h"
#include "package/manifest.h"
#include "package/package-owner.h"
#include "package/requirements.h"
#include "package/setup.h"
#include "storage/hash.h"

enum { LEFTOVER_S = 24 * 3600 };

char *blob_name(const char *hash)
{
        return g_strdup_printf("blobs/%.2s/%s", hash, hash);
}

bool store_check_hash(const char *hash, GError **error)
{
        if (hash_is_valid(hash))
                return true;
        return err_set(error, ERR_INVALID, "'%.80s' is not a hash of 64 lower-case hex digits",
                       hash ? hash : "");
}

GMutex *packages_lock(PackageStore *store, const char *hash)
{
        return &store->stripes[(g_ascii_xdigit_value(hash[0]) * 16 + g_ascii_xdigit_value(hash[1])) %
                               STORE_STRIPES];
}

/* Opening */

static bool make_dirs(PackageStore *store, GError **error)
{
        static const char *const names[] = { "blobs", "manifests", "owners", "upload" };

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                if (mkdirat(store->root, names[i], 0755) < 0 && errno != EEXIST)
                        return disk_error(error, errno, "make directory", names[i]);
        for (int i = 0; i < 256; i++) {
                g_autofree char *name = g_strdup_printf("blobs/%02x", (unsigned)i);

                if (mkdirat(store->root, name, 0755) < 0 && errno != EEXIST)
                        return disk_error(error, errno, "make directory", name);
        }
        return true;
}

static bool is_leftover(int dir, const char *name, bool all)
{
        struct stat st;

        if (g_str_has_prefix(name, ".gone."))
                return true;
        if (!all && !g_str_has_prefix(name, ".tree."))
                return false;
        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               (!S_ISDIR(st.st_mode) || g_str_has_prefix(name, ".tree.") ||
                g_str_has_prefix(name, "staging.")) &&
               st.st_mtim.tv_sec + LEFTOVER_S < clock_now_ms() / 1000;
}

/* Removes what a crash left in a directory of the store: everything old if `all`, otherwise only unfinished
 * trees. If a removal fails, the next sweep retries it. */
static void sweep(const PackageStore *store, const char *below, bool all)
{
        g_autofree char *path = g_build_filename(store->dir, below, NULL);
        DIR *dir = opendir(path);

        if (!dir)
                return;
        for (struct dirent *entry; (entry = readdir(dir));) {
                g_autofree char *name = g_build_filename(path, entry->d_name, NULL);

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (is_leftover(dirfd(dir), entry->d_name, all))
                        (void)file_remove_tree(name, NULL);
        }
        closedir(dir);
}

/* Uploads of contents, user by user: a directory's age does not tell the age of its files. */
static void sweep_uploads(const PackageStore *store)
{
        g_autofree char *path = g_build_filename(store->dir, "upload", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *user;

        while (dir && (user = g_dir_read_name(dir))) {
                g_autofree char *below = g_build_filename("upload", user, NULL);

                sweep(store, below, true);
                (void)unlinkat(store->root, below, AT_REMOVEDIR); /* of empty directories */
        }
}

void package_store_sweep(PackageStore *store)
{
        g_rw_lock_writer_lock(&store->removal); /* an empty directory may be about to get a file */
        sweep(store, "upload", true);
        sweep_uploads(store);
        g_rw_lock_writer_unlock(&store->removal);
        owners_sweep(store);
        sweep(store, ".", false);
}

PackageStore *package_store_open(const char *dir, GError **error)
{
        g_autoptr(PackageStore) store = g_new0(PackageStore, 1);

        store->root = -1;
        store->files_max = PACKAGE_FILES_MAX;
        store->bytes_max = PACKAGE_BYTES_MAX;
        store->requirements = requirements_memory_new();
        g_rw_lock_init(&store->removal);
        for (int i = 0; i < STORE_STRIPES; i++)
                g_mutex_init(&store->stripes[i]);
        store->dir = g_strdup(dir);
        if (!file_mkdirs(dir, 0755, error))
                return NULL;
        store->root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (store->root < 0) {
                err_set_errno(error, errno, "cannot open directory '%s'", dir);
                return NULL;
        }
        if (!make_dirs(store, error))
                return NULL;
        package_store_sweep(store);
        return g_steal_pointer(&store);
}

void package_store_close(PackageStore *store)
{
        if (!store)
                return;
        fd_close_p(&store->root);
        requirements_memory_free(store->requirements);
        for (int i = 0; i < STORE_STRIPES; i++)
                g_mutex_clear(&store->stripes[i]);
        g_rw_lock_clear(&store->removal);
        g_free(store->dir);
        g_free(store);
}

void package_store_limit(PackageStore *store, guint files_max, guint64 bytes_max)
{
        store->files_max = MIN(files_max, (guint)PACKAGE_FILES_MAX);
        store->bytes_max = MIN(bytes_max, PACKAGE_BYTES_MAX);
}

void package_store_count(PackageStore *store, Ledger *ledger)
{
        store->ledger = ledger;
}

/* Asking and offering */

bool packages_have_tree(PackageStore *store, const char *hash)
{
        struct stat st;

        return hash_is_valid(hash) && fstatat(store->root, hash, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(st.st_mode);
}

bool package_store_has(PackageStore *store, const char *user, const char *hash)
{
        return owner_check(user, NULL) && packages_have_tree(store, hash) &&
               owner_has(store, user, OWNED_PACKAGE, hash);
}

bool package_store_use(PackageStore *store, const char *user, const char *hash)
{
        bool has;

        g_rw_lock_reader_lock(&store->removal);
        has = package_store_has(store, user, hash) && owner_add(store, user, OWNED_PACKAGE, hash, NULL);
        g_rw_lock_reader_unlock(&store->removal);
        return has;
}

char *package_store_path(PackageStore *store, const char *hash)
{
        return g_build_filename(store->dir, hash, NULL);
}

bool packages_have_blob(PackageStore *store, const char *hash)
{
        g_autofree char *name = blob_name(hash);

        return faccessat(store->root, name, F_OK, 0) == 0;
}

static GPtrArray *missing_blobs(PackageStore *store, const char *user, const Manifest *manifest)
{
        g_autoptr(GHashTable) own = owner_contents(store, user);
        g_autoptr(GHashTable) seen = g_hash_table_new(keyed_hash, g_str_equal);
        GPtrArray *missing = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                if (entry->kind == ENTRY_FILE && g_hash_table_add(seen, (gpointer)entry->hash) &&
                    !(g_hash_table_contains(own, entry->hash) && packages_have_blob(store, entry->hash)))
                        g_ptr_array_add(missing, g_strdup(entry->hash));
        }
        return missing;
}

char *packages_manifest_path(const PackageStore *store, const char *hash)
{
        return g_build_filename(store->dir, "manifests", hash, NULL);
}

static bool remember(PackageStore *store, const char *user, const Manifest *manifest, GError **error)
{
        g_autofree char *path = packages_manifest_path(store, manifest->hash), *text = NULL;
        GMutex *lock = packages_lock(store, manifest->hash);
        bool ok;

        if (access(path, F_OK) == 0)
                return true; /* it was synced before it got its name */
        text = manifest_format(manifest);
        if (!ledger_check(store->ledger, user, (gint64)strlen(text), 1, error))
                return false;
        g_mutex_lock(lock);
        ok = file_replace(path, text, strlen(text), 0644, true, error);
        g_mutex_unlock(lock);
        if (ok)
                ledger_add(store->ledger, user, DISK_UPLOADS, (gint64)strlen(text), 1);
        return ok;
}

bool package_store_offer(PackageStore *store, const char *user, const Manifest *manifest,
                         GPtrArray **ret_missing, GError **error)
{
        if (!owner_check(user, error) || !store_check_hash(manifest->hash, error))
                return false;
        if (package_store_has(store, user, manifest->hash)) {
                *ret_missing = g_ptr_array_new_with_free_func(g_free);
                return true;
        }
        if (!ledger_check(store->ledger, user, 0, 0, error) || !remember(store, user, manifest, error) ||
            !owner_add(store, user, OWNED_OFFERED, manifest->hash, error))
                return err_prefix(error, "package %s: ", manifest->hash);
        *ret_missing = missing_blobs(store, user, manifest);
        return true;
}

/* Committing */

Manifest *manifest_recall(PackageStore *store, const char *hash, GError **error)
{
        g_autofree char *path = packages_manifest_path(store, hash), *text = NULL;
        g_autoptr(Manifest) manifest = NULL;
        gsize len;

        if (access(path, F_OK) < 0 && errno == ENOENT) {
                err_set(error, ERR_NOT_FOUND,
                        "the server does not know it\nSend its manifest first (POST /v1/packages/offer).");
                return NULL;
        }
        if (!file_read(path, MANIFEST_TEXT_MAX, &text, &len, error))
                return NULL;
        manifest = manifest_parse(text, len, error);
        if (manifest && strcmp(manifest->hash, hash) != 0) {
                err_set(error, ERR_FAILED, "the manifest on disk has the hash %s", manifest->hash);
                return NULL;
        }
        return g_steal_pointer(&manifest);
}

/* Checks that this user has sent every content. */
static bool check_contents(PackageStore *store, const char *user, const Manifest *manifest, GError **error)
{
        g_autoptr(GHashTable) own = owner_contents(store, user);

        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                if (entry->kind == ENTRY_FILE && !g_hash_table_contains(own, entry->hash))
                        return err_set(error, ERR_CONFLICT,
                                       "the content of '%s' is missing\nSend the package again.",
                                       entry->path);
        }
        return true;
}

/* Makes the user an owner of the package, and drops the marks of its upload. */
static bool give_package(PackageStore *store, const char *user, const Manifest *manifest, GError **error)
{
        if (!owner_add(store, user, OWNED_PACKAGE, manifest->hash, error))
                return false;
        owner_drop(store, user, OWNED_OFFERED, manifest->hash);
        for (guint i = 0; i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                if (entry->kind == ENTRY_FILE)
                        owner_drop(store, user, OWNED_SENT, entry->hash);
        }
        return true;
}

/* Builds the tree unless it exists; in both cases it counts to its owner. */
static bool make_counted(PackageStore *store, const char *user, const Manifest *manifest, GError **error)
{
        ManifestCost cost = manifest_cost(manifest);

        if (!ledger_check(store->ledger, user, cost.tree_bytes, cost.tree_files, error) ||
            (!packages_have_tree(store, manifest->hash) && !packages_make_tree(store, manifest, error)))
                return false;
        ledger_add(store->ledger, user, DISK_PACKAGES, cost.tree_bytes, cost.tree_files);
        return true;
}

static bool commit_offered(PackageStore *store, const char *user, const char *hash, GError **error)
{
        g_autoptr(Manifest) manifest = NULL;

        if (!owner_has(store, user, OWNED_OFFERED, hash))
                return err_set(
                        error, ERR_NOT_FOUND,
                        "the server does not know it\nSend its manifest first (POST /v1/packages/offer).");
        manifest = manifest_recall(store, hash, error);
        return manifest && check_contents(store, user, manifest, error) &&
               make_counted(store, user, manifest, error) && give_package(store, user, manifest, error);
}

bool packages_commit(PackageStore *store, const char *user, const char *hash, GError **error)
{
        GMutex *lock = packages_lock(store, hash);
        bool ok;

        g_mutex_lock(lock);
        ok = package_store_has(store, user, hash) || commit_offered(store, user, hash, error);
        g_mutex_unlock(lock);
        return ok ? true : err_prefix(error, "package %s: ", hash);
}

bool package_store_commit(PackageStore *store, const char *user, const char *hash, GError **error)
{
        bool ok;

        if (!owner_check(user, error) || !store_check_hash(hash, error))
                return false;
        g_rw_lock_reader_lock(&store->removal);
        ok = packages_commit(store, user, hash, error);
        g_rw_lock_reader_unlock(&store->removal);
        return ok;
}

/* Reading */

/* *ret is NULL if there is no such file. */
static bool read_inside(PackageStore *store, const char *hash, const char *name, gsize max, char **ret,
                        GError **error)
{
        fd_auto int tree = openat(store->root, hash, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fd_auto int fd = tree < 0 ? -1 : open_beneath(tree, name, O_RDONLY | O_NONBLOCK, 0);
        g_autofree char *text = NULL;
        struct stat st;
        gssize len;

        if (tree < 0 && errno == ENOENT)
                return err_set(error, ERR_NOT_FOUND, "there is no package '%s'", hash);
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG))
                return true;
        if (fd < 0 || fstat(fd, &st) < 0)
                return disk_error(error, errno, "open", name);
        if (!S_ISREG(st.st_mode))
                return err_set(error, ERR_INVALID, "'%s' in the package is not a file", name);
        if ((gsize)st.st_size > max)
                return err_set(error, ERR_TOO_LARGE, "'%s' in the package is larger than %zu KiB", name,
                               max / 1024);
        text = g_malloc0((gsize)st.st_size + 1);
        len = read_at(fd, text, (gsize)st.st_size, 0);
        if (len < 0)
                return disk_error(error, errno, "read", name);
        if (strlen(text) != (gsize)len || !g_utf8_validate(text, len, NULL))
                return err_set(error, ERR_INVALID, "'%s' in the package is not a UTF-8 text", name);
        *ret = g_steal_pointer(&text);
        return true;
}

typedef struct {
        PackageStore *store;
        const char *hash;
} Inside;

static char *read_requirements(const char *path, gsize max, void *arg, GError **error)
{
        const Inside *inside = arg;
        char *text = NULL;

        return read_inside(inside->store, inside->hash, path, max, &text, error) ? text : NULL;
}

/* An error of the package itself, which a retry would find again. */
static bool is_lasting(const GError *error)
{
        return err_is(error, ERR_INVALID) || err_is(error, ERR_TOO_LARGE);
}

char *package_store_requirements(PackageStore *store, const char *hash, GError **error)
{
        Inside inside = { store, hash };
        GError *fault = NULL;
        char *text = NULL;

        if (!store_check_hash(hash, error))
                return NULL;
        if (requirements_memory_get(store->requirements, hash, &text, error))
                return text;
        if (!requirements_gather(&(RequirementsFiles){ read_requirements, &inside }, &text, NULL, &fault))
                text = NULL;
        if (!fault || is_lasting(fault))
                requirements_memory_put(store->requirements, hash, text, fault);
        if (fault)
                g_propagate_error(error, fault);
        return text;
}

bool package_store_knows_requirements(PackageStore *store, const char *hash)
{
        return requirements_memory_get(store->requirements, hash, NULL, NULL);
}

char *package_store_setup(PackageStore *store, const char *hash, const char *command, GError **error)
{
        g_autoptr(Manifest) manifest =
                store_check_hash(hash, error) ? manifest_recall(store, hash, error) : NULL;

        return manifest ? setup_fingerprint(command, manifest) : NULL;
}
