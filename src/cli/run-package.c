/* The directory that is sent with a run (see run-package.h), as `paddle submit` sends one. */
#include "cli/run-package.h"

#include <string.h>

#include "base/err.h"
#include "cli/needs.h"
#include "cli/program.h"
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

/* A file, which no other step can bring: each begins in a copy of the directory. */
static void warn_program(const Cli *cli, const Definition *definition, guint32 component, const char *dir,
                         const Measure *measure)
{
        g_autoptr(json_t) command =
                json_string(definition_text(definition, definition->components[component].command.text));
        g_auto(ProgramVerdict) fault = program_judge(command, measure->paths);
        g_autofree char *path = component_path(definition, component);

        if (fault.fault != PROGRAM_MISSING || strstr(fault.path, "{{"))
                return;
        cli_warn(cli, "step '%s' would fail: '%s' is not in the directory '%s', which is sent%s%s%s",
                 g_str_has_prefix(path, "entry_points.") ? path + strlen("entry_points.") : path, fault.path,
                 dir, fault.near ? "\nDid you mean '" : "", fault.near ? fault.near : "",
                 fault.near ? "'?" : "");
}

static void warn_programs(const Cli *cli, const RunDirectory *directory, const char *dir,
                          const Measure *measure)
{
        const Definition *definition = directory->definition;

        for (guint32 i = DEFINITION_FIRST; definition && !measure->cut && i < definition->n_components; i++) {
                const Component *at = &definition->components[i];
                const Extra *extra = component_extra(definition, i);

                if (!at->dag && !at->disabled && !extra->reference && !extra->package)
                        warn_program(cli, definition, i, dir, measure);
        }
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
            !needs_read(cli, dir, &measure, &needs, error) || !cli_client(cli, error))
                return false;
        warn_programs(cli, directory, dir, &measure);
        if (!pack_send(cli, dir, &measure, body, error))
                return false;
        if (needs)
                json_object_set_new(body, "requirements", json_string(needs));
        return true;
}
