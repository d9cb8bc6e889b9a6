/* Many new contents at once (see store.h). */
#include "package/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "base/id.h"

bool staging_open(Staging *staging, PackageStore *store, GError **error)
{
        char id[ID_LEN + 1];

        id_new(id);
        *staging = (Staging){ .store = store, .name = g_strconcat("upload/staging.", id, NULL), .dir = -1 };
        staging->hashes = g_ptr_array_new_with_free_func(g_free);
        if (mkdirat(store->root, staging->name, 0700) == 0)
                staging->dir = openat(store->root, staging->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return staging->dir >= 0 ? true : disk_error(error, errno, "make directory", staging->name);
}

int staging_next(Staging *staging, GError **error)
{
        g_autofree char *name = g_strdup_printf("%u", staging->hashes->len);
        int fd = openat(staging->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);

        if (fd < 0)
                disk_error(error, errno, "write", staging->store->dir);
        return fd;
}

void staging_keep(Staging *staging, int *fd, const char *hash)
{
        struct stat st;

        if (fstat(*fd, &st) == 0)
                staging->bytes += MAX((gint64)st.st_blocks * 512, st.st_size);
        (void)fchmod(*fd, 0444); /* resets the umask's effect; if it fails, linking finds it */
        sync_set_add(&staging->sync, fd);
        g_ptr_array_add(staging->hashes, g_strdup(hash));
}

gint64 staging_bytes(const Staging *staging)
{
        return staging->bytes;
}

bool staging_finish(Staging *staging, GError **error)
{
        if (!sync_set_flush(&staging->sync, staging->dir))
                return disk_error(error, errno, "write", staging->store->dir);
        for (guint i = 0; i < staging->hashes->len; i++) {
                g_autofree char *from = g_strdup_printf("%u", i), *to = blob_name(staging->hashes->pdata[i]);

                if (utimensat(staging->store->root, to, NULL, AT_SYMLINK_NOFOLLOW) == 0)
                        continue; /* another client was faster; sending it again counts as a use */
                if (renameat(staging->dir, from, staging->store->root, to) < 0)
                        return disk_error(error, errno, "keep content", to);
        }
        return true;
}

void staging_clear(Staging *staging)
{
        if (!staging->store)
                return;
        cancel_end(); /* clean up even if the caller has given up */
        sync_set_clear(&staging->sync);
        fd_close_p(&staging->dir);
        if (staging->name) {
                g_autofree char *path = g_build_filename(staging->store->dir, staging->name, NULL);

                (void)file_remove_tree(path, NULL); /* else the next open removes it */
        }
        g_clear_pointer(&staging->name, g_free);
        g_clear_pointer(&staging->hashes, g_ptr_array_unref);
        staging->store = NULL;
}
