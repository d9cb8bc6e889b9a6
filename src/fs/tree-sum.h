/* What a file, or a directory with all below it, is like: its newest time, or a digest of its content. */
#pragma once

#include "fs/vfs.h"

enum {
        TREE_ENTRIES_MAX = 1000 * 1000, /* files, directories and links */
        TREE_DEPTH_MAX = 200,           /* levels of directories */
        TREE_MS_MAX = 30 * 60 * 1000,   /* of work */
};
#define TREE_BYTES_MAX (256LL << 30) /* of contents: 256 GiB; holes of sparse files count */

/* What the sums that belong together may still take. Each call counts it down. */
typedef struct {
        gint64 bytes, entries, ms;
} TreeBudget;
#define TREE_BUDGET                                                                                          \
        {                                                                                                    \
                .bytes = TREE_BYTES_MAX, .entries = TREE_ENTRIES_MAX, .ms = TREE_MS_MAX                      \
        }

typedef struct {
        Vfs *vfs;
        bool content; /* a digest; false: the newest time */
        TreeBudget *budget;
} TreeSum;

/* Of paths that are joined by commas: "1764230000123456789", ns since 1970, of the newest time; or 64 hex digits. "": there
 * are no paths. Links inside a directory are not followed into other directories: the digest has the path that such a link, or
 * one that leads nowhere, names. The caller's.
 *
 * NULL without an error: it is not known, and *ret_why (the caller's) says why: "they have more than 256 GiB", "'a/b' changed
 * while it was read". `They` are the files. That is so above a limit, for what has no content (a FIFO, a socket, a device), and
 * for files that change meanwhile.
 *
 * Errors: ERR_NOT_FOUND and others of vfs_stat and vfs_list. The caller may end it by base/cancel.h, which is asked before
 * each entry and each part of a file: ERR_UNAVAILABLE. */
char *tree_sum(const TreeSum *sum, const char *paths, char **ret_why, GError **error);
