/* Listing the storage (see storage.h): the contents of a directory, and their size. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "storage/disk.h"
#include "storage/internal.h"
#include "storage/weigh.h"

/* Listing */

enum { NAMES_MAX = 1000000 }; /* of one directory */

typedef struct {
        const Place *place;
        GPtrArray *entries;
        guint flags;
        int limit;
        int err; /* an errno: the listing failed */
} Listing;

void storage_entry_free(StorageEntry *entry)
{
        if (!entry)
                return;
        g_free(entry->path);
        g_free(entry);
}

/* `st`: of the target of the name; `mode`: of the name itself. */
static void add_entry(Listing *listing, const char *path, const struct stat *st, mode_t mode)
{
        StorageEntry *entry = g_new0(StorageEntry, 1);

        entry->path = g_strdup(path);
        entry->mode = mode;
        entry->is_dir = S_ISDIR(st->st_mode);
        entry->size = S_ISREG(st->st_mode) ? (guint64)st->st_size : 0;
        entry->mtime = file_mtime_ms(st);
        g_ptr_array_add(listing->entries, entry);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_name(const char *name)
{
        return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* NULL with errno; E2BIG if there are more than NAMES_MAX. */
static GPtrArray *sorted_names(int dir)
{
        g_autoptr(GPtrArray) names = NULL;
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = fd < 0 ? NULL : fdopendir(fd);

        if (!stream) {
                fd_close_p(&fd);
                return NULL;
        }
        names = g_ptr_array_new_with_free_func(g_free);
        for (struct dirent *entry; names->len <= NAMES_MAX && (entry = readdir(stream));)
                if (is_name(entry->d_name))
                        g_ptr_array_add(names, g_strdup(entry->d_name));
        closedir(stream);
        if (names->len > NAMES_MAX) {
                errno = E2BIG;
                return NULL;
        }
        g_ptr_array_sort(names, by_name);
        return g_steal_pointer(&names);
}

/* The target of `name`, following links inside the place, and the mode of the name itself. False if it is not
 * shown: links that lead outside or nowhere, sockets, devices, unless everything was requested. */
static bool entry_stat(const Listing *listing, int dir, const char *name, const char *below, struct stat *ret,
                       mode_t *ret_mode)
{
        fd_auto int fd = -1;
        struct stat led;

        if (fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        *ret_mode = ret->st_mode;
        if (S_ISLNK(ret->st_mode)) {
                fd = open_beneath(listing->place->fd, below, O_PATH, 0);
                if (fd >= 0 && fstat(fd, &led) == 0)
                        *ret = led;
        }
        return listing->flags & STORAGE_LIST_ALL || S_ISREG(ret->st_mode) || S_ISDIR(ret->st_mode);
}

static bool goes_on(Listing *listing)
{
        if (!listing->err && !cancel_check())
                listing->err = errno;
        return !listing->err && (int)listing->entries->len < listing->limit;
}

/* `below` is the directory's path below the place, "." for the place itself; `shown` is its /pfs path. Links
 * are listed, but not followed. */
static void list_dir(Listing *listing, const char *below, const char *shown)
{
        fd_auto int dir = open_beneath(listing->place->fd, below, O_RDONLY | O_DIRECTORY, 0);
        g_autoptr(GPtrArray) names = dir < 0 ? NULL : sorted_names(dir);

        if (dir >= 0 && !names)
                listing->err = errno;
        for (guint i = 0; names && i < names->len && goes_on(listing); i++) {
                const char *name = names->pdata[i];
                g_autofree char *path =
                        strcmp(below, ".") == 0 ? g_strdup(name) : g_strconcat(below, "/", name, NULL);
                g_autofree char *path_shown = g_strconcat(shown, "/", name, NULL);
                struct stat st;
                mode_t mode;

                if (!g_utf8_validate(name, -1, NULL) || !entry_stat(listing, dir, name, path, &st, &mode))
                        continue;
                add_entry(listing, path_shown, &st, mode);
                if (listing->flags & STORAGE_LIST_RECURSIVE && S_ISDIR(mode))
                        list_dir(listing, path, path_shown);
        }
}

/* The mode of the last name of the place, which may be a link. */
static bool own_mode(const Place *place, struct stat *ret, GError **error)
{
        const char *name;
        fd_auto int parent = -1;

        if (place_is_root(place))
                return fstat(place->fd, ret) == 0 || place_error(place, error, errno, "open");
        parent = place_parent(place, false, &name, error);
        return parent >= 0 && (fstatat(parent, name, ret, AT_SYMLINK_NOFOLLOW) == 0 ||
                               place_error(place, error, errno, "open"));
}

/* A link may lead nowhere: a user who wants to remove it must see it. */
static bool list_self(Listing *listing, GError **error)
{
        const Place *place = listing->place;
        fd_auto int fd = -1;
        struct stat st, own;

        if (!own_mode(place, &own, error))
                return false;
        st = own;
        if (S_ISLNK(own.st_mode)) {
                fd = open_beneath(place->fd, place->below, O_PATH, 0);
                if (fd >= 0 && fstat(fd, &st) < 0)
                        st = own;
        }
        add_entry(listing, place->shown, &st, own.st_mode);
        return true;
}

static bool list_what_is_there(Listing *listing, GError **error)
{
        const Place *place = listing->place;
        fd_auto int fd = open_beneath(place->fd, place->below, O_PATH, 0);
        struct stat st, own;

        if (fd < 0 || fstat(fd, &st) < 0)
                return place_error(place, error, errno, "open");
        if (S_ISDIR(st.st_mode)) {
                list_dir(listing, place->below, place->shown);
        } else if (listing->limit > 0) {
                if (!own_mode(place, &own, error))
                        return false;
                add_entry(listing, place->shown, &st, own.st_mode);
        }
        if (listing->err == E2BIG)
                return err_set(error, ERR_TOO_LARGE,
                               "'%s': a directory of it has more than %d entries, which are too many to list",
                               place->shown, NAMES_MAX);
        return !listing->err || place_error(place, error, listing->err, "list");
}

/* The first write creates a home. Until then it is listed as an empty directory. */
static void add_new_home(Listing *listing)
{
        const struct stat st = { .st_mode = S_IFDIR | 0700 };

        add_entry(listing, listing->place->shown, &st, st.st_mode);
}

GPtrArray *storage_list(Storage *storage, const char *pfs_path, const StorageAccess *access, guint flags,
                        int limit, GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func((GDestroyNotify)storage_entry_free);
        Listing listing = { .place = &place, .entries = entries, .flags = flags, .limit = limit };
        bool ok = true;

        if (!place_open(&place, storage, pfs_path, access, PLACE_READ, error))
                return NULL;
        if (place.fd < 0 && place_is_root(&place)) {
                if (flags & STORAGE_LIST_SELF)
                        add_new_home(&listing);
        } else {
                ok = flags & STORAGE_LIST_SELF ? list_self(&listing, error)
                                               : list_what_is_there(&listing, error);
        }
        return ok ? g_steal_pointer(&entries) : NULL;
}

/* Counting */

typedef struct {
        GPtrArray *parts; /* StorageCount, one per subdirectory; or NULL */
        int limit;        /* maximum number of parts */
        bool more;
        WeighHow how;
        StorageCount *now; /* the part that `count_one` adds to */
} Counting;

void storage_count_free(StorageCount *count)
{
        if (!count)
                return;
        g_free(count->path);
        g_free(count);
}

static StorageCount *count_new(const char *path, bool is_dir)
{
        StorageCount *count = g_new0(StorageCount, 1);

        count->path = g_strdup(path);
        count->is_dir = is_dir;
        return count;
}

static void count_one(const struct stat *st, void *arg)
{
        StorageCount *count = ((Counting *)arg)->now;

        count->bytes += (gint64)st->st_blocks * 512;
        count->size += S_ISREG(st->st_mode) ? (gint64)st->st_size : 0;
        count->dirs += S_ISDIR(st->st_mode);
        count->files += !S_ISDIR(st->st_mode);
}

static bool gave_up(void *arg)
{
        return !cancel_check();
}

static void count_sum(StorageCount *sum, const StorageCount *part)
{
        sum->bytes += part->bytes;
        sum->size += part->size;
        sum->files += part->files;
        sum->dirs += part->dirs;
}

/* Counts each name of the directory; each subdirectory becomes a part. False: the client is gone. */
static bool count_names(Counting *counting, int dir, StorageCount *sum)
{
        int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = again < 0 ? NULL : fdopendir(again);
        bool ok = stream;

        if (!stream)
                fd_close_p(&again);
        for (struct dirent *entry; ok && (entry = readdir(stream));) {
                g_autofree char *path = g_strconcat(sum->path, "/", entry->d_name, NULL);
                StorageCount *part;
                Weight weight = { 0 };

                if (!is_name(entry->d_name))
                        continue;
                counting->now = part = count_new(path, true);
                ok = cancel_check() && tree_weigh(dir, entry->d_name, &counting->how, &weight);
                count_sum(sum, part);
                if (part->dirs == 0 || !g_utf8_validate(path, -1, NULL)) {
                        storage_count_free(part);
                } else if ((int)counting->parts->len >= counting->limit) {
                        counting->more = true;
                        storage_count_free(part);
                } else {
                        g_ptr_array_add(counting->parts, part);
                }
        }
        if (stream)
                closedir(stream);
        return ok;
}

static gint by_path(gconstpointer a, gconstpointer b)
{
        return strcmp((*(StorageCount *const *)a)->path, (*(StorageCount *const *)b)->path);
}

/* Counts the open directory `at`, or the file `name` in it. */
static bool count_tree(Counting *counting, int at, const char *name, StorageCount *sum)
{
        Weight weight = { 0 };
        struct stat st;

        counting->now = sum;
        if (!sum->is_dir || !counting->parts)
                return tree_weigh(at, name, &counting->how, &weight);
        if (fstat(at, &st) < 0)
                return false;
        count_one(&st, counting);
        if (!count_names(counting, at, sum))
                return false;
        g_ptr_array_sort(counting->parts, by_path);
        return true;
}

StorageCount *storage_count_of(Storage *storage, const char *pfs_path, const StorageAccess *access,
                               GPtrArray *parts, int limit, bool *ret_more, GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        g_autoptr(GHashTable) seen = weigh_seen_new();
        Counting counting = { .parts = parts,
                              .limit = limit,
                              .how = { .seen = seen, .func = count_one, .stopped = gave_up } };
        StorageCount *sum;
        fd_auto int fd = -1;
        const char *name;
        struct stat st;

        counting.how.arg = &counting;
        if (!place_open(&place, storage, pfs_path, access, PLACE_READ, error))
                return NULL;
        if (place.fd < 0 && place_is_root(&place)) {
                *ret_more = false;
                return count_new(place.shown, true);
        }
        fd = open_beneath(place.fd, place.below, O_PATH | O_DIRECTORY, 0);
        sum = count_new(place.shown, fd >= 0);
        if (fd < 0) { /* a file or a dangling link: count the entry itself */
                fd = place_parent(&place, false, &name, error);
                if (fd < 0 || (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
                               !place_error(&place, error, errno, "open"))) {
                        storage_count_free(sum);
                        return NULL;
                }
        } else {
                name = ".";
        }
        if (!count_tree(&counting, fd, name, sum)) {
                place_error(&place, error, errno, "count");
                storage_count_free(sum);
                return NULL;
        }
        *ret_more = counting.more;
        return sum;
}
