/* Project ids (see project-id.h). */
#include "base/project-id.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

bool project_id_get(int fd, uint32_t *ret_id, bool *ret_inherit)
{
        struct fsxattr about;

        if (ioctl(fd, FS_IOC_FSGETXATTR, &about) < 0)
                return false;
        *ret_id = about.fsx_projid;
        *ret_inherit = about.fsx_xflags & FS_XFLAG_PROJINHERIT;
        return true;
}

/* The call sets all attributes at once, so the others are read first. */
bool project_id_set(int fd, uint32_t id, bool inherit)
{
        struct fsxattr about;

        if (ioctl(fd, FS_IOC_FSGETXATTR, &about) < 0)
                return false;
        if (about.fsx_projid == id && !(about.fsx_xflags & FS_XFLAG_PROJINHERIT) == !inherit)
                return true;
        about.fsx_projid = id;
        about.fsx_xflags &= ~(uint32_t)FS_XFLAG_PROJINHERIT;
        about.fsx_xflags |= inherit ? FS_XFLAG_PROJINHERIT : 0;
        return ioctl(fd, FS_IOC_FSSETXATTR, &about) == 0;
}

bool project_id_follow(int fd, int dir)
{
        uint32_t id;
        bool inherit;
        struct stat st;

        if (!project_id_get(dir, &id, &inherit) || !inherit)
                return true;
        return fstat(fd, &st) == 0 && project_id_set(fd, id, S_ISDIR(st.st_mode));
}
