/* The name of an agent's cgroups (see cgroup-id.h): a hash of the directory's path, device and inode. */
#include "base/cgroup-id.h"

#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

char *cgroup_id_of(const char *dir)
{
        char *path = realpath(dir, NULL);
        struct stat status = { 0 };
        g_autofree char *text = NULL, *sum = NULL;

        (void)stat(dir, &status); /* a missing directory has an id as well */
        text = g_strdup_printf("%s %ju %ju", path ? path : dir, (uintmax_t)status.st_dev,
                               (uintmax_t)status.st_ino);
        sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
        free(path);
        return g_strndup(sum, 12);
}
