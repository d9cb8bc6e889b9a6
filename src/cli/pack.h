/* Packing a directory and sending what the server lacks of it (package/package.h, doc/guide/rest.md). */
#pragma once

#include "cli/cli.h"
#include "cli/measure.h"

/* Before any request: what the package will hold; *ret is the caller's to clear. ERR_USAGE refuses "/" and
 * the user's home, and what is over 2 GiB or 100,000 files (unless `allow_large`); above 50 MiB it warns with
 * size and the largest files. */
bool pack_check(const Cli *cli, const char *dir, bool allow_large, Measure *ret, GError **error);

/* Sends the package, of which pack_check() gave the measure, and puts its hash and name into the
 * specification.
 */
bool pack_send(Cli *cli, const char *dir, const Measure *measure, json_t *spec, GError **error);
