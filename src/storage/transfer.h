/* Internal to upload and download (upload.h): code that both share. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "storage/hash.h"
#include "storage/upload.h"

typedef struct {
        const TransferOps *ops;
        void *arg;
        TransferReport report;
        void *report_arg;
        TransferProgress progress;
        char *buffer; /* STORAGE_CHUNK bytes */
} Transfer;

/* One file to move. `equal_size`: the other side has a file of the same size. */
typedef struct {
        char *local, *remote;
        guint64 size;
        bool equal_size;
} Item;
void item_free(Item *item);

void transfer_report(Transfer *transfer, const char *path, guint64 bytes, guint64 sent, guint files);

/* The number of bytes of chunk `index` of a file of `size`. */
gsize chunk_len(guint64 size, guint64 index);
guint64 chunk_count(guint64 size);

/* Reads chunk `index` into the buffer and hashes it. False with errno if it cannot be read, with errno 0 if
 * the file is shorter. */
bool chunk_read(Transfer *transfer, int fd, guint64 size, guint64 index, char ret_hash[HASH_LEN + 1]);

/* True if the chunks of the file are exactly `chunks`. */
bool chunks_equal(Transfer *transfer, int fd, guint64 size, const json_t *chunks);

/* "b" of "/pfs/x/a/b/" or of a local path: its last name. without_slashes removes slashes at the
 * end. The caller's. */
char *last_name(const char *path);
char *without_slashes(const char *path);
