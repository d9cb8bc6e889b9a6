/* What a file, or a directory with all below it, is like: its newest time, or a digest of its content. */
#pragma once

#include "fs/vfs.h"

typedef struct {
        Vfs *vfs;
        bool content;             /* a digest; false: the newest time */
        bool (*go_on)(void *arg); /* called for each file, and for each part of a long one; false: give up */
        void *arg;
} TreeSum;

/* Of paths that are joined by commas: "1764230000123456789", ns since 1970, of the newest time; or 64 hex digits. "": there
 * are no paths. Links inside a directory are not followed into other directories. ERR_NOT_FOUND and others of vfs_stat and
 * vfs_list; ERR_TOO_LARGE: a directory with more than 1,000,000 entries, or more than 200 levels. The caller's. */
char *tree_sum(const TreeSum *sum, const char *paths, GError **error);
