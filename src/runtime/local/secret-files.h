/* Secrets as files of members. They are never on a disk: each attempt has a directory in memory (tmpfs),
 * which is removed with the attempt.
 *
 *     STATE/secret-files -> MEMORY/paddle-XXXXXX    created for the first file, and again if it is lost
 *     MEMORY/paddle-XXXXXX/<id>.<attempt>/          the server's; the group of the job's user may list it
 *     MEMORY/paddle-XXXXXX/<id>.<attempt>/<file>    mode 0400, owned by the member's user
 *
 * Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/runtime.h"
#include "storage/tree.h"

typedef struct SecretFiles SecretFiles;

/* `memory`: the parent of the directory, "/dev/shm". */
SecretFiles *secret_files_new(const char *state_dir, const char *memory);
void secret_files_free(SecretFiles *files); /* the files stay; NULL is a no-op */

bool secret_files_wanted(const TaskSecret *secrets, int n); /* true if one of them is a file */
/* Creates the directory of an attempt ("<id>.<attempt>") with its files, unless it exists. Returns its path,
 * the caller's; NULL with an error, and then nothing is left. `owner` NULL: the server owns the files. */
char *secret_files_put(SecretFiles *files, const char *attempt, const TaskSecret *secrets, int n,
                       const Owner *owner, GError **error);
void secret_files_drop(SecretFiles *files, const char *attempt);
/* Drops all attempts that are not in the set `known`. */
void secret_files_sweep(SecretFiles *files, GHashTable *known);
