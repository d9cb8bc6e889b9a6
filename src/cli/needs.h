/* The Python packages that a directory requires, read before it is sent, by the same rules as on the server
 * (package/requirements.h), so that an error is reported with its file and line. */
#pragma once

#include "cli/cli.h"
#include "cli/measure.h"

/* *ret: the requirements, NULL for none; the caller's. Warns of a file that is not read although the user may
 * expect it. ERR_USAGE. */
bool needs_read(const Cli *cli, const char *dir, const Measure *measure, char **ret, GError **error);

/* The file of the directory with its requirements, "requirements.txt"; NULL: there is none. */
const char *needs_file(const Measure *measure);
