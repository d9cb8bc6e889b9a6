/* Which files of a package a setup command names. A word of the command (between blanks, operators and
 * quotes) names the file or link with this path, seen from the package's directory, or the directory and all
 * files below it. So does what follows a "=" (CONFIG=a.ini) or the letter of an option (-Cops). A pattern
 * ("*.c" in src) names the directory before it. Words with "$" or "`", and paths that lead out of the
 * package, name nothing. Comments count: a command may name further files there. Pure. */
#pragma once

#include <glib.h>

#include "package/package.h"

/* `paths` (char *) in byte order, without directories that are not empty. The named ones of them, by index
 * (guint), in order; the caller's. */
GArray *setup_named(const char *command, const GPtrArray *paths);

/* Changes with every change of a file that is named: name, content, mode. NULL when none is; the caller's. */
char *setup_fingerprint(const char *command, const Manifest *manifest);
