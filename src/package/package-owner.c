/* Owners of packages (see package-owner.h). */
#include "package/package-owner.h"

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
#include "storage/hash.h"

enum {
        LATEST_MAX = 16,       /* cached packages whose contents are known */
        CONTENTS_MAX = 200000, /* the total number of their contents */
        UNUSED_MS = 24 * 3600 * 1000,
};

static const char *const kinds[] = {
        [OWNED_OFFERED] = "offered", [OWNED_PACKAGE] = "packages", [OWNED_SENT] = "sent"
};

bool owner_check(const char *user, GError **error)
{
        if (*user && *user != '.' && !strchr(user, '/') && strlen(user) <= NAME_MAX)
                return true;
        return err_set(error, ERR_INVALID,
                       "user '%.80s' cannot have packages: this name cannot name a directory", user);
}

static char *name_of(const char *user, OwnedKind kind, const char *hash)
{
        return g_build_filename("owners", user, kinds[kind], hash, NULL);
}

bool owner_has(PackageStore *store, const char *user, OwnedKind kind, const char *hash)
{
        g_autofree char *name = name_of(user, kind, hash);

        return faccessat(store->root, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool make_dirs(PackageStore *store, const char *user, OwnedKind kind, GError **error)
{
        g_autofree char *path = g_build_filename(store->dir, "owners", user, kinds[kind], NULL);

        return file_mkdirs(path, 0700, error);
}

bool owner_add(PackageStore *store, const char *user, OwnedKind kind, const char *hash, GError **error)
{
        g_autofree char *name = name_of(user, kind, hash);
        fd_auto int fd = openat(store->root, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

        if (fd < 0 && errno == ENOENT) {
                if (!make_dirs(store, user, kind, error))
                        return false;
                fd = openat(store->root, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        }
        if (fd < 0)
                return disk_error(error, errno, "write", name);
        (void)futimens(fd, NULL); /* marks a package as used now */
        return true;
}

void owner_drop(PackageStore *store, const char *user, OwnedKind kind, const char *hash)
{
        g_autofree char *name = name_of(user, kind, hash);

        (void)unlinkat(store->root, name, 0); /* it usually exists; a later sweep removes it if this fails */
}

/* ---- lists ---- */

static gint latest_first(gconstpointer a, gconstpointer b)
{
        const OwnerMark *one = a, *two = b;

        return one->time < two->time ? 1 : one->time > two->time ? -1 : strcmp(one->hash, two->hash);
}

GArray *owner_marks(PackageStore *store, const char *user, OwnedKind kind)
{
        g_autofree char *path = g_build_filename(store->dir, "owners", user, kinds[kind], NULL);
        GArray *marks = g_array_new(FALSE, FALSE, sizeof(OwnerMark));
        DIR *dir = opendir(path);
        struct stat st;

        if (!dir)
                return marks;
        for (struct dirent *entry; (entry = readdir(dir));) {
                OwnerMark mark;

                if (!hash_is_valid(entry->d_name) ||
                    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                mark.time = file_mtime_ms(&st);
                g_strlcpy(mark.hash, entry->d_name, sizeof mark.hash);
                g_array_append_val(marks, mark);
        }
        closedir(dir);
        g_array_sort(marks, latest_first);
        return marks;
}

static void add_manifest(PackageStore *store, const char *hash, GHashTable *contents)
{
        g_autoptr(Manifest) manifest = manifest_recall(store, hash, NULL);

        for (guint i = 0; manifest && i < manifest->entries->len; i++) {
                const Entry *entry = manifest->entries->pdata[i];

                if (entry->kind == ENTRY_FILE)
                        g_hash_table_add(contents, g_strdup(entry->hash));
        }
}

GHashTable *owner_contents(PackageStore *store, const char *user)
{
        GHashTable *contents = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        g_autoptr(GArray) packages = owner_marks(store, user, OWNED_PACKAGE);
        g_autoptr(GArray) sent = owner_marks(store, user, OWNED_SENT);

        for (guint i = 0; i < sent->len; i++)
                g_hash_table_add(contents, g_strdup(g_array_index(sent, OwnerMark, i).hash));
        for (guint i = 0; i < MIN(packages->len, (guint)LATEST_MAX); i++)
                if (g_hash_table_size(contents) < CONTENTS_MAX)
                        add_manifest(store, g_array_index(packages, OwnerMark, i).hash, contents);
        return contents;
}

/* ---- removing ---- */

static void sweep_kind(PackageStore *store, const char *user, OwnedKind kind)
{
        g_autoptr(GArray) marks = owner_marks(store, user, kind);
        gint64 now = clock_now_ms();

        for (guint i = 0; i < marks->len; i++) {
                const OwnerMark *mark = &g_array_index(marks, OwnerMark, i);

                if (mark->time + UNUSED_MS < now)
                        owner_drop(store, user, kind, mark->hash);
        }
}

/* Drops marks of packages whose removal was interrupted. */
static void sweep_packages(PackageStore *store, const char *user)
{
        g_autoptr(GArray) marks = owner_marks(store, user, OWNED_PACKAGE);

        for (guint i = 0; i < marks->len; i++) {
                const char *hash = g_array_index(marks, OwnerMark, i).hash;

                if (!packages_have_tree(store, hash))
                        owner_drop(store, user, OWNED_PACKAGE, hash);
        }
}

gint64 owners_latest(PackageStore *store, const char *hash)
{
        g_autofree char *path = g_build_filename(store->dir, "owners", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        gint64 latest = 0;
        const char *user;

        while (dir && (user = g_dir_read_name(dir))) {
                g_autofree char *name = name_of(user, OWNED_PACKAGE, hash);
                struct stat st;

                if (fstatat(store->root, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        latest = MAX(latest, file_mtime_ms(&st));
        }
        return latest;
}

void owners_forget(PackageStore *store, const char *hash)
{
        g_autofree char *path = g_build_filename(store->dir, "owners", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *user;

        while (dir && (user = g_dir_read_name(dir)))
                owner_drop(store, user, OWNED_PACKAGE, hash);
}

void owners_sweep(PackageStore *store)
{
        g_autofree char *path = g_build_filename(store->dir, "owners", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *user;

        while (dir && (user = g_dir_read_name(dir))) {
                sweep_kind(store, user, OWNED_OFFERED);
                sweep_kind(store, user, OWNED_SENT);
                sweep_packages(store, user);
        }
}
