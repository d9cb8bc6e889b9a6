/* Empty directories kept for the next to come: `dir`/<number>. While many inodes have just been deleted, ext4
 * looks long for a free one; a work directory that is renamed from job to job costs neither a deletion nor a
 * search. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Spares Spares;

Spares *spares_open(const char *dir, GError **error); /* takes over what an earlier run has left */
void spares_close(Spares *spares);

/* Puts a spare directory at `path`, whose parent exists. False when there is none, or the rename failed
 * (errno). */
bool spares_take(Spares *spares, const char *path);
/* Takes the directory `path` when it is empty and the server's. False: it is not, or enough are kept already.
 */
bool spares_give(Spares *spares, const char *path);
