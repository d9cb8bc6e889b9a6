/* Disk operations (see disk.h). */
#include "storage/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"

/* Without openat2: opens one component at a time, and follows no link. This is stricter than necessary, so
 * still safe. */
static int open_walking(int root, const char *path, int flags, mode_t mode)
{
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);
        fd_auto int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        for (char **part = parts; *part && at >= 0; part++) {
                int next;

                if (strcmp(*part, "..") == 0 || !**part) {
                        errno = EXDEV;
                        return -1;
                }
                if (!part[1])
                        return openat(at, *part, flags | O_NOFOLLOW, mode);
                next = openat(at, *part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (next < 0)
                        return -1;
                close(at);
                at = next;
        }
        return -1;
}

int open_beneath(int root, const char *path, int flags, mode_t mode)
{
        struct open_how how = {
                .flags = (guint64)(flags | O_CLOEXEC),
                .mode = flags & O_CREAT ? mode : 0,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
        };

        for (;;) {
                int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);

                if (fd >= 0)
                        return fd;
                if (errno == ENOSYS)
                        return open_walking(root, path, flags | O_CLOEXEC, mode);
                if (errno != EAGAIN && errno != EINTR) /* EAGAIN: a concurrent rename and ".." */
                        return -1;
        }
}

enum { RANGE = 64 << 20 }; /* bytes between two checks whether the caller has given up */

static gint64 copy_by_hand(int from, int to, gint64 len)
{
        enum { PIECE = 128 * 1024 };
        g_autofree char *buffer = g_malloc(PIECE);
        gint64 done = 0;

        while (len < 0 || done < len) {
                gsize want = len < 0 ? PIECE : (gsize)MIN(len - done, PIECE);
                ssize_t got = cancel_check() ? read(from, buffer, want) : -1;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -1;
                if (got == 0)
                        break;
                for (ssize_t put = 0; put < got;) {
                        ssize_t n = write(to, buffer + put, (gsize)(got - put));

                        if (n < 0 && errno != EINTR)
                                return -1;
                        put += MAX(n, 0);
                }
                done += got;
        }
        return done;
}

gint64 copy_bytes(int from, int to, gint64 len)
{
        gint64 done = 0, rest;

        while (len < 0 || done < len) {
                gsize most = len < 0 ? RANGE : MIN((gsize)(len - done), (gsize)RANGE);
                ssize_t got = cancel_check() ? copy_file_range(from, NULL, to, NULL, most, 0) : -1;

                if (got > 0) {
                        done += got;
                        continue;
                }
                if (got == 0)
                        break; /* end of file, or a file system such as proc: the manual copy below finds
                                  out */
                if (errno == EINTR)
                        continue;
                if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
                        return -1;
                break;
        }
        if (len >= 0 && done == len)
                return done;
        rest = copy_by_hand(from, to, len < 0 ? -1 : len - done);
        return rest < 0 ? -1 : done + rest;
}

gssize read_at(int fd, void *data, gsize len, guint64 offset)
{
        gsize done = 0;

        while (done < len) {
                ssize_t got = pread(fd, (char *)data + done, len - done, (off_t)(offset + done));

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -1;
                if (got == 0)
                        break;
                done += (gsize)got;
        }
        return (gssize)done;
}

bool write_at(int fd, const void *data, gsize len, guint64 offset)
{
        gsize done = 0;

        while (done < len) {
                ssize_t put = pwrite(fd, (const char *)data + done, len - done, (off_t)(offset + done));

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        return false;
                done += (gsize)put;
        }
        return true;
}

void sync_set_clear(SyncSet *set)
{
        int err = errno;

        for (guint i = 0; i < MIN(set->n, SYNC_FEW); i++)
                if (set->fds[i] >= 0)
                        close(set->fds[i]);
        set->n = 0;
        errno = err;
}

void sync_set_add(SyncSet *set, int *fd)
{
        int taken = fd_steal(fd);

        if (set->n < SYNC_FEW)
                set->fds[set->n] = taken;
        else
                close(taken); /* one syncfs covers all */
        set->n++;
}

bool sync_set_flush(SyncSet *set, int any_fd)
{
        bool ok = true;

        if (set->n > SYNC_FEW)
                ok = syncfs(any_fd) == 0;
        else
                for (guint i = 0; i < set->n && ok; i++)
                        ok = fsync(set->fds[i]) == 0;
        sync_set_clear(set);
        return ok;
}

bool disk_error(GError **error, int err, const char *what, const char *name)
{
        g_autofree char *shown = text_show(name);

        if (err == ENOSPC || err == EDQUOT)
                return err_set(
                        error, ERR_NO_SPACE,
                        "cannot %s '%s': %s\nFree some space on that disk, then do the same again: complete parts are kept.",
                        what, shown, g_strerror(err));
        return err_set_errno(error, err, "cannot %s '%s'", what, shown);
}

char *text_show(const char *text)
{
        GString *shown = g_string_new(NULL);

        while (*text) {
                gunichar c = g_utf8_get_char_validated(text, -1);

                if (c == (gunichar)-1 || c == (gunichar)-2 || unichar_is_control(c)) {
                        g_string_append_printf(shown, "\\x%02x", (unsigned char)*text++);
                        continue;
                }
                g_string_append_unichar(shown, c);
                text = g_utf8_next_char(text);
        }
        return g_string_free(shown, FALSE);
}
