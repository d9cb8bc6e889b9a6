/* The client's side of moving files: upload and download of files and directory trees in checked chunks.
 * Requests to the server go through tables of functions, so there is no HTTP here. A transfer may be
 * interrupted at any point: the same call later resumes it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "storage/storage.h"

/* One connection's calls, as doc/guide/rest.md has them under /v1/files. `remote` is a /pfs path. */
typedef struct {
        /* {"size","chunks":[hash or null...]} of a file, or with `upload` of its unfinished upload. NULL with
         * ERR_NOT_FOUND if there is none. */
        json_t *(*chunks)(void *arg, const char *remote, bool upload, GError **error);
        bool (*put_chunk)(void *arg, const char *remote, guint64 index, const char *hash, const void *data,
                          gsize len, GError **error);
        bool (*finish)(void *arg, const char *remote, guint64 size, const json_t *chunks, GError **error);
        bool (*make_dir)(void *arg, const char *remote, GError **error);
        /* {"items":[{"path","dir","size"}...]}: for a file itself, for a directory everything below it. NULL
         * with ERR_NOT_FOUND. */
        json_t *(*list)(void *arg, const char *remote, GError **error);
        /* Exactly `len` bytes at `offset`. */
        bool (*read)(void *arg, const char *remote, guint64 offset, gsize len, void *data, GError **error);
} TransferOps;

/* Called after each chunk. Bytes that are already on the other side count as done. */
typedef struct {
        const char *path; /* the file that is being moved */
        guint64 bytes_done, bytes, bytes_sent;
        guint files_done, files;
} TransferProgress;
typedef void (*TransferReport)(const TransferProgress *progress, void *arg);

/* A file becomes the file `remote`, a directory's content the content of directory `remote`. If `remote` ends
 * with a slash, it is the directory into which the file or directory is put under its own name. Links to
 * files are followed; links to directories, sockets and the like are refused. Files that are equal on the
 * other side are not sent. */
bool upload_path(const char *local, const char *remote, const TransferOps *ops, void *arg,
                 TransferReport report, void *report_arg, GError **error);

/* The other direction. If `local` ends in a slash or (for a file) is a directory, the file or directory is
 * put into it under its own name. A file grows as `<name>.part` and replaces an existing one only when it is
 * complete. An equal file stays unchanged. */
bool download_path(const char *remote, const char *local, const TransferOps *ops, void *arg,
                   TransferReport report, void *report_arg, GError **error);
