/* The directory that is sent with a run (see run-package.h), as `paddle submit` sends one. */
#include "cli/run-package.h"

#include <string.h>

#include "base/err.h"
#include "cli/needs.h"
#include "cli/send-package.h"

/* The caller's; NULL: none. */
static char *directory_of(const RunDirectory *directory)
{
        if (directory->none)
                return NULL;
        if (directory->package_path)
                return g_strdup(directory->package_path);
        if (directory->unused || !directory->file || strcmp(directory->file, "-") == 0)
                return NULL;
        return g_path_get_dirname(directory->file);
}

bool run_package_check(const RunDirectory *directory, GError **error)
{
        if (directory->none && directory->package_path)
                return err_set(error, ERR_USAGE, "--package-path cannot be combined with --no-package");
        if (!directory->package_path || g_file_test(directory->package_path, G_FILE_TEST_IS_DIR))
                return true;
        return err_set(error, ERR_USAGE, "--package-path: '%s' %s", directory->package_path,
                       g_file_test(directory->package_path, G_FILE_TEST_EXISTS) ? "is not a directory"
                                                                                : "does not exist");
}

bool run_package_send(Cli *cli, const RunDirectory *directory, json_t *body, GError **error)
{
        g_autofree char *dir = directory_of(directory), *needs = NULL;
        g_auto(Measure) measure = { 0 };

        if (!run_package_check(directory, error))
                return false;
        if (!dir)
                return cli_client(cli, error) != NULL;
        if (!pack_check(cli, dir, directory->allow_large, &measure, error) ||
            !needs_read(cli, dir, &measure, &needs, error) || !cli_client(cli, error) ||
            !pack_send(cli, dir, &measure, body, error))
                return false;
        if (needs)
                json_object_set_new(body, "requirements", json_string(needs));
        return true;
}
