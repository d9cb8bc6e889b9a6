/* What a directory holds before it is packed, and how big that is: counts what the ignore rules let in,
 * without reading contents, and stops when it is far too much. So a job submitted from $HOME by mistake is
 * refused in a moment, not after hashing everything. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/ignore.h"

enum { MEASURE_LARGEST = 5, MEASURE_LEFT_OUT = 10 };

typedef enum {
        FOUND_FILE = 1,
        FOUND_PROGRAM, /* a file that its owner may execute */
        FOUND_LINK,
        FOUND_DIRECTORY,
} Found;

typedef struct {
        guint64 files, bytes;
        bool cut; /* stopped at the limit: the true numbers are higher */
        struct {
                char *path;
                guint64 bytes;
        } largest[MEASURE_LARGEST]; /* by size; path NULL where there are fewer */
        GHashTable *paths;          /* char * -> Found: what the package will hold, from its directory on */
        GPtrArray *left_out;        /* char *: the outermost that rules leave out, MEASURE_LEFT_OUT at most;
                                       directories end in a slash */
        guint64 n_left_out;         /* how many there are */
        guint64 foreign_files, foreign_bytes; /* of them: files that `paddle download` brought */
} Measure;

void measure_clear(Measure *measure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Measure, measure_clear)

/* By `rules` and those of the directory's files. Stops above `max_files`. Entries that cannot be read are
 * left to the packer, which names them. */
bool measure_directory(const char *dir, IgnoreRules *rules, guint64 max_files, Measure *ret, GError **error);

/* "120.0 MiB in 3200 files" and one line for each of the largest; the caller's. */
char *measure_format(const Measure *measure);
