/* Requirements before they are sent (see needs.h). */
#include "cli/needs.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "package/requirements.h"

typedef struct {
        const char *dir;
        const Measure *measure;
} Package;

/* Ignored files are not in the package, whatever is on the disk. */
static char *read_file(const char *path, gsize max, void *arg, GError **error)
{
        const Package *package = arg;
        g_autofree char *file = g_build_filename(package->dir, path, NULL);
        g_autofree char *text = NULL;
        gsize len = 0;

        if (!g_hash_table_contains(package->measure->paths, path) || g_file_test(file, G_FILE_TEST_IS_DIR))
                return NULL;
        if (!file_read(file, max, &text, &len, error))
                return NULL;
        if (memchr(text, '\0', len) || !g_utf8_validate(text, (gssize)len, NULL)) {
                err_set(error, ERR_INVALID, "%s is not UTF-8 text", path);
                return NULL;
        }
        return g_steal_pointer(&text);
}

const char *needs_file(const Measure *measure)
{
        static const char *const files[] = { "requirements.txt", "requirments.txt", "uv.lock",
                                             "pyproject.toml" };

        for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
                if (g_hash_table_contains(measure->paths, files[i]))
                        return files[i];
        return NULL;
}

bool needs_read(const Cli *cli, const char *dir, const Measure *measure, char **ret, GError **error)
{
        Package package = { dir, measure };
        g_autoptr(GError) cause = NULL;
        g_autofree char *note = NULL;

        if (!requirements_gather(&(RequirementsFiles){ read_file, &package }, ret, &note, &cause))
                return err_set(error, ERR_USAGE, "%s", cause->message);
        if (note)
                cli_warn(cli, "%s", note);
        return true;
}
