/* The client's own files (see own-files.h). */
#include "cli/own-files.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/discover.h"
#include "cli/embedded.h"

/* char *: all that there may be. */
static GPtrArray *own_files(void)
{
        GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *home = file_home();

        g_ptr_array_add(paths, embedded_home());
        g_ptr_array_add(paths, client_config_path());
        if (home) {
                g_ptr_array_add(paths, g_build_filename(home, ".paddle", NULL));
                g_ptr_array_add(paths, g_build_filename(home, ".paddleflow", NULL));
        }
        return paths;
}

/* The caller's (g_free); NULL: there is no such file. */
static char *real_path(const char *path)
{
        char *found = realpath(path, NULL), *real = g_strdup(found);

        free(found);
        return real;
}

/* `root` and `path` are real. */
static bool leave_out(IgnoreRules *rules, const char *root, const char *path, GError **error)
{
        g_autofree char *below = g_str_has_suffix(root, "/") ? g_strdup(root) : g_strconcat(root, "/", NULL);

        if (strcmp(root, path) == 0)
                return err_set(
                        error, ERR_USAGE,
                        "'%s' holds the tokens and databases of paddle, and is never sent\n"
                        "Go to the program's directory, name it with --package-path, or send none with "
                        "--no-package.",
                        path);
        if (g_str_has_prefix(path, below))
                ignore_add_secret(rules, path + strlen(below));
        return true;
}

bool own_files_leave_out(IgnoreRules *rules, const char *dir, GError **error)
{
        g_autoptr(GPtrArray) paths = own_files();
        g_autofree char *root = real_path(dir);

        for (guint i = 0; root && i < paths->len; i++) {
                g_autofree char *path = real_path(paths->pdata[i]);

                if (path && !leave_out(rules, root, path, error))
                        return false;
        }
        return true;
}
