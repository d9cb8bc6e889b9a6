/* The client's side of moving files: upload and download of files and directory trees in checked chunks. What is asked of the server goes through tables of functions, so there is no HTTP here.
 * Everything may break off at any point: the same call later goes on where it was. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "storage/storage.h"

/* One connection's calls, as doc/guide/rest.md has them under /v1/files. `remote` is a /pfs path. */
typedef struct {
        /* {"size","chunks":[hash or null...]} of a file, or with `upload` of its unfinished upload. NULL with
         * ERR_NOT_FOUND when there is none. */
        json_t *(*chunks)(void *arg, const char *remote, bool upload, GError **error);
        bool (*put_chunk)(void *arg, const char *remote, guint64 index, const char *hash, const void *data,
                          gsize len, GError **error);
        bool (*finish)(void *arg, const char *remote, guint64 size, const json_t *chunks, GError **error);
        bool (*make_dir)(void *arg, const char *remote, GError **error);
        /* {"items":[{"path","dir","size"}...]}: a file is itself, a directory all that is below it. NULL with
         * ERR_NOT_FOUND. */
        json_t *(*list)(void *arg, const char *remote, GError **error);
        /* Exactly `len` bytes at `offset`. */
        bool (*read)(void *arg, const char *remote, guint64 offset, gsize len, void *data, GError **error);
} TransferOps;

/* Called after each chunk. Bytes that needed no sending (they are there already) count as done. */
typedef struct {
        const char *path; /* what is being moved */
        guint64 bytes_done, bytes, bytes_sent;
        guint files_done, files;
} TransferProgress;
typedef void (*TransferReport)(const TransferProgress *progress, void *arg);

/* A file becomes the file `remote`, a directory's content the content of directory `remote`; with a slash at
 * its end, `remote` is the directory to put it into under its own name. Links to files are followed; links to
 * directories, sockets and the like are refused. What is equal at the other side is not sent. */
bool upload_path(const char *local, const char *remote, const TransferOps *ops, void *arg,
                 TransferReport report, void *report_arg, GError **error);

/* The other way. When `local` ends in a slash or (for a file) is a directory, the file or directory goes into
 * it under its own name. A file grows as `<name>.part` and replaces what is there only when it is whole; an
 * equal file stays as it is. */
bool download_path(const char *remote, const char *local, const TransferOps *ops, void *arg,
                   TransferReport report, void *report_arg, GError **error);
