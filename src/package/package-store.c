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
 * a package's while its tree is built. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/keyed-hash.h"
#include "package/internal.h"
#include "package/manifest.h"
#include "package/package-owner.h"
#include "package/requirements.h"
#include "package/setup.h"
#include "storage/gc.h"
#include "storage/hash.h"

enum {
        LEFTOVER_S = 24 * 3600,
        BLOB_LINE_MAX = HASH_LEN + 1 + 20 + 1, /* hash, blank, digits of 2^64, newline */
};

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

static bool has_blob(PackageStore *store, const char *hash)
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
                    !(g_hash_table_contains(own, entry->hash) && has_blob(store, entry->hash)))
                        g_ptr_array_add(missing, g_strdup(entry->hash));
        }
        return missing;
}

static char *manifest_path(const PackageStore *store, const char *hash)
{
        return g_build_filename(store->dir, "manifests", hash, NULL);
}

static bool remember(PackageStore *store, const char *user, const Manifest *manifest, GError **error)
{
        g_autofree char *path = manifest_path(store, manifest->hash), *text = NULL;
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

/* One content in pieces */

static char *upload_name(const char *user, const char *hash)
{
        return g_build_filename("upload", user, hash, NULL);
}

/* For a single content; owner_contents is for many. */
static bool has_own_blob(PackageStore *store, const char *user, const char *hash)
{
        g_autoptr(GHashTable) own = NULL;

        if (!has_blob(store, hash))
                return false;
        if (owner_has(store, user, OWNED_SENT, hash))
                return true;
        own = owner_contents(store, user);
        return g_hash_table_contains(own, hash);
}

guint64 package_store_upload_size(PackageStore *store, const char *user, const char *hash)
{
        g_autofree char *upload = NULL;
        struct stat st;

        if (!hash_is_valid(hash) || !owner_check(user, NULL))
                return 0;
        upload = upload_name(user, hash);
        return fstatat(store->root, upload, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (guint64)st.st_size : 0;
}

guint64 package_store_blob_size(PackageStore *store, const char *user, const char *hash)
{
        g_autofree char *blob = NULL;
        struct stat st;

        if (!hash_is_valid(hash) || !owner_check(user, NULL))
                return 0;
        blob = blob_name(hash);
        if (has_own_blob(store, user, hash) && fstatat(store->root, blob, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return (guint64)st.st_size;
        return package_store_upload_size(store, user, hash);
}

static bool keep_blob(PackageStore *store, int fd, const char *hash, const char *upload, GError **error)
{
        g_autofree char *blob = blob_name(hash);
        char found[HASH_LEN + 1];

        if (lseek(fd, 0, SEEK_SET) < 0 || !hash_fd(fd, found, NULL))
                return disk_error(error, errno, "read content", hash);
        if (strcmp(found, hash) != 0) {
                (void)unlinkat(store->root, upload, 0); /* the mismatch is reported */
                return err_set(
                        error, ERR_INVALID,
                        "content '%s': the received bytes have the hash %s and are discarded\nSend it again.",
                        hash, found);
        }
        if (fchmod(fd, 0444) < 0 || fsync(fd) < 0 || renameat(store->root, upload, store->root, blob) < 0)
                return disk_error(error, errno, "keep content", hash);
        return true;
}

static int open_upload(PackageStore *store, const char *user, const char *upload)
{
        g_autofree char *dir = g_build_filename("upload", user, NULL);
        int fd = openat(store->root, upload, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (fd >= 0 || errno != ENOENT || (mkdirat(store->root, dir, 0700) < 0 && errno != EEXIST))
                return fd;
        return openat(store->root, upload, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static bool append_piece(PackageStore *store, const char *user, const char *hash, guint64 offset, int piece,
                         bool last, GError **error)
{
        g_autofree char *upload = upload_name(user, hash);
        fd_auto int fd = open_upload(store, user, upload);
        struct stat st, more;

        if (fd < 0 || fstat(fd, &st) < 0 || fstat(piece, &more) < 0)
                return disk_error(error, errno, "write", upload);
        if ((guint64)st.st_size != offset)
                return err_set(error, ERR_CONFLICT,
                               "content '%s': %" G_GUINT64_FORMAT
                               " bytes were received, so a piece at %" G_GUINT64_FORMAT " does not fit",
                               hash, (guint64)st.st_size, offset);
        if (offset > store->bytes_max || (guint64)more.st_size > store->bytes_max - offset)
                return err_set(error, ERR_TOO_LARGE, "content '%s' has more than %" G_GUINT64_FORMAT " bytes",
                               hash, store->bytes_max);
        if (lseek(fd, (off_t)offset, SEEK_SET) < 0 || copy_bytes(piece, fd, -1) < 0) {
                int err = errno;

                (void)ftruncate(fd, (off_t)offset); /* back to complete pieces; if this fails, the hash at the
                                                       end finds it */
                return disk_error(error, err, "write", upload);
        }
        ledger_add(store->ledger, user, DISK_UPLOADS, more.st_size, offset == 0);
        return !last ||
               (keep_blob(store, fd, hash, upload, error) && owner_add(store, user, OWNED_SENT, hash, error));
}

bool package_store_blob_write(PackageStore *store, const char *user, const char *hash, guint64 offset,
                              const char *file, bool last, GError **error)
{
        fd_auto int piece = -1;
        GMutex *lock;
        bool ok;

        if (!owner_check(user, error) || !store_check_hash(hash, error))
                return false;
        piece = open(file, O_RDONLY | O_CLOEXEC);
        if (piece < 0)
                return err_set_errno(error, errno, "cannot open '%s'", file);
        lock = packages_lock(store, hash);
        g_rw_lock_reader_lock(&store->removal);
        g_mutex_lock(lock);
        ok = has_own_blob(store, user, hash) || append_piece(store, user, hash, offset, piece, last, error);
        g_mutex_unlock(lock);
        g_rw_lock_reader_unlock(&store->removal);
        return ok;
}

/* Many small contents in one request body */

static bool parse_blob_line(const char *line, char ret_hash[HASH_LEN + 1], guint64 *ret_size)
{
        guint64 size = 0;
        const char *at = line + HASH_LEN + 1;

        if (strlen(line) < HASH_LEN + 3 || line[HASH_LEN] != ' ')
                return false;
        for (; g_ascii_isdigit(*at); at++)
                if (__builtin_mul_overflow(size, 10, &size) ||
                    __builtin_add_overflow(size, (guint64)(*at - '0'), &size))
                        return false;
        g_strlcpy(ret_hash, line, HASH_LEN + 1);
        *ret_size = size;
        return strcmp(at, "\n") == 0 && at > line + HASH_LEN + 1 && hash_is_valid(ret_hash);
}

static bool copy_checked(FILE *in, int fd, guint64 size, const char *hash, GError **error)
{
        char buffer[65536]; /* most small contents fit */
        char found[HASH_LEN + 1];
        HashState state;

        hash_init(&state);
        for (guint64 done = 0; done < size;) {
                gsize got = fread(buffer, 1, (gsize)MIN(size - done, sizeof buffer), in);

                if (got == 0)
                        return err_set(error, ERR_INVALID,
                                       "content '%s': the body ends after %" G_GUINT64_FORMAT
                                       " of %" G_GUINT64_FORMAT " bytes",
                                       hash, done, size);
                hash_update(&state, buffer, got);
                if (!write_at(fd, buffer, got, done))
                        return disk_error(error, errno, "write content", hash);
                done += got;
        }
        hash_final(&state, found);
        if (strcmp(found, hash) != 0)
                return err_set(error, ERR_INVALID,
                               "content '%s': the received bytes have the hash %s\nSend it again.", hash,
                               found);
        return true;
}

/* Marks the received contents as the user's. */
static bool own_blobs(const Staging *staging, const char *user, GError **error)
{
        for (guint i = 0; i < staging->hashes->len; i++)
                if (!owner_add(staging->store, user, OWNED_SENT, staging->hashes->pdata[i], error))
                        return false;
        return true;
}

static bool read_blobs(Staging *staging, const char *user, FILE *in, GError **error)
{
        char line[BLOB_LINE_MAX + 1], hash[HASH_LEN + 1];
        guint64 size;

        while (fgets(line, sizeof line, in)) {
                fd_auto int fd = -1;

                if (!parse_blob_line(line, hash, &size))
                        return err_set(error, ERR_INVALID,
                                       "content %u: '%.90s' is not '<64 hex digits> <size>'",
                                       staging->hashes->len, g_strchomp(line));
                if (size > staging->store->bytes_max)
                        return err_set(error, ERR_TOO_LARGE,
                                       "content '%s': %" G_GUINT64_FORMAT " bytes are too many", hash, size);
                if (staging->hashes->len >= PACKAGE_FILES_MAX)
                        return err_set(error, ERR_TOO_LARGE, "more than %d contents", PACKAGE_FILES_MAX);
                fd = staging_next(staging, error);
                if (fd < 0 || !copy_checked(in, fd, size, hash, error))
                        return false;
                staging_keep(staging, &fd, hash);
        }
        if (ferror(in))
                return err_set(error, ERR_FAILED, "cannot read the contents");
        if (!ledger_check(staging->store->ledger, user, 0, staging->hashes->len, error) ||
            !staging_finish(staging, error) || !own_blobs(staging, user, error))
                return false;
        ledger_add(staging->store->ledger, user, DISK_UPLOADS, staging_bytes(staging), staging->hashes->len);
        return true;
}

bool package_store_blobs_write(PackageStore *store, const char *user, const char *file, GError **error)
{
        g_auto(Staging) staging = { 0 };
        FILE *in;
        bool ok;

        if (!owner_check(user, error))
                return false;
        in = fopen(file, "re");
        if (!in)
                return err_set_errno(error, errno, "cannot open '%s'", file);
        g_rw_lock_reader_lock(&store->removal);
        ok = staging_open(&staging, store, error) && read_blobs(&staging, user, in, error);
        g_rw_lock_reader_unlock(&store->removal);
        (void)fclose(in); /* the file was only read */
        return ok;
}

/* Building a tree */

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

static bool make_tree(PackageStore *store, const Manifest *manifest, GError **error)
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

Manifest *manifest_recall(PackageStore *store, const char *hash, GError **error)
{
        g_autofree char *path = manifest_path(store, hash), *text = NULL;
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
            (!packages_have_tree(store, manifest->hash) && !make_tree(store, manifest, error)))
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

/* Reading and removing */

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
        g_autofree char *text = manifest_path(store, hash);
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
        g_autofree char *text = manifest_path(store, hash);

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
