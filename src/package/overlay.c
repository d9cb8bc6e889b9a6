/* Copies of untrusted trees (see overlay.h). Every entry is opened by name in an open directory, without
 * following links, and inspected through that descriptor. So a user who exchanges entries meanwhile only
 * changes which of the user's own files is copied. */
#include "package/overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "package/manifest.h"
#include "storage/disk.h"

typedef struct {
        const OverlayFor *whose;
        gint64 bytes, reserved; /* apparent size, and size on disk */
        guint files, reserved_files;
        GString *path; /* of the current entry, for messages and for links */
        int depth;
} Overlay;

static bool copy_entries(Overlay *overlay, int from, int to, GError **error);

static bool refuse(const Overlay *overlay, ErrCode code, const char *why, GError **error)
{
        g_autofree char *shown = text_show(overlay->path->str);

        return err_set(error, code, "'%s' %s", shown, why);
}

static bool fail(const Overlay *overlay, int err, const char *what, GError **error)
{
        return disk_error(error, err, what, overlay->path->str);
}

/* Removes an existing entry, unless it and its replacement are directories. */
static bool clear_way(const Overlay *overlay, int to, const char *name, bool directory, GError **error)
{
        FileRemoval removal = { 0 };
        struct stat st;

        if (fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT || fail(overlay, errno, "read", error);
        return (directory && S_ISDIR(st.st_mode)) || file_remove_tree_at(to, name, &removal, error);
}

static bool count(Overlay *overlay, gint64 bytes, gint64 on_disk, GError **error)
{
        if (++overlay->files > OVERLAY_FILES_MAX)
                return err_set(error, ERR_TOO_LARGE, "more than %d files", OVERLAY_FILES_MAX);
        if (bytes > OVERLAY_BYTES_MAX - overlay->bytes)
                return err_set(error, ERR_TOO_LARGE, "more than %d GiB", (int)(OVERLAY_BYTES_MAX >> 30));
        overlay->bytes += bytes;
        if (!ledger_reserve(overlay->whose->ledger, overlay->whose->user, on_disk, 1, error))
                return false;
        overlay->reserved += on_disk;
        overlay->reserved_files++;
        return true;
}

static bool check_owner(const Overlay *overlay, const struct stat *st, GError **error)
{
        return overlay->whose->owner == (uid_t)-1 || st->st_uid == overlay->whose->owner ||
               refuse(overlay, ERR_DENIED, "belongs to another user", error);
}

/* Seeks both to the next data of `from` at or after `at`, and returns the length of that piece. 0: no data
 * before `size`. -1 with errno. */
static gint64 next_data(int from, int to, gint64 at, gint64 size, gint64 *ret_at)
{
        off_t data = lseek(from, at, SEEK_DATA), end;

        *ret_at = size;
        if (data < 0)
                return errno == ENXIO ? 0 : -1;
        if (data >= size)
                return 0;
        end = lseek(from, data, SEEK_HOLE);
        if (end < 0)
                return errno == ENXIO ? 0 : -1; /* the file was truncated meanwhile */
        if (lseek(from, data, SEEK_SET) < 0 || lseek(to, data, SEEK_SET) < 0)
                return -1;
        *ret_at = data;
        return MIN(end, size) - data;
}

/* Keeps holes: otherwise root would write blocks that the user never had, without any quota. */
static bool copy_contents(int from, int to, gint64 size)
{
        gint64 len, at = 0;

        while ((len = next_data(from, to, at, size, &at)) > 0) {
                gint64 got = copy_bytes(from, to, len);

                if (got < 0)
                        return false;
                at += MAX(got, 1); /* the file was truncated meanwhile */
        }
        return len == 0 && ftruncate(to, size) == 0;
}

static gint64 on_disk(const struct stat *st)
{
        return MIN((gint64)st->st_blocks * 512, st->st_size);
}

/* Copies at most the counted size, even if the file grows. */
static bool copy_file(Overlay *overlay, int from, int to, const char *name, GError **error)
{
        fd_auto int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        fd_auto int copy = -1;
        struct stat st;

        if (source < 0 || fstat(source, &st) < 0)
                return fail(overlay, errno, "read", error);
        if (!S_ISREG(st.st_mode))
                return refuse(overlay, ERR_INVALID, "is neither file, link nor directory", error);
        if (!check_owner(overlay, &st, error) || !count(overlay, st.st_size, on_disk(&st), error) ||
            !clear_way(overlay, to, name, false, error))
                return false;
        copy = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      st.st_mode & 0111 ? 0755 : 0644);
        if (copy < 0 || !copy_contents(source, copy, st.st_size))
                return fail(overlay, errno, "copy", error);
        return true;
}

static bool copy_link(Overlay *overlay, int from, int to, const char *name, GError **error)
{
        char target[PACKAGE_PATH_MAX];
        ssize_t len = readlinkat(from, name, target, sizeof target - 1);

        if (len < 0)
                return fail(overlay, errno, "read", error);
        target[len] = '\0';
        if (!link_check(overlay->path->str, target, error) || !count(overlay, 0, 0, error) ||
            !clear_way(overlay, to, name, false, error))
                return false;
        return symlinkat(target, to, name) == 0 || fail(overlay, errno, "copy", error);
}

static bool copy_directory(Overlay *overlay, int from, int to, const char *name, GError **error)
{
        static const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        fd_auto int source = openat(from, name, flags), copy = -1;
        struct stat st;
        bool ok;

        if (source < 0 || fstat(source, &st) < 0)
                return fail(overlay, errno, "open directory", error);
        if (overlay->depth == OVERLAY_DEPTH_MAX)
                return err_set(error, ERR_TOO_LARGE, "more than %d levels of directories", OVERLAY_DEPTH_MAX);
        if (!check_owner(overlay, &st, error) || !count(overlay, 0, 0, error) ||
            !clear_way(overlay, to, name, true, error))
                return false;
        if ((mkdirat(to, name, 0755) < 0 && errno != EEXIST) || (copy = openat(to, name, flags)) < 0)
                return fail(overlay, errno, "make directory", error);
        overlay->depth++;
        ok = copy_entries(overlay, source, copy, error);
        overlay->depth--;
        return ok;
}

/* The entry's type may change after this check, so each of the three functions checks again. */
static bool copy_entry(Overlay *overlay, int from, int to, const char *name, GError **error)
{
        struct stat st;

        if (!cancel_check())
                return fail(overlay, errno, "copy", error);
        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return fail(overlay, errno, "read", error);
        if (S_ISDIR(st.st_mode))
                return copy_directory(overlay, from, to, name, error);
        return (S_ISLNK(st.st_mode) ? copy_link : copy_file)(overlay, from, to, name, error);
}

/* `from` remains the caller's. */
static bool copy_entries(Overlay *overlay, int from, int to, GError **error)
{
        int again = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = again < 0 ? NULL : fdopendir(again);
        gsize len = overlay->path->len;
        bool ok = true;

        if (!stream) {
                ok = fail(overlay, errno, "list", error);
                fd_close_p(&again);
                return ok;
        }
        for (struct dirent *entry; ok && (entry = readdir(stream));) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                g_string_append_printf(overlay->path, "%s%s", len ? "/" : "", entry->d_name);
                ok = copy_entry(overlay, from, to, entry->d_name, error);
                g_string_truncate(overlay->path, len);
        }
        closedir(stream);
        return ok;
}

bool overlay_copy(const char *made, const char *dest, const OverlayFor *whose, GError **error)
{
        fd_auto int from = open(made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fd_auto int to = open(dest, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        g_autoptr(GString) path = g_string_new(NULL);
        Overlay overlay = { .whose = whose, .path = path };
        struct stat st;
        bool ok;

        if (from < 0 && errno == ENOENT)
                return err_set(error, ERR_NOT_FOUND, "it no longer exists");
        if (from < 0 || fstat(from, &st) < 0)
                return disk_error(error, errno, "open directory", made);
        if (to < 0)
                return disk_error(error, errno, "open directory", dest);
        ok = check_owner(&overlay, &st, error) && copy_entries(&overlay, from, to, error);
        ledger_release(whose->ledger, whose->user, overlay.reserved, overlay.reserved_files);
        return ok;
}
