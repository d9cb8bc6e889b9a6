/* Tar archives of trees, to be unpacked elsewhere: equal content gives equal bytes, and everything is owned
 * by root. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* A file with this text. */
typedef struct {
        const char *name, *text;
} TarText;

/* Writes the file `path` (replaced; readable only by its owner) with the contents of the directory `tree`
 * under the name `below` ("work"), and the `texts`, which end with a NULL name. `tree` and `texts` may be
 * NULL. `gzip`: compressed. May take long. */
bool tar_write(const char *path, const char *tree, const char *below, const TarText *texts, bool gzip,
               GError **error);
