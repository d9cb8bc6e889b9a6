/* The directories of jobs:
 *
 *     jobs/<xx>/<id>/<attempt>/work/       working directory of all members: the package's contents, writable
 *     jobs/<xx>/<id>/<attempt>/path/<name> link to ../work: the package under its own name
 *     jobs/<xx>/<id>/<attempt>/log/<role>-<index>
 *
 *     jobs/<xx>/<id>/<attempt>/ready/      where members who are somebody else say that they are ready
 *
 * `owner` NULL: all of it is the server's. Else `work`, `path` and `ready` are the owner's and shut for
 * others, and the way to them can be passed.
 *
 * <xx> is the beginning of the id. A `work` that exists is whole: a package is copied beside it and renamed.
 * Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/job-dir.h"
#include "runtime/local/spares.h"
#include "storage/ledger.h"
#include "storage/tree.h"

/* An empty `work`, taken from the spares when there is one, with as few system calls as can be. */
bool workdir_make_empty(const char *attempt_dir, Spares *spares, const Owner *owner, GError **error);
bool workdir_exists(const char *attempt_dir);
/* The directory of the attempt itself, with those above it. */
bool workdir_make_attempt(const char *attempt_dir, GError **error);
/* A writable copy of the tree `package` (NULL: empty), to be seen under `name`, with the tree `made` laid
 * over it, which the owner's programs have made (NULL: nothing). May take long, and be given up
 * (base/cancel.h). Takes up after a copy that was broken off. */
typedef struct {
        const char *package, *name, *made;
        Ledger *ledger; /* with `made`, as in package/overlay.h */
        const char *user;
} WorkdirSource;
bool workdir_make_copy(const char *attempt_dir, const WorkdirSource *source, const Owner *owner,
                       GError **error);
bool workdir_make_ready(const char *attempt_dir, const Owner *owner, GError **error);

/* Removes what is removed at once (an empty `work`); true when nothing is left for workdir_remove(). */
bool workdir_remove_empty(const char *attempt_dir, Spares *spares);
bool workdir_remove(const char *attempt_dir, GError **error);
