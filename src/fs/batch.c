/* Many new contents at once (see store.h). */
#include "fs/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/id.h"

bool staging_open(Batch *batch, PackageStore *store, GError **error)
{
        char id[ID_LEN + 1];

        id_new(id);
        *batch = (Batch){ .store = store, .name = g_strconcat("upload/batch.", id, NULL), .dir = -1 };
        batch->hashes = g_ptr_array_new_with_free_func(g_free);
        if (mkdirat(store->root, batch->name, 0700) == 0)
                batch->dir = openat(store->root, batch->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return batch->dir >= 0 ? true : disk_error(error, errno, "make directory", batch->name);
}

int staging_next(Batch *batch, GError **error)
{
        g_autofree char *name = g_strdup_printf("%u", batch->hashes->len);
        int fd = openat(batch->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);

        if (fd < 0)
                disk_error(error, errno, "write", batch->store->dir);
        return fd;
}

void staging_keep(Batch *batch, int *fd, const char *hash)
{
        (void)fchmod(*fd, 0444); /* whatever the umask took; a content that is too private to read shows when
                                    it is linked */
        sync_set_add(&batch->sync, fd);
        g_ptr_array_add(batch->hashes, g_strdup(hash));
}

bool staging_finish(Batch *batch, GError **error)
{
        if (!sync_set_flush(&batch->sync, batch->dir))
                return disk_error(error, errno, "write", batch->store->dir);
        for (guint i = 0; i < batch->hashes->len; i++) {
                g_autofree char *from = g_strdup_printf("%u", i), *to = blob_name(batch->hashes->pdata[i]);

                if (faccessat(batch->store->root, to, F_OK, 0) == 0)
                        continue; /* another was faster */
                if (renameat(batch->dir, from, batch->store->root, to) < 0)
                        return disk_error(error, errno, "keep content", to);
        }
        return true;
}

void staging_clear(Batch *batch)
{
        if (!batch->store)
                return;
        sync_set_clear(&batch->sync);
        fd_close_p(&batch->dir);
        if (batch->name) {
                g_autofree char *path = g_build_filename(batch->store->dir, batch->name, NULL);

                (void)file_remove_tree(path, NULL); /* what stays is dropped by the next open */
        }
        g_clear_pointer(&batch->name, g_free);
        g_clear_pointer(&batch->hashes, g_ptr_array_unref);
        batch->store = NULL;
}
