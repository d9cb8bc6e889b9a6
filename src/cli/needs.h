/* The Python packages that a directory asks for, before it is sent: what the server will read from the
 * package, read here by the same rules (package/requirements.h), so that a fault is known with its file and line.
 */
#pragma once

#include "cli/cli.h"
#include "cli/measure.h"

/* *ret: the requirements, NULL for none; the caller's. A file that a person may have meant, and that is not
 * read, is warned of. ERR_USAGE. */
bool needs_read(const Cli *cli, const char *dir, const Measure *measure, char **ret, GError **error);

/* The file of the directory that says what it asks for, "requirements.txt"; NULL: there is none. */
const char *needs_file(const Measure *measure);
