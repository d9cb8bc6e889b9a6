/* Packs a directory and sends what the server does not have (package/package.h, doc/guide/rest.md). */
#pragma once

#include "cli/cli.h"
#include "cli/measure.h"

/* Checks the content of the package before any request; the caller clears *ret. ERR_USAGE refuses "/" and the
 * user's home, and more than 2 GiB or 100,000 files (unless `allow_large`). Above 50 MiB it warns with size
 * and the largest files. */
bool pack_check(const Cli *cli, const char *dir, bool allow_large, Measure *ret, GError **error);

/* Sends the package that pack_check() measured, and puts its hash and name into the specification. */
bool pack_send(Cli *cli, const char *dir, const Measure *measure, json_t *spec, GError **error);
