/* Mounts of requests (see job-mounts.h). */
#include "jobspec/job-mounts.h"

#define MOUNT_DIR "/home/paddleflow/storage/mnt"

char *job_mount_path(const char *user, const char *fs)
{
        return g_strdup_printf(MOUNT_DIR "/fs-%s-%s", user, fs);
}

static json_t *mount_format(const char *user, const JobMount *mount)
{
        g_autofree char *path = *mount->path ? g_strdup(mount->path) : job_mount_path(user, mount->fs);
        json_t *object = json_pack("{s:s, s:s}", "fs", mount->fs, "path", path);

        if (*mount->sub)
                json_object_set_new(object, "sub", json_string(mount->sub));
        if (mount->read_only)
                json_object_set_new(object, "read_only", json_true());
        return object;
}

static bool has_item(const json_t *list, const json_t *object)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                if (json_equal(item, object))
                        return true;
        }
        return false;
}

json_t *job_mounts_format(const char *user, const JobMount *mounts, guint n)
{
        json_t *list = json_array();

        for (guint i = 0; i < n; i++) {
                g_autoptr(json_t) object = mount_format(user, &mounts[i]);

                if (!has_item(list, object))
                        json_array_append(list, object);
        }
        return list;
}

char *job_command_in(const char *path, const char *command)
{
        g_autofree char *quoted = g_shell_quote(path);

        return g_strdup_printf("export PF_WORK_DIR=%s\ncd \"$PF_WORK_DIR\" || exit 1\n%s", quoted, command);
}

bool job_mount_is_work_dir(const char *variable)
{
        return g_ascii_strcasecmp(variable, "NONE") != 0;
}
