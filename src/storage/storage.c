/* The storage root (see storage.h): names, access, directories. Listing and counting are in storage-list.c,
 * removing and moving in storage-change.c, uploads in storage-upload.c.
 *
 *      <dir>/<dc>/home/<user>/...
 *      <dir>/<dc>/public/...
 *      <dir>/<dc>/.upload/         unfinished uploads; things being removed
 *
 * Every access starts at an open home (or public) and stays below it by openat2. So neither ".." nor a link of
 * a job leads outside, or from one home into another, even if it is exchanged meanwhile. */
#include "storage/storage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/keyed-hash.h"
#include "storage/disk.h"
#include "storage/internal.h"
#include "storage/path.h"

#define PATH_HINT "\nPaths are /pfs/<datacenter>/home/<user>/... or /pfs/<datacenter>/public/..."

/* Opening */

static bool make_roots(Storage *storage, GError **error)
{
        static const struct {
                const char *name;
                mode_t mode;
        } dirs[] = { { "home", 0755 }, { "public", 0755 }, { ".upload", 0700 } };

        for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++)
                if (mkdirat(storage->root, dirs[i].name, dirs[i].mode) < 0 && errno != EEXIST)
                        return disk_error(error, errno, "make directory", dirs[i].name);
        return true;
}

Storage *storage_open(const char *dir, const char *dc, GError **error)
{
        g_autoptr(Storage) storage = g_new0(Storage, 1);
        g_autofree char *path = g_build_filename(dir, dc, NULL);

        storage->root = -1;
        pthread_mutex_init(&storage->uploads_mutex, NULL);
        storage->uploads = g_hash_table_new(keyed_hash, g_str_equal);
        storage->gone = g_hash_table_new(keyed_hash, g_str_equal);
        storage->dir = g_strdup(dir);
        storage->dc = g_strdup(dc);
        if (!path_part_check(dc, error)) {
                err_prefix(error, "datacenter ");
                return NULL;
        }
        if (!file_mkdirs(path, 0755, error))
                return NULL;
        storage->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (storage->root < 0) {
                err_set_errno(error, errno, "cannot open directory '%s'", path);
                return NULL;
        }
        if (!make_roots(storage, error))
                return NULL;
        storage_sweep(storage);
        return g_steal_pointer(&storage);
}

void storage_close(Storage *storage)
{
        if (!storage)
                return;
        fd_close_p(&storage->root);
        g_hash_table_unref(storage->uploads);
        g_hash_table_unref(storage->gone);
        pthread_mutex_destroy(&storage->uploads_mutex);
        g_free(storage->dir);
        g_free(storage->dc);
        g_free(storage);
}

/* Owners */

bool storage_share(Storage *storage, GError **error)
{
        static const struct {
                const char *name;
                mode_t mode;
        } dirs[] = { { ".", 0711 }, { "home", 0711 }, { "public", 01777 }, { ".upload", 0700 } };

        if (chmod(storage->dir, 0711) < 0)
                return disk_error(error, errno, "change the mode of", storage->dir);
        for (gsize i = 0; i < G_N_ELEMENTS(dirs); i++)
                if (fchmodat(storage->root, dirs[i].name, dirs[i].mode, 0) < 0)
                        return disk_error(error, errno, "change the mode of", dirs[i].name);
        return true;
}

void storage_set_owners(Storage *storage, StorageOwnerOf owner_of, void *arg)
{
        storage->owner_of = owner_of;
        storage->owner_arg = arg;
}

void storage_count(Storage *storage, Ledger *ledger)
{
        storage->ledger = ledger;
}

void storage_set_projects(Storage *storage, Projects *projects)
{
        storage->projects = projects;
}

static bool is_owned_by(const struct stat *st, const Owner *owner)
{
        return st->st_uid == owner->uid;
}

static bool foreign_home(const Storage *storage, const char *user, const struct stat *st, const Owner *owner,
                         GError **error)
{
        return err_set(
                error, ERR_DENIED,
                "the home of '%s' belongs to uid %u, but '%s' is uid %u now\nAn administrator of this machine can give it to the user (chown -R %u:%u), or move it away: '%s/%s/home/%s'.",
                user, st->st_uid, user, owner->uid, owner->uid, owner->gid, storage->dir, storage->dc, user);
}

/* Gives a home of the server away as a whole. The top directory is given last, so an interrupted call starts
 * again. */
bool storage_make_home(Storage *storage, const char *user, const Owner *owner, GError **error)
{
        g_autofree char *name = g_strconcat("home/", user, NULL);
        g_autofree char *path = g_build_filename(storage->dir, storage->dc, name, NULL);
        bool made = mkdirat(storage->root, name, 0700) == 0;
        struct stat st;

        if (!made && errno != EEXIST)
                return disk_error(error, errno, "make", name);
        if (made && owner->uid != geteuid()) /* the next survey labels an existing one */
                (void)projects_label(storage->projects, user, path, NULL, NULL);
        if (fstatat(storage->root, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return disk_error(error, errno, "read", name);
        if (is_owned_by(&st, owner))
                return true;
        if (st.st_uid != geteuid())
                return foreign_home(storage, user, &st, owner, error);
        return tree_give(storage->root, name, owner, error);
}

/* Called before a home is opened: checks that it belongs to its user; a write creates it. Administrators may
 * read every home. */
static bool settle_owner(Storage *storage, const char *user, const StorageAccess *access, bool write,
                         GError **error)
{
        g_autofree char *name = g_strconcat("home/", user, NULL);
        Owner owner;
        struct stat st;

        if (!storage->owner_of(user, &owner, storage->owner_arg, error))
                return false;
        if (write)
                return storage_make_home(storage, user, &owner, error);
        if (access->admin || fstatat(storage->root, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_uid == geteuid() || is_owned_by(&st, &owner))
                return true;
        return foreign_home(storage, user, &st, &owner, error);
}

bool place_give(const Place *place, int fd, mode_t mode)
{
        struct stat st;

        if (place->owner.uid != geteuid() &&
            (fstat(fd, &st) < 0 ||
             (st.st_uid == geteuid() && fchown(fd, place->owner.uid, place->owner.gid) < 0)))
                return false;
        return fchmod(fd, mode) == 0;
}

bool place_may_read(const Place *place, const struct stat *st)
{
        if (!place->shared || !S_ISREG(st->st_mode) || st->st_nlink == 1)
                return true;
        return place->owner.uid != geteuid() && st->st_uid == place->owner.uid;
}

/* Places: names and access */

/* The parts of a path, without empty ones, so "//" and a trailing slash are harmless. */
static char **path_parts(const char *path)
{
        g_auto(GStrv) raw = g_strsplit(path, "/", -1);
        GPtrArray *parts = g_ptr_array_new();

        for (char **part = raw; *part; part++)
                if (**part)
                        g_ptr_array_add(parts, g_strdup(*part));
        g_ptr_array_add(parts, NULL);
        return (char **)g_ptr_array_free(parts, FALSE);
}

static bool user_check(const char *user, GError **error)
{
        static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@+-";

        if (*user && *user != '.' && *user != '-' && strspn(user, allowed) == strlen(user))
                return true;
        return err_set(error, ERR_INVALID,
                       "'%s' is not a user's name: letters, digits and . _ @ + -, not beginning with . or -",
                       user);
}

/* Fills root, below and shown from the parts after "/pfs". */
static bool place_name(Place *place, const Storage *storage, char **parts, const char *pfs_path,
                       GError **error)
{
        guint count = g_strv_length(parts);
        guint head = count > 2 && strcmp(parts[2], "home") == 0 ? 4 : 3;
        g_autofree char *all = g_strjoinv("/", parts), *below = NULL;

        if (*pfs_path != '/' || count < 1 || strcmp(parts[0], "pfs") != 0)
                return err_set(error, ERR_INVALID, "'%s' does not begin with /pfs/" PATH_HINT, pfs_path);
        if (!path_check(all, error))
                return false;
        if (count > 1 && strcmp(parts[1], storage->dc) != 0)
                return err_set(error, ERR_NOT_FOUND,
                               "there is no datacenter '%s'; the one of this server is '%s'", parts[1],
                               storage->dc);
        if (count < head || (head == 3 && strcmp(parts[2], "public") != 0))
                return err_set(error, ERR_INVALID, "'%s' is neither in a home nor in public" PATH_HINT,
                               pfs_path);
        if (head == 4 && !user_check(parts[3], error))
                return false;
        below = g_strjoinv("/", parts + head);
        place->root = head == 4 ? g_strconcat("home/", parts[3], NULL) : g_strdup("public");
        place->below = g_strdup(*below ? below : ".");
        place->shown = g_strconcat("/", all, NULL);
        return true;
}

const char *place_home(const Place *place)
{
        return g_str_has_prefix(place->root, "home/") ? place->root + strlen("home/") : NULL;
}

/* If members run as users and the owner is known, users may remove what their own jobs wrote to public. */
static bool bind_to_own(Place *place, const StorageAccess *access, GError **error)
{
        const Storage *storage = place->storage;

        if (!storage->owner_of || !access->user)
                return false;
        place->bound = storage->owner_of(access->user, &place->taker, storage->owner_arg, error) &&
                       place->taker.uid != geteuid();
        return place->bound;
}

static bool check_access(Place *place, const StorageAccess *access, PlaceUse use, GError **error)
{
        const char *owner = place_home(place);

        if (access->admin)
                return true;
        if (owner && (!access->user || strcmp(owner, access->user) != 0))
                return err_set(error, ERR_DENIED, "'%s' belongs to '%s'", place->shown, owner);
        if (owner || use == PLACE_READ || (use == PLACE_TAKE && bind_to_own(place, access, NULL)))
                return true;
        return err_set(error, ERR_DENIED,
                       "'%s' can only be written by administrators\nWrite to your own home instead.",
                       place->shown);
}

bool place_open(Place *place, Storage *storage, const char *pfs_path, const StorageAccess *access,
                PlaceUse use, GError **error)
{
        bool write = use != PLACE_READ;
        g_auto(GStrv) parts = path_parts(pfs_path);
        const char *user;
        struct stat st;

        *place = (Place){ .fd = -1, .storage = storage, .shared = storage->owner_of };
        if (!place_name(place, storage, parts, pfs_path, error) || !check_access(place, access, use, error))
                return false;
        user = place_home(place);
        place->payer = g_strdup(user ? user : access->user);
        if (user && storage->owner_of && !settle_owner(storage, user, access, write, error))
                return err_prefix(error, "'%s': ", place->shown);
        if (write && mkdirat(storage->root, place->root, 0755) < 0 && errno != EEXIST)
                return disk_error(error, errno, "make", place->shown);
        place->fd = openat(storage->root, place->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if ((place->fd < 0 && errno != ENOENT) || (place->fd >= 0 && fstat(place->fd, &st) < 0))
                return disk_error(error, errno, "open", place->shown);
        if (place->fd >= 0)
                place->owner = (Owner){ st.st_uid, st.st_gid };
        return true;
}

void place_clear(Place *place)
{
        fd_close_p(&place->fd);
        place->fd = -1;
        g_clear_pointer(&place->shown, g_free);
        g_clear_pointer(&place->root, g_free);
        g_clear_pointer(&place->below, g_free);
        g_clear_pointer(&place->payer, g_free);
}

bool place_is_root(const Place *place)
{
        return strcmp(place->below, ".") == 0;
}

/* The kernel refused it because of the user's limit (XFS then reports a full disk), or because of the
 * disk. */
static bool no_space(const Place *place, GError **error, int err, const char *what)
{
        Storage *storage = place->storage;
        g_autofree char *full = NULL;

        projects_refresh(storage->projects, place->payer);
        if (storage->projects && storage->ledger &&
            (err == EDQUOT || (full = ledger_say_full(storage->ledger, place->payer))))
                return ledger_refuse(storage->ledger, place->payer, error);
        return disk_error(error, err, what, place->shown);
}

bool place_error(const Place *place, GError **error, int err, const char *what)
{
        switch (err) {
        case EDQUOT:
        case ENOSPC: return no_space(place, error, err, what);
        case EBADF: /* the home does not exist yet */
        case ENOENT: return err_set(error, ERR_NOT_FOUND, "'%s' does not exist", place->shown);
        case ENOTDIR:
                return err_set(error, ERR_CONFLICT, "'%s': a part of it is a file, not a directory",
                               place->shown);
        case EXDEV:
        case ELOOP:
                return err_set(error, ERR_DENIED, "'%s': a link leads out of /pfs/.../%s", place->shown,
                               place->root);
        case ENXIO: /* a socket */
                return err_set(error, ERR_INVALID, "'%s' is neither file nor directory", place->shown);
        default: return disk_error(error, err, what, place->shown);
        }
}

/* Directories */

/* Creates or opens `part` in `at`, on the way to `path`. -1 with errno. */
static int make_dir(const Place *place, int at, const char *part, const char *path)
{
        bool made = mkdirat(at, part, 0700) == 0;
        fd_auto int fd = -1;

        if (!made && errno != EEXIST)
                return -1;
        fd = open_beneath(place->fd, path, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0 && made && !place_give(place, fd, 0755))
                return -1;
        return fd_steal(&fd);
}

int place_make_dirs(const Place *place, const char *below, GError **error)
{
        g_auto(GStrv) parts = g_strsplit(below, "/", -1);
        g_autoptr(GString) path = g_string_new(NULL);
        int at = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        for (char **part = parts; *part && at >= 0; part++) {
                int next;

                g_string_append_printf(path, "%s%s", path->len ? "/" : "", *part);
                next = open_beneath(place->fd, path->str, O_RDONLY | O_DIRECTORY, 0);
                if (next < 0 && errno == ENOENT)
                        next = make_dir(place, at, *part, path->str);
                fd_close_p(&at);
                at = next;
        }
        if (at < 0)
                place_error(place, error, errno, "make");
        return at;
}

int place_parent(const Place *place, bool make, const char **ret_name, GError **error)
{
        const char *slash = strrchr(place->below, '/');
        g_autofree char *above =
                slash ? g_strndup(place->below, (gsize)(slash - place->below)) : g_strdup(".");
        int fd;

        *ret_name = slash ? slash + 1 : place->below;
        if (make)
                return place_make_dirs(place, above, error);
        fd = open_beneath(place->fd, above, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0 && errno == ENOENT && slash)
                err_set(error, ERR_NOT_FOUND, "'%s' does not exist: there is no directory '%.*s'",
                        place->shown, (int)(strrchr(place->shown, '/') - place->shown), place->shown);
        else if (fd < 0)
                place_error(place, error, errno, "open");
        return fd;
}

int place_parent_of_new(const Place *place, const char **ret_name, GError **error)
{
        g_autoptr(GError) failure = NULL;
        int fd = place_parent(place, false, ret_name, &failure);

        if (fd >= 0)
                return fd;
        if (err_is(failure, ERR_NOT_FOUND))
                err_set(error, ERR_NOT_FOUND,
                        "'%s' cannot be created: there is no directory '%.*s'\nCreate that directory first (paddle storage mkdir -p).",
                        place->shown, (int)(strrchr(place->shown, '/') - place->shown), place->shown);
        else
                g_propagate_error(error, g_steal_pointer(&failure));
        return -1;
}

gint64 place_missing(const Place *place, const char *below)
{
        g_autofree char *path = g_strdup(below);
        gint64 missing = 0;

        for (;;) {
                fd_auto int fd = open_beneath(place->fd, path, O_PATH | O_DIRECTORY, 0);
                char *slash = strrchr(path, '/');

                if (fd >= 0 || errno != ENOENT)
                        return missing;
                missing++;
                if (!slash)
                        return missing;
                *slash = '\0';
        }
}

/* Only the last directory, which must be new. */
static int make_one(const Place *place, GError **error)
{
        const char *name;
        fd_auto int parent = -1;
        int fd;

        if (place_is_root(place)) {
                err_set(error, ERR_EXISTS, "'%s' exists already", place->shown);
                return -1;
        }
        parent = place_parent_of_new(place, &name, error);
        if (parent < 0)
                return -1;
        if (faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
                err_set(error, ERR_EXISTS, "'%s' exists already", place->shown);
                return -1;
        }
        fd = make_dir(place, parent, name, place->below);
        if (fd < 0)
                place_error(place, error, errno, "make");
        return fd;
}

bool storage_make_dir(Storage *storage, const char *pfs_path, const StorageAccess *access, bool parents,
                      GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        fd_auto int fd = -1;
        gint64 dirs;

        if (!place_open(&place, storage, pfs_path, access, PLACE_WRITE, error))
                return false;
        dirs = place_missing(&place, place.below);
        if (dirs > 0 && !ledger_check(storage->ledger, place.payer, dirs * DIR_BYTES, dirs, error))
                return false;
        fd = parents ? place_make_dirs(&place, place.below, error) : make_one(&place, error);
        if (fd >= 0)
                ledger_add(storage->ledger, place.payer, DISK_HOME, dirs * DIR_BYTES, dirs);
        return fd >= 0;
}

/* The path of an open descriptor: where the checked path really leads. */
static char *fd_path(int fd)
{
        g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);

        return g_file_read_link(link, NULL);
}

/* For a path that does not exist: the real path of the nearest existing parent, and the rest. */
static char *path_to_be(const Storage *storage, const Place *place, GError **error)
{
        g_autofree char *above = g_strdup(place->below);
        char *slash;

        while ((slash = strrchr(above, '/'))) {
                fd_auto int fd = -1;
                g_autofree char *real = NULL;

                *slash = '\0';
                fd = open_beneath(place->fd, above, O_PATH | O_DIRECTORY, 0);
                if (fd < 0 && errno == ENOENT)
                        continue;
                real = fd < 0 ? NULL : fd_path(fd);
                if (!real) {
                        place_error(place, error, errno, "open");
                        return NULL;
                }
                return g_build_filename(real, place->below + strlen(above) + 1, NULL);
        }
        return g_build_filename(storage->dir, storage->dc, place->root, place->below, NULL);
}

static int resolve_fd(const Place *place, bool make, GError **error)
{
        int fd;

        if (make)
                return place_make_dirs(place, place->below, error);
        fd = place->fd < 0 ? (errno = ENOENT, -1) : open_beneath(place->fd, place->below, O_PATH, 0);
        if (fd < 0 && errno != ENOENT)
                place_error(place, error, errno, "open");
        return fd;
}

char *storage_resolve(Storage *storage, const char *pfs_path, const StorageAccess *access, bool make_dirs,
                      GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        g_autoptr(GError) failure = NULL;
        fd_auto int fd = -1;
        char *real;

        if (!place_open(&place, storage, pfs_path, access,
                        access->write || make_dirs ? PLACE_WRITE : PLACE_READ, error))
                return NULL;
        fd = resolve_fd(&place, make_dirs, &failure);
        if (failure) {
                g_propagate_error(error, g_steal_pointer(&failure));
                return NULL;
        }
        if (fd < 0)
                return path_to_be(storage, &place, error);
        real = fd_path(fd);
        if (!real)
                place_error(&place, error, errno, "open");
        return real;
}

int storage_open_file(Storage *storage, const char *pfs_path, const StorageAccess *access, GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        fd_auto int fd = -1;
        struct stat st;

        if (!place_open(&place, storage, pfs_path, access, PLACE_READ, error))
                return -1;
        fd = open_beneath(place.fd, place.below, O_RDONLY | O_NONBLOCK, 0);
        if (fd < 0 || fstat(fd, &st) < 0)
                place_error(&place, error, errno, "open");
        else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                err_set(error, ERR_INVALID, "'%s' is neither file nor directory", place.shown);
        else if (!place_may_read(&place, &st))
                place_error(&place, error, EXDEV, "open");
        else
                return fd_steal(&fd);
        return -1;
}
