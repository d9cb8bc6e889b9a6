/* How big a directory is before it is packed: counts what the ignore rules let in, without reading contents,
 * and stops when it is far too much. So a job submitted from $HOME by mistake is refused in a moment, not
 * after hashing everything. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { MEASURE_LARGEST = 5 };

typedef struct {
        guint64 files, bytes;
        bool cut; /* stopped at the limit: the true numbers are higher */
        struct {
                char *path;
                guint64 bytes;
        } largest[MEASURE_LARGEST]; /* by size; path NULL where there are fewer */
} Measure;

void measure_clear(Measure *measure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Measure, measure_clear)

/* Stops above `max_files`. Entries that cannot be read are left to the packer, which names them. */
bool measure_directory(const char *dir, guint64 max_files, Measure *ret, GError **error);

/* "120.0 MiB in 3200 files" and one line for each of the largest; the caller's. */
char *measure_format(const Measure *measure);
