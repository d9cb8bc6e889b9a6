/* The directories of jobs:
 *
 *     jobs/<xx>/<id>/<attempt>/work/       working directory of all members: the package's contents, writable
 *     jobs/<xx>/<id>/<attempt>/path/<name> link to ../work: the package under its own name
 *     jobs/<xx>/<id>/<attempt>/log/<role>-<index>
 *     jobs/<xx>/<id>/<attempt>/ready/      ready files of members that run as other users
 *
 * `owner` NULL: everything belongs to the server. Otherwise `work`, `path` and `ready` belong to the owner and
 * are private; the owner can pass through their parents.
 *
 * <xx> is the start of the id. An existing `work` is complete: a package is copied beside it, then renamed.
 * Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/job-dir.h"
#include "runtime/local/spares.h"
#include "storage/ledger.h"
#include "storage/tree.h"

/* Creates an empty `work`, from a spare directory if possible, with few system calls. */
bool workdir_make_empty(const char *attempt_dir, Spares *spares, const Owner *owner, GError **error);
bool workdir_exists(const char *attempt_dir);
/* Creates the attempt's directory and its parents. */
bool workdir_make_attempt(const char *attempt_dir, GError **error);
/* Creates a writable copy of the tree `package` (NULL: empty), visible under `name`, with the tree `made`
 * over it, which the owner's programs created (NULL: nothing). It may take long, and can be cancelled
 * (base/cancel.h). Restarts an interrupted copy. */
typedef struct {
        const char *package, *name, *made;
        Ledger *ledger; /* with `made`, as in package/overlay.h */
        const char *user;
} WorkdirSource;
bool workdir_make_copy(const char *attempt_dir, const WorkdirSource *source, const Owner *owner,
                       GError **error);
bool workdir_make_ready(const char *attempt_dir, const Owner *owner, GError **error);

/* Removes what can be removed at once (an empty `work`); true if nothing is left for workdir_remove(). */
bool workdir_remove_empty(const char *attempt_dir, Spares *spares);
bool workdir_remove(const char *attempt_dir, GError **error);
