/* Mounts of a submission (see submission.h): --mount FS[/DIRECTORY]:PATH[:ro]. */
#include <string.h>

#include "base/err.h"
#include "cli/listing.h"
#include "cli/submission.h"

static bool refuse(const char *item, GError **error)
{
        g_autofree char *shown = err_shown(item);
        int len = (int)MIN(strcspn(shown, ":"), 200);

        if (*shown == '/')
                return err_set(error, ERR_USAGE,
                               "--mount: '%.*s' is a directory, not a name of a file system\n"
                               "Give it a name: `paddle fs create NAME %.*s`. Then write --mount NAME:PATH.",
                               len, shown, len, shown);
        if (*shown == '.')
                return err_set(error, ERR_USAGE,
                               "--mount: '%.*s' is a directory, not a name of a file system\n"
                               "Copy it to your home: `paddle upload %.*s DIRECTORY`. Then write --mount "
                               "home/DIRECTORY:PATH.",
                               len, shown, len, shown);
        return err_set(error, ERR_USAGE,
                       "--mount: '%.200s' is not FS[/DIRECTORY]:PATH[:ro]\n"
                       "For example `--mount home/digits:/data:ro`.",
                       shown);
}

/* The server checks names and paths. */
static json_t *mount_of(const char *item, GError **error)
{
        g_autoptr(json_t) whole = submission_text("--mount", item, error);
        g_auto(GStrv) parts = g_strsplit(item, ":", -1);
        guint n = g_strv_length(parts);
        char *slash = strchr(parts[0] ? parts[0] : "", '/');
        json_t *mount;

        if (!whole)
                return NULL;
        if (n < 2 || n > 3 || !*parts[0] || slash == parts[0] || *parts[0] == '.' || !*parts[1] ||
            (n == 3 && strcmp(parts[2], "ro") != 0 && strcmp(parts[2], "rw") != 0)) {
                refuse(item, error);
                return NULL;
        }
        if (slash)
                *slash = '\0';
        mount = json_pack("{s:s, s:s}", "fs", parts[0], "path", parts[1]);
        if (slash && slash[1])
                json_object_set_new(mount, "sub", json_string(slash + 1));
        if (n == 3 && strcmp(parts[2], "ro") == 0)
                json_object_set_new(mount, "read_only", json_true());
        return mount;
}

/* Removes the job file's mount at the same path. */
static void remove_path(json_t *mounts, const char *path)
{
        for (gsize i = json_array_size(mounts); i-- > 0;)
                if (strcmp(text_of(json_array_get(mounts, i), "path"), path) == 0)
                        json_array_remove(mounts, i);
}

bool submission_put_mounts(const Submission *s, json_t *spec, GError **error)
{
        json_t *list = json_object_get(spec, "mounts"), *own;
        gsize i;
        json_t *mount;

        if (!s->mounts || s->mounts->len == 0)
                return true;
        own = json_array();
        for (i = 0; i < s->mounts->len; i++) {
                mount = mount_of(s->mounts->pdata[i], error);
                if (!mount) {
                        json_decref(own);
                        return false;
                }
                json_array_append_new(own, mount);
        }
        if (!json_is_array(list)) {
                json_object_set_new(spec, "mounts", own);
                return true;
        }
        json_array_foreach(own, i, mount)
                remove_path(list, text_of(mount, "path"));
        json_array_extend(list, own);
        json_decref(own);
        return true;
}
