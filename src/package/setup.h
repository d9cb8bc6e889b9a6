/* Finds the files of a package that a setup command names. A word of the command (between blanks, operators
 * and quotes) names the file or link with this path, relative to the package's directory, or the directory
 * and all files below it. The text after a "=" (CONFIG=a.ini) or the letter of an option (-Cops) does the
 * same. A pattern ("*.c" in src) names the directory before it. Words with "$" or "`", and paths that lead
 * out of the package, name nothing. Comments are included, so a command may name further files there.
 * Pure. */
#pragma once

#include <glib.h>

#include "package/package.h"

/* `paths` (char *) in byte order, without directories that are not empty. Returns the indices (guint) of the
 * named ones, in order; the caller's. */
GArray *setup_named(const char *command, const GPtrArray *paths);

/* Changes with every change of a named file: name, content, mode. NULL if none is named; the caller's. */
char *setup_fingerprint(const char *command, const Manifest *manifest);
