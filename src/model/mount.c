/* Mounts of a job (see mount.h). A specification keeps each as one text, "FS:SUB:PATH:ro" or "...:rw", because
 * a specification is one block of memory that holds lists of texts. So none of the parts may contain ':'. */
#include "model/mount.h"

#include <string.h>

#include "base/err.h"

typedef enum { PART_FS, PART_SUB, PART_PATH, PART_MODE, PARTS } Part;

/* Places that a mount could hide, or that programs look for settings, libraries and programs in. The rest of
 * the machine is protected where mounts are made: a mount point is a new or an empty directory. */
static const char *const closed[] = { "/bin",   "/boot",   "/dev", "/etc",  "/lib",  "/lib32",
                                      "/lib64", "/libx32", "/pfs", "/proc", "/root", "/run",
                                      "/sbin",  "/sys",    "/tmp", "/usr",  "/var",  NULL };

void mount_clear(Mount *mount)
{
        g_free(mount->fs);
        g_free(mount->sub);
        g_free(mount->path);
        *mount = (Mount){ 0 };
}

static bool check_fs(const char *where, const char *name, GError **error)
{
        size_t len = strlen(name);
        g_autofree char *shown = NULL;
        bool good = len >= 1 && len <= MOUNT_FS_MAX;

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || strchr("_-", *at);
        if (good)
                return true;
        shown = err_shown(name);
        return err_set(error, ERR_INVALID,
                       "%sfs: '%.80s' is not the name of a file system: 1 to %d letters, digits, '_' and '-'",
                       where, shown, MOUNT_FS_MAX);
}

/* ---- paths ---- */

static bool refuse(const char *where, const char *field, const char *path, const char *why, GError **error)
{
        g_autofree char *shown = err_shown(path);

        return err_set(error, ERR_INVALID, "%s%s: '%.200s' %s", where, field, shown, why);
}

static bool check_text(const char *where, const char *field, const char *path, GError **error)
{
        if (!g_utf8_validate(path, -1, NULL))
                return refuse(where, field, path, "is not UTF-8 text", error);
        for (const char *at = path; *at; at++)
                if (g_ascii_iscntrl(*at) || *at == ':')
                        return refuse(where, field, path,
                                      *at == ':' ? "contains ':', which a mount cannot have"
                                                 : "contains a control character",
                                      error);
        return true;
}

/* Without empty components and "."; the caller's. NULL with ERR_INVALID. */
static char *normal(const char *where, const char *field, const char *path, GError **error)
{
        g_auto(GStrv) parts = NULL;
        g_autoptr(GString) made = g_string_new(*path == '/' ? "/" : NULL);

        if (!check_text(where, field, path, error))
                return NULL;
        parts = g_strsplit(path, "/", -1);
        for (char **part = parts; *part; part++) {
                if (strcmp(*part, "..") == 0) {
                        refuse(where, field, path, "contains '..'", error);
                        return NULL;
                }
                if (!**part || strcmp(*part, ".") == 0)
                        continue;
                if (made->len > 0 && made->str[made->len - 1] != '/')
                        g_string_append_c(made, '/');
                g_string_append(made, *part);
        }
        return g_string_free(g_steal_pointer(&made), FALSE);
}

/* Both are normalized. */
static bool is_at_or_below(const char *path, const char *dir)
{
        size_t len = strlen(dir);

        return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool check_open(const char *where, const char *path, GError **error)
{
        if (!*path || strcmp(path, "/") == 0)
                return refuse(where, "path", *path ? path : ".",
                              "cannot be mounted on\n"
                              "Name a new directory, such as '/data', or 'data' in the working directory.",
                              error);
        for (const char *const *dir = closed; *dir; dir++)
                if (is_at_or_below(path, *dir))
                        return err_set(error, ERR_INVALID,
                                       "%spath: nothing can be mounted in '%s'\n"
                                       "Name a new directory, such as '/data', '/mnt/data', or 'data' in the "
                                       "working directory.",
                                       where, *dir);
        return true;
}

/* ---- one mount ---- */

static bool take_sub(const char *where, const char *sub, Mount *ret, GError **error)
{
        if (*sub == '/')
                return refuse(where, "sub", sub, "begins with '/'\nIt is a directory in the file system.",
                              error);
        ret->sub = normal(where, "sub", sub, error);
        return ret->sub != NULL;
}

static bool take_mount(const char *where, const json_t *object, Mount *ret, GError **error)
{
        static const char *const fields[] = { "fs", "sub", "path", "read_only", NULL };
        const char *fs = NULL, *sub = "", *path = NULL;

        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "%.*s must be an object of fs and path",
                               (int)strlen(where) - 1, where);
        if (!json_only(object, where, fields, error) ||
            !json_get_string(object, where, "fs", MOUNT_PATH_MAX, &fs, error) ||
            !json_get_string(object, where, "sub", MOUNT_PATH_MAX, &sub, error) ||
            !json_get_string(object, where, "path", MOUNT_PATH_MAX, &path, error) ||
            !json_get_bool(object, where, "read_only", &ret->read_only, error))
                return false;
        if (!fs || !path)
                return err_set(error, ERR_INVALID, "%s%s is missing", where, fs ? "path" : "fs");
        if (!check_fs(where, fs, error) || !take_sub(where, sub, ret, error))
                return false;
        ret->fs = g_strdup(fs);
        ret->path = normal(where, "path", path, error);
        return ret->path && check_open(where, ret->path, error);
}

static char *text_of(const Mount *mount)
{
        return g_strdup_printf("%s:%s:%s:%s", mount->fs, mount->sub, mount->path,
                               mount->read_only ? "ro" : "rw");
}

void mount_split(const char *text, Mount *ret)
{
        g_auto(GStrv) parts = g_strsplit(text, ":", PARTS);

        g_assert(g_strv_length(parts) == PARTS);
        *ret = (Mount){ g_steal_pointer(&parts[PART_FS]), g_steal_pointer(&parts[PART_SUB]),
                        g_steal_pointer(&parts[PART_PATH]), strcmp(parts[PART_MODE], "ro") == 0 };
        g_free(parts[PART_MODE]);
        parts[PART_MODE] = NULL;
}

/* ---- lists ---- */

static bool check_apart(const char *where, const Mount *mount, const GPtrArray *others, GError **error)
{
        for (guint i = 0; i < others->len; i++) {
                g_auto(Mount) other = { 0 };

                mount_split(others->pdata[i], &other);
                if (strcmp(mount->path, other.path) == 0)
                        return err_set(error, ERR_INVALID, "%spath: '%s' is the path of mounts[%u], too",
                                       where, mount->path, i);
                if (is_at_or_below(mount->path, other.path) || is_at_or_below(other.path, mount->path))
                        return err_set(error, ERR_INVALID,
                                       "%spath: '%s' and '%s' of mounts[%u] are one below the other\n"
                                       "Put them beside each other.",
                                       where, mount->path, other.path, i);
        }
        return true;
}

bool mounts_parse(const json_t *list, char ***ret, GError **error)
{
        g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
        gsize i;
        json_t *item;

        if (!json_is_array(list))
                return err_set(error, ERR_INVALID, "mounts must be a list of objects");
        if (json_array_size(list) > MOUNTS_MAX)
                return err_set(error, ERR_INVALID, "mounts: a job can have %d mounts, not %" G_GSIZE_FORMAT,
                               MOUNTS_MAX, json_array_size(list));
        json_array_foreach(list, i, item) {
                g_autofree char *where = g_strdup_printf("mounts[%" G_GSIZE_FORMAT "].", i);
                g_auto(Mount) mount = { 0 };

                if (!take_mount(where, item, &mount, error) || !check_apart(where, &mount, texts, error))
                        return false;
                g_ptr_array_add(texts, text_of(&mount));
        }
        *ret = NULL;
        if (texts->len > 0) {
                g_ptr_array_add(texts, NULL);
                *ret = (char **)g_ptr_array_steal(texts, NULL);
        }
        return true;
}

json_t *mounts_format(char *const *mounts)
{
        json_t *list = json_array();

        for (; *mounts; mounts++) {
                g_auto(Mount) mount = { 0 };
                json_t *object;

                mount_split(*mounts, &mount);
                object = json_pack("{s:s, s:s}", "fs", mount.fs, "path", mount.path);
                if (*mount.sub)
                        json_object_set_new(object, "sub", json_string(mount.sub));
                if (mount.read_only)
                        json_object_set_new(object, "read_only", json_true());
                json_array_append_new(list, object);
        }
        return list;
}
