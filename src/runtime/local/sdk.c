/* See sdk.h. Files are replaced one by one while jobs may read them; each is always complete. */
#include "runtime/local/sdk.h"

#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"

static bool is_there(const char *path, const SdkFile *file)
{
        g_autofree char *data = NULL;
        gsize size;

        return g_file_get_contents(path, &data, &size, NULL) && size == file->size &&
               memcmp(data, file->data, size) == 0;
}

/* Regardless of the server's umask. */
static bool open_to_all(const char *path, mode_t mode, GError **error)
{
        if (chmod(path, mode) < 0)
                return err_set_errno(error, errno, "cannot change the mode of '%s'", path);
        return true;
}

/* A package in the package has a directory of its own. */
static bool write_file(const char *dir, const SdkFile *file, GError **error)
{
        g_autofree char *path = g_build_filename(dir, file->name, NULL);
        g_autofree char *parent = g_path_get_dirname(path);

        return file_mkdirs(parent, 0755, error) && open_to_all(parent, 0755, error) &&
               (is_there(path, file) || file_replace(path, file->data, file->size, 0644, false, error)) &&
               open_to_all(path, 0644, error);
}

static bool write_all(const char *python, const char *package, GError **error)
{
        if (!file_mkdirs(package, 0755, error) || !open_to_all(python, 0755, error))
                return false;
        for (const SdkFile *file = sdk_files; file->name; file++)
                if (!write_file(package, file, error))
                        return false;
        return true;
}

char *sdk_write(const char *state_dir)
{
        g_autofree char *python = g_build_filename(state_dir, "python", NULL);
        g_autofree char *package = g_build_filename(python, "paddlecloud", NULL);
        g_autoptr(GError) error = NULL;

        if (write_all(python, package, &error))
                return g_steal_pointer(&python);
        log_warning("jobs cannot import paddlecloud: the Python SDK cannot be written", "error",
                    error->message, NULL);
        return NULL;
}
