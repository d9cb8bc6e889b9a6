/* Removing and moving in the storage (see storage.h). The directory stays open while a name in it changes,
 * and the name is never followed, so a link that a job exchanges meanwhile has no effect. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"
#include "base/project-id.h"
#include "storage/disk.h"
#include "storage/internal.h"
#include "storage/tree.h"
#include "storage/weigh.h"

static bool not_theirs(const Place *place, GError **error)
{
        return err_set(
                error, ERR_DENIED,
                "'%s' belongs to another user, and only administrators can remove or move files of others in public\nYou can do so with files that your own jobs have written there, and with all files in your home.",
                place->shown);
}

/* Removing */

void storage_gone_begin(Storage *storage, const char *name)
{
        pthread_mutex_lock(&storage->uploads_mutex);
        g_hash_table_add(storage->gone, (gpointer)name);
        pthread_mutex_unlock(&storage->uploads_mutex);
}

void storage_gone_end(Storage *storage, const char *name)
{
        pthread_mutex_lock(&storage->uploads_mutex);
        g_hash_table_remove(storage->gone, name);
        pthread_mutex_unlock(&storage->uploads_mutex);
}

static bool is_being_removed(Storage *storage, const char *name)
{
        bool found;

        pthread_mutex_lock(&storage->uploads_mutex);
        found = g_hash_table_contains(storage->gone, name);
        pthread_mutex_unlock(&storage->uploads_mutex);
        return found;
}

void storage_sweep(Storage *storage)
{
        g_autofree char *path = g_build_filename(storage->dir, storage->dc, ".upload", NULL);
        DIR *dir = opendir(path);

        if (!dir)
                return;
        for (struct dirent *entry; (entry = readdir(dir));) {
                g_autofree char *name = g_build_filename(path, entry->d_name, NULL);

                if (g_str_has_prefix(entry->d_name, "gone.") && !is_being_removed(storage, entry->d_name))
                        (void)file_remove_tree(name, NULL); /* else the next sweep retries it */
        }
        closedir(dir);
}

/* One rename hides the tree; after that its removal may take time, and no job can exchange a link in it. */
static bool remove_home_dir(Storage *storage, const Place *place, int parent, const char *name,
                            FileRemoval *removal, GError **error)
{
        char id[ID_LEN + 1];
        g_autofree char *gone = (id_new(id), g_strconcat("gone.", id, NULL));
        g_autofree char *path = g_strconcat(".upload/", gone, NULL);
        bool ok;

        storage_gone_begin(storage, gone);
        ok = renameat(parent, name, storage->root, path) == 0 || place_error(place, error, errno, "remove");
        ok = ok && file_remove_tree_at(storage->root, path, removal, error);
        storage_gone_end(storage, gone);
        return ok;
}

/* Removes entry by entry, without a rename first: entries of other users are only found on the way, and are
 * kept. */
static bool remove_own_dir(const Place *place, int parent, const char *name, FileRemoval *removal,
                           GError **error)
{
        if (!file_remove_tree_at(parent, name, removal, error))
                return err_prefix(error, "'%s': ", place->shown);
        if (removal->left == 0)
                return true;
        return err_set(
                error, ERR_DENIED,
                "'%s' was removed only in part: %" G_GUINT64_FORMAT
                " entries in it belong to other users\nTheir owners, or an administrator, can remove them. All other entries are deleted.",
                place->shown, removal->left);
}

static bool remove_name(Storage *storage, const Place *place, int parent, const char *name, bool recursive,
                        FileRemoval *removal, GError **error)
{
        switch (file_remove_at(parent, name, removal)) {
        case FILE_REMOVED: return true;
        case FILE_FOREIGN: return not_theirs(place, error);
        case FILE_FAILED: return place_error(place, error, errno, "remove");
        case FILE_NOT_EMPTY: break;
        }
        if (errno != ENOTEMPTY && errno != EEXIST)
                return place_error(place, error, errno, "remove");
        if (!recursive)
                return err_set(
                        error, ERR_CONFLICT,
                        "directory '%s' is not empty\nRemove it recursively, together with its contents.",
                        place->shown);
        return place->bound ? remove_own_dir(place, parent, name, removal, error)
                            : remove_home_dir(storage, place, parent, name, removal, error);
}

bool storage_remove(Storage *storage, const char *pfs_path, const StorageAccess *access, bool recursive,
                    GError **error)
{
        g_auto(Place) place = { .fd = -1 };
        FileRemoval removal = { 0 };
        fd_auto int parent = -1;
        const char *name;
        bool ok;

        if (!place_open(&place, storage, pfs_path, access, PLACE_TAKE, error))
                return false;
        if (place_is_root(&place))
                return err_set(error, ERR_DENIED,
                               "'%s' itself cannot be removed\nRemove its contents instead.", place.shown);
        parent = place_parent(&place, false, &name, error);
        if (parent < 0)
                return false;
        removal = (FileRemoval){ .bound = place.bound, .uid = place.taker.uid };
        ok = remove_name(storage, &place, parent, name, recursive, &removal, error);
        if (place_home(&place) || place.bound)
                ledger_add(storage->ledger, place.payer, place.bound ? DISK_PUBLIC : DISK_HOME,
                           -removal.bytes, -removal.files);
        projects_refresh(storage->projects, place.payer);
        return ok;
}

/* Moving */

typedef struct {
        Storage *storage;
        Place source, target;
        int from, to; /* the parent directories of the names */
        const char *name, *new_name;
        bool replace;
} Move;

static void move_clear(Move *move)
{
        fd_close_p(&move->from);
        fd_close_p(&move->to);
        place_clear(&move->source);
        place_clear(&move->target);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Move, move_clear)

static bool exists_already(const Move *move, GError **error)
{
        return err_set(
                error, ERR_EXISTS,
                "'%s' exists already, so '%s' was not moved\nChoose another name, or replace it with `paddle storage mv --force`.",
                move->target.shown, move->source.shown);
}

static bool move_error(const Move *move, int err, GError **error)
{
        const char *from = move->source.shown, *to = move->target.shown;

        switch (err) {
        case EEXIST:
                if (!move->replace)
                        return exists_already(move, error);
                G_GNUC_FALLTHROUGH;
        case ENOTEMPTY:
                return err_set(error, ERR_CONFLICT,
                               "'%s' is a directory that is not empty, so '%s' cannot take its place\nRemove "
                               "it first, or move into it.",
                               to, from);
        case EISDIR:
                return err_set(error, ERR_CONFLICT, "'%s' is a directory and cannot be replaced by a file",
                               to);
        case ENOTDIR:
                return err_set(error, ERR_CONFLICT, "'%s' is a file and cannot be replaced by a directory",
                               to);
        case EINVAL:
                return err_set(error, ERR_INVALID, "directory '%s' cannot be moved into itself, to '%s'",
                               from, to);
        case ENOENT: return place_error(&move->source, error, err, "move");
        case EXDEV: /* of a rename; not a link that leads outside */
                return err_set(error, ERR_CONFLICT,
                               "'%s' cannot be moved to '%s': the file system counts them for different "
                               "users\nDownload it and upload it there.",
                               from, to);
        default: return place_error(&move->target, error, err, "move to");
        }
}

/* Some file systems cannot refuse to replace (EINVAL): check before the rename. False with errno. */
static bool rename_it(const Move *move)
{
        struct stat st;

        if (move->replace)
                return renameat(move->from, move->name, move->to, move->new_name) == 0;
        if (renameat2(move->from, move->name, move->to, move->new_name, RENAME_NOREPLACE) == 0)
                return true;
        if (errno != EINVAL)
                return false;
        if (fstatat(move->to, move->new_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                errno = EEXIST;
                return false;
        }
        return renameat(move->from, move->name, move->to, move->new_name) == 0;
}

typedef struct {
        uint32_t id;
        bool inherit;
        uid_t owner;
} Label;

/* A file with other names may belong to another user: it is labelled only if the owner has it, as in
 * project.c. */
static void label_one(int dir, const char *name, const struct stat *seen, void *arg)
{
        const Label *label = arg;
        fd_auto int fd = -1;
        struct stat st;

        if (!S_ISREG(seen->st_mode) && !S_ISDIR(seen->st_mode))
                return;
        fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0 ||
            (!S_ISDIR(st.st_mode) && st.st_nlink > 1 && st.st_uid != label->owner))
                return;
        (void)project_id_set(fd, label->id,
                             label->inherit && S_ISDIR(st.st_mode)); /* the rename or a survey retries */
}

static bool gave_up(void *arg)
{
        return !cancel_check();
}

/* Gives the tree the project id that it would have if it had been created at its target. */
static bool follow_projects(const Move *move)
{
        Label label = { .owner = move->source.owner.uid };
        const WeighHow how = { .visit = label_one, .visit_arg = &label, .stopped = gave_up };
        Weight unused = { 0 };

        if (!project_id_get(move->to, &label.id, &label.inherit))
                return true;
        return tree_weigh(move->from, move->name, &how, &unused);
}

static bool rename_or_say(const Move *move, GError **error)
{
        bool ok = rename_it(move);

        if (!ok && errno == EXDEV && follow_projects(move))
                ok = rename_it(move);
        if (!ok)
                return move_error(move, errno, error);
        return fsync(move->to) == 0 || place_error(&move->target, error, errno, "move to");
}

typedef struct {
        uid_t uid;
        DiskAmount all, own; /* `own`: the part that belongs to `uid` */
} Load;

static void load_one(const struct stat *st, void *arg)
{
        Load *load = arg;
        gint64 bytes = (gint64)st->st_blocks * 512;

        load->all.bytes += bytes;
        load->all.files++;
        if (st->st_uid != load->uid)
                return;
        load->own.bytes += bytes;
        load->own.files++;
}

static bool weigh_load(const Move *move, Load *load, GError **error)
{
        const WeighHow how = { .func = load_one, .arg = load, .stopped = gave_up };
        Weight unused = { 0 };

        return tree_weigh(move->from, move->name, &how, &unused) ||
               place_error(&move->source, error, errno, "count");
}

/* The owner of the home at one end of the move. Files of this uid in public count to that user. */
static uid_t uid_of_home(const Move *move)
{
        return place_home(&move->target) ? move->target.owner.uid : move->source.owner.uid;
}

static bool check_load(const Move *move, const Load *load, GError **error)
{
        gint64 bytes = load->all.bytes, files = load->all.files;

        if (!place_home(&move->target))
                return true;
        if (!place_home(&move->source)) {
                bytes -= load->own.bytes;
                files -= load->own.files;
        }
        return (bytes <= 0 && files <= 0) ||
               ledger_check(move->storage->ledger, move->target.payer, bytes, files, error);
}

static void count_load(const Move *move, const Load *load)
{
        Ledger *ledger = move->storage->ledger;
        const char *source = place_home(&move->source), *target = place_home(&move->target);
        bool counted = load->uid != geteuid(); /* the server's own files in public count to no user */

        if (source)
                ledger_add(ledger, source, DISK_HOME, -load->all.bytes, -load->all.files);
        else if (counted)
                ledger_add(ledger, target, DISK_PUBLIC, -load->own.bytes, -load->own.files);
        if (target)
                ledger_add(ledger, target, DISK_HOME, load->all.bytes, load->all.files);
        else if (counted)
                ledger_add(ledger, source, DISK_PUBLIC, load->own.bytes, load->own.files);
        projects_refresh(move->storage->projects, source);
        projects_refresh(move->storage->projects, target);
}

/* Between two homes, or a home and public. A tree that moves into a home is given to its owner first; after
 * an interruption a retry starts again. */
static bool move_across(const Move *move, GError **error)
{
        Load load = { .uid = uid_of_home(move) };
        const Owner *owner = &move->target.owner;
        bool given = place_home(&move->target) && owner->uid != geteuid();

        if (!move->replace && faccessat(move->to, move->new_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
                return exists_already(move, error);
        if (!weigh_load(move, &load, error))
                return false;
        if (move->source.bound && load.own.files < load.all.files)
                return not_theirs(&move->source, error);
        if (!check_load(move, &load, error))
                return false;
        if (given && !move->source.bound && !tree_hand_over(move->from, move->name, owner, error))
                return err_prefix(error, "'%s': ", move->source.shown);
        if (!follow_projects(move))
                return place_error(&move->source, error, errno, "move");
        if (!rename_or_say(move, error))
                return false;
        count_load(move, &load);
        return true;
}

/* The size of the file that the rename would replace. */
static DiskAmount replaced_by(const Move *move)
{
        struct stat st;

        if (!move->replace || fstatat(move->to, move->new_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            (!S_ISDIR(st.st_mode) && st.st_nlink > 1))
                return (DiskAmount){ 0 };
        return (DiskAmount){ (gint64)st.st_blocks * 512, 1 };
}

static bool open_ends(Move *move, const char *from, const char *to, const StorageAccess *access,
                      GError **error)
{
        struct stat st;

        if (!place_open(&move->source, move->storage, from, access, PLACE_TAKE, error))
                return false;
        if (place_is_root(&move->source))
                return err_set(error, ERR_DENIED, "'%s' itself cannot be moved\nMove its contents instead.",
                               move->source.shown);
        if (!place_open(&move->target, move->storage, to, access, PLACE_WRITE, error))
                return false;
        if (place_is_root(&move->target))
                return exists_already(move, error);
        move->from = place_parent(&move->source, false, &move->name, error);
        if (move->from < 0)
                return false;
        if (fstatat(move->from, move->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return place_error(&move->source, error, errno, "move");
        if (move->source.bound && st.st_uid != move->source.taker.uid)
                return not_theirs(&move->source, error);
        move->to = place_parent_of_new(&move->target, &move->new_name, error);
        return move->to >= 0;
}

bool storage_move(Storage *storage, const char *from, const char *to, const StorageAccess *access,
                  bool replace, GError **error)
{
        g_auto(Move) move = { .storage = storage,
                              .source = { .fd = -1 },
                              .target = { .fd = -1 },
                              .from = -1,
                              .to = -1,
                              .replace = replace };
        DiskAmount replaced;

        if (!open_ends(&move, from, to, access, error))
                return false;
        replaced = replaced_by(&move);
        if (strcmp(move.source.root, move.target.root) == 0 ? !rename_or_say(&move, error)
                                                            : !move_across(&move, error))
                return false;
        if (place_home(&move.target))
                ledger_add(storage->ledger, move.target.payer, DISK_HOME, -replaced.bytes, -replaced.files);
        return true;
}
