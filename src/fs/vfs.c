/* What all drivers have in common (see vfs.h): paths, the rights of the user, and read-only file systems. */
#include "fs/vfs.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "fs/local.h"

static const VfsOps *const drivers[FILESYSTEM_TYPES] = {
        [FILESYSTEM_LOCAL] = &local_ops,
        [FILESYSTEM_MOCK] = &local_ops,
        [FILESYSTEM_HOMES] = &local_ops,
};

/* ---- before and after each call ---- */

static char *normal_path(const Vfs *vfs, const char *path, GError **error)
{
        char *normal = file_path_inside(path);
        g_autofree char *shown = NULL;

        if (normal)
                return normal;
        shown = err_shown(path);
        err_set(error, ERR_INVALID, "file system '%s': '%.200s' leaves it", vfs->name, shown);
        return NULL;
}

/* The same for a call that changes something. */
static char *path_to_change(const Vfs *vfs, const char *path, GError **error)
{
        if (!vfs->read_only)
                return normal_path(vfs, path, error);
        err_set(error, ERR_DENIED,
                "file system '%s' is read-only\nChange it: `paddle fs set %s --no-read-only`.", vfs->name,
                vfs->name);
        return NULL;
}

#define WITH_RIGHTS(vfs, error, otherwise, call)                                                             \
        ({                                                                                                   \
                UnixRightsKept kept_;                                                                        \
                typeof(call) result_ = otherwise;                                                            \
                if (unix_rights_take((vfs)->rights, &kept_, error)) {                                        \
                        result_ = (call);                                                                    \
                        unix_rights_restore(&kept_);                                                         \
                }                                                                                            \
                result_;                                                                                     \
        })

/* ---- opening ---- */

Vfs *vfs_open(const FilesystemPlace *place, const UnixRights *rights, GError **error)
{
        g_autoptr(Vfs) vfs = g_new0(Vfs, 1);

        vfs->name = g_strdup(place->name);
        vfs->user = g_strdup(place->user);
        vfs->root = g_strdup(place->root);
        vfs->read_only = place->read_only;
        if (rights) {
                vfs->rights = g_new(UnixRights, 1);
                *vfs->rights = unix_rights_copy(rights);
        }
        if (!drivers[place->type]) {
                (void)filesystem_type_check(place->type, error);
                return NULL;
        }
        vfs->ops = drivers[place->type];
        return WITH_RIGHTS(vfs, error, false, vfs->ops->open(vfs, error)) ? g_steal_pointer(&vfs) : NULL;
}

void vfs_close(Vfs *vfs)
{
        if (!vfs)
                return;
        if (vfs->ops)
                vfs->ops->close(vfs);
        if (vfs->rights)
                unix_rights_clear(vfs->rights);
        g_free(vfs->rights);
        g_free(vfs->name);
        g_free(vfs->user);
        g_free(vfs->root);
        g_free(vfs);
}

/* ---- calls ---- */

bool vfs_stat(Vfs *vfs, const char *path, VfsStat *ret, GError **error)
{
        g_autofree char *normal = normal_path(vfs, path, error);

        return normal && WITH_RIGHTS(vfs, error, false, vfs->ops->stat(vfs, normal, ret, error));
}

bool vfs_look(Vfs *vfs, const char *path, VfsStat *ret, GError **error)
{
        g_autofree char *normal = normal_path(vfs, path, error);

        return normal && WITH_RIGHTS(vfs, error, false, vfs->ops->look(vfs, normal, ret, error));
}

char *vfs_read_link(Vfs *vfs, const char *path, GError **error)
{
        g_autofree char *normal = normal_path(vfs, path, error);

        return normal ? WITH_RIGHTS(vfs, error, NULL, vfs->ops->read_link(vfs, normal, error)) : NULL;
}

bool vfs_scan(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        g_autofree char *normal = normal_path(vfs, path, error);

        return normal && WITH_RIGHTS(vfs, error, false, vfs->ops->scan(vfs, normal, take, arg, error));
}

bool vfs_exists(Vfs *vfs, const char *path, bool *ret, GError **error)
{
        GError *why = NULL;
        VfsStat stat;

        *ret = vfs_stat(vfs, path, &stat, &why);
        if (!why)
                return true;
        if (err_is(why, ERR_NOT_FOUND)) {
                g_error_free(why);
                return true;
        }
        g_propagate_error(error, why);
        return false;
}

char *vfs_read(Vfs *vfs, const char *path, gsize max, gsize *ret_len, GError **error)
{
        g_autofree char *normal = normal_path(vfs, path, error);

        return normal ? WITH_RIGHTS(vfs, error, NULL, vfs->ops->read(vfs, normal, max, ret_len, error))
                      : NULL;
}

bool vfs_write(Vfs *vfs, const char *path, const void *data, gsize len, GError **error)
{
        g_autofree char *normal = path_to_change(vfs, path, error);

        return normal && WITH_RIGHTS(vfs, error, false, vfs->ops->write(vfs, normal, data, len, error));
}

char **vfs_list(Vfs *vfs, const char *path, guint max, GError **error)
{
        g_autofree char *normal = normal_path(vfs, path, error);

        return normal ? WITH_RIGHTS(vfs, error, NULL, vfs->ops->list(vfs, normal, max, error)) : NULL;
}

bool vfs_make_dirs(Vfs *vfs, const char *path, GError **error)
{
        g_autofree char *normal = path_to_change(vfs, path, error);

        return normal && WITH_RIGHTS(vfs, error, false, vfs->ops->make_dirs(vfs, normal, error));
}

bool vfs_make_parents(Vfs *vfs, const char *path, GError **error)
{
        g_autofree char *normal = path_to_change(vfs, path, error);
        char *slash = normal ? strrchr(normal, '/') : NULL;

        if (slash)
                *slash = '\0';
        return normal && (!slash || vfs_make_dirs(vfs, normal, error));
}

bool vfs_remove(Vfs *vfs, const char *path, GError **error)
{
        g_autofree char *normal = path_to_change(vfs, path, error);

        if (normal && !*normal)
                return err_set(error, ERR_INVALID, "file system '%s': its root cannot be removed", vfs->name);
        return normal && WITH_RIGHTS(vfs, error, false, vfs->ops->remove(vfs, normal, error));
}
