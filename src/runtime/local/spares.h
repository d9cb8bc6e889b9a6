/* Empty directories for reuse: `dir`/<number>. When many inodes were just deleted, ext4 takes long to find a
 * free one. A work directory that is renamed from job to job needs neither a deletion nor a search. Any
 * thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Spares Spares;

Spares *spares_open(const char *dir, GError **error); /* adopts those of an earlier run */
void spares_close(Spares *spares);

/* Renames a spare directory to `path`, whose parent exists. False if there is none, or the rename failed
 * (errno). */
bool spares_take(Spares *spares, const char *path);
/* Takes the directory `path` if it is empty and owned by the server. False if it is not, or if there are
 * enough. */
bool spares_give(Spares *spares, const char *path);
