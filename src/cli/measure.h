/* Measures a directory before it is packed: counts the files that the ignore rules include, without reading
 * contents, and stops if there are far too many. So a job that is submitted from $HOME by mistake is refused
 * immediately, not after hashing everything. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "package/ignore.h"

enum { MEASURE_LARGEST = 5, MEASURE_LEFT_OUT = 10 };

typedef enum {
        FOUND_FILE = 1,
        FOUND_PROGRAM, /* a file that its owner can execute */
        FOUND_LINK,
        FOUND_DIRECTORY,
} Found;

typedef struct {
        guint64 files, bytes;
        bool cut; /* stopped at the limit: the true numbers are higher */
        struct {
                char *path;
                guint64 bytes;
        } largest[MEASURE_LARGEST]; /* by size; path NULL: there are fewer */
        GHashTable *paths;          /* char * -> Found: the content of the package, relative to its
                                       directory */
        GPtrArray *left_out;        /* char *: the outermost excluded entries, at most MEASURE_LEFT_OUT;
                                       directories end in a slash */
        guint64 n_left_out;         /* total number of them */
        guint64 foreign_files, foreign_bytes; /* the part of these that `paddle download` wrote */
        char *secret; /* the first of these that is never sent (package/ignore.h); or NULL */
} Measure;

void measure_clear(Measure *measure);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Measure, measure_clear)

/* With `rules` and those of the directory's files. Stops above `max_files`. Ignores entries that cannot be
 * read; the packer reports them. */
bool measure_directory(const char *dir, IgnoreRules *rules, guint64 max_files, Measure *ret, GError **error);

/* "120.0 MiB in 3200 files" and one line for each of the largest; the caller's. */
char *measure_format(const Measure *measure);
