/* The rights of a Unix user, for the file access of one thread (setfsuid(2)).
 *
 * The server is root and opens files for its users. While a thread has a user's rights, the kernel checks each of its
 * accesses as if the user made it: user, groups, and no capability. Files that it creates belong to the user. Other
 * threads keep theirs.
 *
 *     if (!unix_rights_take(rights, &kept, error))
 *             return false;
 *     fd = openat(...);
 *     unix_rights_restore(&kept);
 *
 * As a side effect the kernel writes no core dump of the process from then on. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct {
        uid_t uid;
        gid_t gid;
        gid_t *groups; /* supplementary ones */
        guint n_groups;
} UnixRights;

void unix_rights_clear(UnixRights *rights);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(UnixRights, unix_rights_clear)
/* A copy; the groups are copied. */
UnixRights unix_rights_copy(const UnixRights *rights);

/* What the thread had before. */
typedef struct {
        bool taken;
        UnixRights rights;
        guint32 capabilities[2]; /* the effective ones */
} UnixRightsKept;

/* The calling thread gets the rights. NULL: it keeps the server's. Between this and unix_rights_restore only file access
 * belongs. ERR_DENIED: the server is not root, and the rights are another user's. */
bool unix_rights_take(const UnixRights *rights, UnixRightsKept *kept, GError **error);
/* The calling thread gets back what it had; errno stays. Ends the process if the kernel refuses that. */
void unix_rights_restore(UnixRightsKept *kept);
