/* The client's side of sending a package. Requests to the server go through a table of functions, as in
 * storage/upload.h. It may be interrupted at any point: the same call later resumes it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "package/package.h"
#include "storage/upload.h"

/* As /v1/packages. */
typedef struct {
        /* {"missing":[{"hash","have"}...],"ready":bool} */
        json_t *(*offer)(void *arg, const char *manifest, gsize len, GError **error);
        bool (*blobs)(void *arg, const void *data, gsize len,
                      GError **error); /* in the form of package_store_blobs_write */
        /* ERR_CONFLICT sets *ret_have to the number of bytes that the server has. */
        bool (*piece)(void *arg, const char *hash, guint64 offset, const void *data, gsize len, bool last,
                      guint64 *ret_have, GError **error);
        bool (*commit)(void *arg, const char *hash, GError **error);
} PackageOps;

enum {
        SEND_SMALL = 256 * 1024,     /* smaller contents are sent together, ... */
        SEND_BODY = 8 * 1024 * 1024, /* ... in bodies of at most this size; larger ones in pieces of this
                                        size */
};

/* Makes the package of `manifest`, which describes `dir`, known to the server: sends what it lacks.
 * ERR_CONFLICT if a file has changed since the manifest was made. */
bool package_send(const char *dir, const Manifest *manifest, const PackageOps *ops, void *arg,
                  TransferReport report, void *report_arg, GError **error);
