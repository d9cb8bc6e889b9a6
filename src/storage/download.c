/* Download of a file or a directory (see upload.h). The server's names are not trusted: each must be below
 * the requested path, without parts that lead elsewhere. A file is written as "<name>.part". Chunks of an
 * earlier attempt are kept if their hashes match. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "storage/disk.h"
#include "storage/hash.h"
#include "storage/path.h"
#include "storage/transfer.h"

typedef struct {
        Transfer transfer;
        GPtrArray *items; /* Item * */
        GPtrArray *dirs;  /* char *: local directories to create */
} Download;

/* Listing */

static bool add_item(Download *download, const char *remote, const char *local, const json_t *item,
                     GError **error)
{
        const char *path = json_string_value(json_object_get(item, "path"));
        gsize len = strlen(remote);
        g_autofree char *target = NULL;
        Item *file;

        if (!path || !g_str_has_prefix(path, remote) || (path[len] && path[len] != '/'))
                return err_set(error, ERR_FAILED, "the server lists '%s', which is not in '%s'",
                               path ? path : "", remote);
        if (path[len] && !path_check(path + len + 1, error))
                return err_prefix(error, "the server lists ");
        target = path[len] ? g_build_filename(local, path + len + 1, NULL) : g_strdup(local);
        if (json_is_true(json_object_get(item, "dir"))) {
                g_ptr_array_add(download->dirs, g_steal_pointer(&target));
                return true;
        }
        file = g_new0(Item, 1);
        file->remote = g_strdup(path);
        file->local = g_steal_pointer(&target);
        file->size = (guint64)MAX(json_integer_value(json_object_get(item, "size")), 0);
        download->transfer.progress.bytes += file->size;
        download->transfer.progress.files++;
        g_ptr_array_add(download->items, file);
        return true;
}

static bool is_single_file(const json_t *items, const char *remote)
{
        return json_array_size(items) == 1 &&
               g_strcmp0(json_string_value(json_object_get(json_array_get(items, 0), "path")), remote) == 0;
}

/* The local path: `local` itself, or the remote name within it. */
static char *local_target(const char *remote, const char *local, bool single)
{
        g_autofree char *name = last_name(remote);
        bool into = g_str_has_suffix(local, "/") || (single && g_file_test(local, G_FILE_TEST_IS_DIR));

        return into ? g_build_filename(local, name, NULL) : g_strdup(local);
}

static bool find_all(Download *download, const char *remote, const char *local, GError **error)
{
        g_autofree char *bare = without_slashes(remote);
        g_autoptr(json_t) reply = download->transfer.ops->list(download->transfer.arg, bare, error);
        json_t *items = json_object_get(reply, "items"), *item;
        g_autofree char *target = local_target(bare, local, is_single_file(items, bare));
        gsize i;

        if (!reply)
                return false;
        if (!is_single_file(items, bare))
                g_ptr_array_add(download->dirs, g_strdup(target));
        json_array_foreach(items, i, item)
                if (!add_item(download, bare, target, item, error))
                        return false;
        return true;
}

/* One file */

static bool fetch_chunk(Download *download, const Item *item, int fd, guint64 size, guint64 index,
                        const char *wanted, GError **error)
{
        Transfer *transfer = &download->transfer;
        gsize len = chunk_len(size, index);
        char hash[HASH_LEN + 1];

        if (chunk_read(transfer, fd, size, index, hash) && strcmp(hash, wanted) == 0) {
                transfer_report(transfer, item->local, len, 0, 0);
                return true;
        }
        if (!transfer->ops->read(transfer->arg, item->remote, index * STORAGE_CHUNK, len, transfer->buffer,
                                 error))
                return false;
        hash_bytes(transfer->buffer, len, hash);
        if (strcmp(hash, wanted) != 0)
                return err_set(
                        error, ERR_CONFLICT,
                        "'%s' changed while it was read, or was damaged on the way\nTry again: correct parts are kept.",
                        item->remote);
        if (!write_at(fd, transfer->buffer, len, index * STORAGE_CHUNK))
                return disk_error(error, errno, "write", item->local);
        transfer_report(transfer, item->local, len, len, 0);
        return true;
}

static bool fetch_chunks(Download *download, const Item *item, int fd, guint64 size, const json_t *chunks,
                         GError **error)
{
        guint64 count = chunk_count(size);

        if (json_array_size(chunks) != count)
                return err_set(error, ERR_FAILED,
                               "the server gives %" G_GSIZE_FORMAT " chunks for %" G_GUINT64_FORMAT " bytes",
                               json_array_size(chunks), size);
        for (guint64 i = 0; i < count; i++) {
                const char *wanted = json_string_value(json_array_get(chunks, i));

                if (!wanted)
                        return err_set(error, ERR_FAILED,
                                       "the server gives no hash for chunk %" G_GUINT64_FORMAT, i);
                if (!fetch_chunk(download, item, fd, size, i, wanted, error))
                        return false;
        }
        return true;
}

static bool fetch_file(Download *download, const Item *item, guint64 size, const json_t *chunks,
                       GError **error)
{
        g_autofree char *part = g_strconcat(item->local, ".part", NULL);
        fd_auto int fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

        if (fd < 0)
                return disk_error(error, errno, "write", part);
        if (!fetch_chunks(download, item, fd, size, chunks, error))
                return false;
        if (ftruncate(fd, (off_t)size) < 0 || fsync(fd) < 0 || rename(part, item->local) < 0)
                return disk_error(error, errno, "write", item->local);
        return true;
}

static bool is_equal(Download *download, const Item *item, guint64 size, const json_t *chunks)
{
        fd_auto int fd = open(item->local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (guint64)st.st_size == size &&
               chunks_equal(&download->transfer, fd, size, chunks);
}

static bool download_file(Download *download, const Item *item, GError **error)
{
        Transfer *transfer = &download->transfer;
        g_autoptr(json_t) reply = transfer->ops->chunks(transfer->arg, item->remote, false, error);
        const json_t *chunks = json_object_get(reply, "chunks");
        gint64 size = 0;

        if (!reply || !json_get_int(reply, "", "size", 0, G_MAXINT64, &size, error))
                return false;
        transfer->progress.bytes += (guint64)size - item->size; /* it may have grown since the listing */
        if (is_equal(download, item, (guint64)size, chunks)) {
                transfer_report(transfer, item->local, (guint64)size, 0, 1);
                return true;
        }
        if (!fetch_file(download, item, (guint64)size, chunks, error))
                return false;
        transfer_report(transfer, item->local, 0, 0, 1);
        return true;
}

static bool download_all(Download *download, GError **error)
{
        for (guint i = 0; i < download->dirs->len; i++)
                if (!file_mkdirs(download->dirs->pdata[i], 0755, error))
                        return false;
        for (guint i = 0; i < download->items->len; i++) {
                const Item *item = download->items->pdata[i];
                g_autofree char *dir = g_path_get_dirname(item->local);

                if (!file_mkdirs(dir, 0755, error) || !download_file(download, item, error))
                        return err_prefix(error, "download of '%s': ", item->remote);
        }
        return true;
}

bool download_path(const char *remote, const char *local, const TransferOps *ops, void *arg,
                   TransferReport report, void *report_arg, GError **error)
{
        g_autofree char *buffer = g_malloc(STORAGE_CHUNK);
        g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)item_free);
        g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free);
        Download download = {
                .transfer = { .ops = ops,
                              .arg = arg,
                              .report = report,
                              .report_arg = report_arg,
                              .buffer = buffer },
                .items = items,
                .dirs = dirs,
        };

        return find_all(&download, remote, local, error) && download_all(&download, error);
}
