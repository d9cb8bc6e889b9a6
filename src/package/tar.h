/* Tar archives of trees that are to be unpacked elsewhere: the same bytes for the same content, everything
 * owned by root. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* A file with this text. */
typedef struct {
        const char *name, *text;
} TarText;

/* Writes the file `path` (replaced; readable by its owner alone) with the contents of the directory `tree`
 * under the name `below` ("work"), and the `texts`, which end with a NULL name. `tree`, `texts`: or NULL.
 * `gzip`: compressed. May take long. */
bool tar_write(const char *path, const char *tree, const char *below, const TarText *texts, bool gzip,
               GError **error);
