/* The rights of a Unix user for one thread (see unix-rights.h). setfsuid alone is not enough: the supplementary groups
 * would be the server's, and of its capabilities the kernel takes away only those for files. With CAP_SYS_PTRACE, for
 * example, a thread may read what /proc tells about the processes of others. */
#include "fs/unix-rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

void unix_rights_clear(UnixRights *rights)
{
        g_clear_pointer(&rights->groups, g_free);
        rights->n_groups = 0;
}

UnixRights unix_rights_copy(const UnixRights *rights)
{
        UnixRights copy = *rights;

        copy.groups = g_memdup2(rights->groups, rights->n_groups * sizeof(gid_t));
        return copy;
}

/* setgroups of glibc changes all threads. */
static bool set_groups(const gid_t *groups, gsize n)
{
        return syscall(SYS_setgroups, n, groups) == 0;
}

/* setfsuid and setfsgid report no failure; a second call tells who the thread is now. */
static bool set_ids(uid_t uid, gid_t gid)
{
        setfsgid(gid);
        setfsuid(uid);
        if ((gid_t)setfsgid((gid_t)-1) == gid && (uid_t)setfsuid((uid_t)-1) == uid)
                return true;
        errno = EPERM;
        return false;
}

G_STATIC_ASSERT(_LINUX_CAPABILITY_U32S_3 == G_N_ELEMENTS(((UnixRightsKept *)NULL)->capabilities));

/* The effective capabilities of the thread. */
static bool get_capabilities(guint32 ret[2])
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

        if (syscall(SYS_capget, &header, data) < 0)
                return false;
        for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
                ret[i] = data[i].effective;
        return true;
}

static bool set_capabilities(const guint32 effective[2])
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

        if (syscall(SYS_capget, &header, data) < 0)
                return false;
        for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
                data[i].effective = effective[i];
        return syscall(SYS_capset, &header, data) == 0;
}

static bool keep_groups(UnixRights *ret)
{
        int n = getgroups(0, NULL);

        if (n < 0)
                return false;
        ret->groups = g_new(gid_t, n + 1);
        n = getgroups(n, ret->groups);
        ret->n_groups = (guint)MAX(n, 0);
        return n >= 0;
}

static bool give(const UnixRights *rights)
{
        static const guint32 none[2];

        /* The groups first: setting them needs a capability. */
        return set_groups(rights->groups, rights->n_groups) && set_ids(rights->uid, rights->gid) &&
               set_capabilities(none);
}

bool unix_rights_take(const UnixRights *rights, UnixRightsKept *kept, GError **error)
{
        int err;

        *kept = (UnixRightsKept){ .rights = { .uid = geteuid(), .gid = getegid() } };
        if (!rights || (kept->rights.uid != 0 && rights->uid == kept->rights.uid))
                return true;
        if (kept->rights.uid != 0)
                return err_set(
                        error, ERR_DENIED,
                        "this server does not run as root, so it can use files of its own Unix user only");
        if (!get_capabilities(kept->capabilities) || !keep_groups(&kept->rights)) {
                err = errno;
        } else {
                kept->taken = true;
                if (give(rights))
                        return true;
                err = errno;
                unix_rights_restore(kept);
        }
        return err_set_errno(error, err, "cannot take the rights of the Unix user %u", (guint)rights->uid);
}

void unix_rights_restore(UnixRightsKept *kept)
{
        int err = errno;

        if (kept->taken &&
            !(set_capabilities(kept->capabilities) && set_ids(kept->rights.uid, kept->rights.gid) &&
              set_groups(kept->rights.groups, kept->rights.n_groups) && set_capabilities(kept->capabilities)))
                g_error("a thread cannot get the server's rights back: %s", g_strerror(errno));
        unix_rights_clear(&kept->rights);
        kept->taken = false;
        errno = err;
}
