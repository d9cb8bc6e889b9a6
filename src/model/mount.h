/* Mounts of a job: directories of named file systems at places of the job's own (doc/guide/data.md). Pure: no
 * file is looked at here. Whether the file system exists, and what it is, the engine finds out. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum {
        MOUNTS_MAX = 32,       /* of a job */
        MOUNT_FS_MAX = 63,     /* bytes of the name of a file system */
        MOUNT_PATH_MAX = 1024, /* bytes of a path, and of a directory in a file system */
};

typedef struct {
        char *fs;   /* name of the file system: letters, digits, '_' and '-' */
        char *sub;  /* the directory in it, relative and normalized; "": its root */
        char *path; /* the place in the job, normalized: absolute, or relative to its working directory */
        bool read_only;
} Mount;

void mount_clear(Mount *mount);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Mount, mount_clear)

/* A list of {"fs", "sub"?, "path", "read_only"?} as texts of mount_split; NULL: the list is empty. ERR_INVALID
 * names item, value and rule: ".." and control characters are refused, two mounts may neither have the same
 * path nor be one below the other, and no path may be in a directory that holds the machine's programs,
 * settings or temporary files. *ret is the caller's (g_strfreev). */
bool mounts_parse(const json_t *list, char ***ret, GError **error);
json_t *mounts_format(char *const *mounts); /* the same list, normalized; `sub` and `read_only` only if set */

/* A text of mounts_parse; the caller's. */
void mount_split(const char *text, Mount *ret);
