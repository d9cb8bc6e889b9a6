/* Upload of a file or a directory (see upload.h). First a walk finds the total size, then the files are sent
 * one by one. A file of one chunk is sent directly; for a larger one the server is first asked for chunks of
 * an earlier attempt. */
#include "storage/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/keyed-hash.h"
#include "storage/hash.h"
#include "storage/path.h"
#include "storage/transfer.h"

typedef struct {
        Transfer transfer;
        GPtrArray *items;   /* Item * */
        GPtrArray *dirs;    /* char *: remote directories to create */
        GHashTable *remote; /* path -> guint64 *, sizes of files on the server */
} Upload;

/* The walk */

static bool add_file(Upload *upload, const char *local, const char *remote, const struct stat *st)
{
        Item *item = g_new0(Item, 1);
        const guint64 *size = g_hash_table_lookup(upload->remote, remote);

        item->local = g_strdup(local);
        item->remote = g_strdup(remote);
        item->size = (guint64)st->st_size;
        item->equal_size = size && *size == item->size;
        upload->transfer.progress.bytes += item->size;
        upload->transfer.progress.files++;
        g_ptr_array_add(upload->items, item);
        return true;
}

static bool walk(Upload *upload, const char *local, const char *remote, GError **error);

static bool walk_name(Upload *upload, const char *dir, const char *remote_dir, const char *name,
                      GError **error)
{
        g_autofree char *local = g_build_filename(dir, name, NULL),
                        *remote = g_strconcat(remote_dir, "/", name, NULL);
        struct stat st, target;

        if (!path_part_check(name, error))
                return err_prefix(error, "in '%s': ", dir);
        if (lstat(local, &st) < 0)
                return err_set_errno(error, errno, "cannot read '%s'", local);
        if (S_ISLNK(st.st_mode)) {
                if (stat(local, &target) < 0)
                        return err_set_errno(error, errno, "cannot follow link '%s'", local);
                if (S_ISDIR(target.st_mode))
                        return err_set(error, ERR_INVALID,
                                       "'%s' is a link to a directory; only links to files are "
                                       "followed\nUpload that "
                                       "directory by itself.",
                                       local);
                st = target;
        }
        if (S_ISREG(st.st_mode))
                return add_file(upload, local, remote, &st);
        if (!S_ISDIR(st.st_mode))
                return err_set(error, ERR_INVALID, "'%s' is neither file nor directory", local);
        return walk(upload, local, remote, error);
}

static gint by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool walk(Upload *upload, const char *local, const char *remote, GError **error)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        DIR *stream = opendir(local);

        if (!stream)
                return err_set_errno(error, errno, "cannot open directory '%s'", local);
        for (struct dirent *entry; (entry = readdir(stream));)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        g_ptr_array_add(names, g_strdup(entry->d_name));
        closedir(stream);
        if (names->len == 0) /* the first file of a directory creates it */
                g_ptr_array_add(upload->dirs, g_strdup(remote));
        g_ptr_array_sort(names, by_name);
        for (guint i = 0; i < names->len; i++)
                if (!walk_name(upload, local, remote, names->pdata[i], error))
                        return false;
        return true;
}

/* Lists what the server has already; a missing directory is fine. */
static bool list_remote(Upload *upload, const char *remote, GError **error)
{
        g_autoptr(GError) failure = NULL;
        g_autoptr(json_t) reply = upload->transfer.ops->list(upload->transfer.arg, remote, &failure);
        gsize i;
        json_t *item;

        if (!reply && err_is(failure, ERR_NOT_FOUND))
                return true;
        if (!reply) {
                g_propagate_error(error, g_steal_pointer(&failure));
                return false;
        }
        json_array_foreach(json_object_get(reply, "items"), i, item) {
                const char *path = json_string_value(json_object_get(item, "path"));
                guint64 size = (guint64)json_integer_value(json_object_get(item, "size"));

                if (path && !json_is_true(json_object_get(item, "dir")))
                        g_hash_table_insert(upload->remote, g_strdup(path), g_memdup2(&size, sizeof size));
        }
        return true;
}

/* One file */

/* The server's list of chunks, or NULL. */
static json_t *remote_chunks(const Upload *upload, const Item *item, bool unfinished, GError **error)
{
        g_autoptr(GError) failure = NULL;
        json_t *reply =
                upload->transfer.ops->chunks(upload->transfer.arg, item->remote, unfinished, &failure);

        if (!reply && !err_is(failure, ERR_NOT_FOUND))
                g_propagate_error(error, g_steal_pointer(&failure));
        return reply;
}

static bool read_failed(const Item *item, GError **error)
{
        if (errno == 0)
                return err_set(
                        error, ERR_CONFLICT,
                        "'%s' has become shorter while it was read\nTry again when nothing writes to it.",
                        item->local);
        return err_set_errno(error, errno, "cannot read '%s'", item->local);
}

static bool has_chunk(const json_t *reply, guint64 index, const char *hash)
{
        const json_t *chunks = json_object_get(reply, "chunks");

        return g_strcmp0(json_string_value(json_array_get(chunks, index)), hash) == 0;
}

/* Sends the chunks that neither `unfinished` (of an earlier upload) nor `present` (of the existing file) has
 * at that position, and collects all hashes. Both may be NULL. */
static bool put_chunks(Upload *upload, const Item *item, int fd, const json_t *unfinished,
                       const json_t *present, json_t *hashes, GError **error)
{
        Transfer *transfer = &upload->transfer;
        guint64 count = chunk_count(item->size);

        for (guint64 i = 0; i < count; i++) {
                gsize len = chunk_len(item->size, i);
                char hash[HASH_LEN + 1];
                bool arrived;

                if (!chunk_read(transfer, fd, item->size, i, hash))
                        return read_failed(item, error);
                arrived = has_chunk(unfinished, i, hash) || has_chunk(present, i, hash);
                if (!arrived && !transfer->ops->put_chunk(transfer->arg, item->remote, i, hash,
                                                          transfer->buffer, len, error))
                        return false;
                json_array_append_new(hashes, json_string(hash));
                transfer_report(transfer, item->local, len, arrived ? 0 : len, 0);
        }
        return true;
}

static bool upload_file(Upload *upload, const Item *item, GError **error)
{
        fd_auto int fd = open(item->local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        g_autoptr(json_t) hashes = json_array();
        g_autoptr(json_t) unfinished = NULL;
        g_autoptr(json_t) present = NULL;
        GError *failure = NULL;

        if (fd < 0)
                return err_set_errno(error, errno, "cannot open '%s'", item->local);
        if (item->equal_size)
                present = remote_chunks(upload, item, false, &failure);
        if (present && chunks_equal(&upload->transfer, fd, item->size, json_object_get(present, "chunks"))) {
                transfer_report(&upload->transfer, item->local, item->size, 0, 1);
                return true;
        }
        if (!failure && chunk_count(item->size) > 1)
                unfinished = remote_chunks(upload, item, true, &failure);
        if (failure) {
                g_propagate_error(error, failure);
                return false;
        }
        if (!put_chunks(upload, item, fd, unfinished, present, hashes, error) ||
            !upload->transfer.ops->finish(upload->transfer.arg, item->remote, item->size, hashes, error))
                return false;
        transfer_report(&upload->transfer, item->local, 0, 0, 1);
        return true;
}

static bool upload_all(Upload *upload, GError **error)
{
        for (guint i = 0; i < upload->dirs->len; i++)
                if (!upload->transfer.ops->make_dir(upload->transfer.arg, upload->dirs->pdata[i], error))
                        return false;
        for (guint i = 0; i < upload->items->len; i++) {
                const Item *item = upload->items->pdata[i];

                if (!upload_file(upload, item, error))
                        return err_prefix(error, "upload of '%s': ", item->local);
        }
        return true;
}

static bool find_all(Upload *upload, const char *local, const char *remote, GError **error)
{
        g_autofree char *name = last_name(local);
        g_autofree char *bare = without_slashes(remote);
        g_autofree char *target =
                g_str_has_suffix(remote, "/") ? g_strconcat(bare, "/", name, NULL) : g_strdup(bare);
        struct stat st;

        if (stat(local, &st) < 0)
                return err_set_errno(error, errno, "cannot read '%s'", local);
        if (g_str_has_suffix(remote, "/") && !path_part_check(name, error))
                return err_prefix(error, "'%s' has no name of its own: ", local);
        if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                return err_set(error, ERR_INVALID, "'%s' is neither file nor directory", local);
        if (!list_remote(upload, target, error))
                return false;
        return S_ISREG(st.st_mode) ? add_file(upload, local, target, &st)
                                   : walk(upload, local, target, error);
}

bool upload_path(const char *local, const char *remote, const TransferOps *ops, void *arg,
                 TransferReport report, void *report_arg, GError **error)
{
        g_autofree char *buffer = g_malloc(STORAGE_CHUNK);
        g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)item_free);
        g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GHashTable) sizes = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        Upload upload = {
                .transfer = { .ops = ops,
                              .arg = arg,
                              .report = report,
                              .report_arg = report_arg,
                              .buffer = buffer },
                .items = items,
                .dirs = dirs,
                .remote = sizes,
        };

        return find_all(&upload, local, remote, error) && upload_all(&upload, error);
}
