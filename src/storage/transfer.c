/* Shared code of upload and download (see transfer.h). */
#include "storage/transfer.h"

#include <errno.h>
#include <string.h>

#include "storage/disk.h"
#include "storage/hash.h"

void item_free(Item *item)
{
        if (!item)
                return;
        g_free(item->local);
        g_free(item->remote);
        g_free(item);
}

void transfer_report(Transfer *transfer, const char *path, guint64 bytes, guint64 sent, guint files)
{
        transfer->progress.path = path;
        transfer->progress.bytes_done += bytes;
        transfer->progress.bytes_sent += sent;
        transfer->progress.files_done += files;
        if (transfer->report)
                transfer->report(&transfer->progress, transfer->report_arg);
}

guint64 chunk_count(guint64 size)
{
        return size / STORAGE_CHUNK + (size % STORAGE_CHUNK != 0);
}

gsize chunk_len(guint64 size, guint64 index)
{
        return (gsize)MIN(size - index * STORAGE_CHUNK, (guint64)STORAGE_CHUNK);
}

bool chunk_read(Transfer *transfer, int fd, guint64 size, guint64 index, char ret_hash[HASH_LEN + 1])
{
        gsize len = chunk_len(size, index);
        gssize got = read_at(fd, transfer->buffer, len, index * STORAGE_CHUNK);

        if (got < 0)
                return false;
        if ((gsize)got < len) {
                errno = 0;
                return false;
        }
        hash_bytes(transfer->buffer, len, ret_hash);
        return true;
}

bool chunks_equal(Transfer *transfer, int fd, guint64 size, const json_t *chunks)
{
        guint64 count = chunk_count(size);

        if (json_array_size(chunks) != count)
                return false;
        for (guint64 i = 0; i < count; i++) {
                char hash[HASH_LEN + 1];

                if (!chunk_read(transfer, fd, size, i, hash) ||
                    g_strcmp0(hash, json_string_value(json_array_get(chunks, i))) != 0)
                        return false;
        }
        return true;
}

char *without_slashes(const char *path)
{
        gsize len = strlen(path);

        while (len > 1 && path[len - 1] == '/')
                len--;
        return g_strndup(path, len);
}

char *last_name(const char *path)
{
        g_autofree char *bare = without_slashes(path);
        const char *slash = strrchr(bare, '/');

        return g_strdup(slash ? slash + 1 : bare);
}
