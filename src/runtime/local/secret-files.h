/* Secrets as files of members. They are never on a disk: each attempt has a directory in memory (tmpfs),
 * which is removed with the attempt.
 *
 *     STATE/secret-files -> MEMORY/paddle-XXXXXX    made for the first file, and again after a loss
 *     MEMORY/paddle-XXXXXX/<id>.<attempt>/          the server's; its user's group may list it
 *     MEMORY/paddle-XXXXXX/<id>.<attempt>/<file>    mode 0400, the member's user's
 *
 * Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "runtime/runtime.h"
#include "storage/tree.h"

typedef struct SecretFiles SecretFiles;

/* `memory`: where to make the directory, "/dev/shm". */
SecretFiles *secret_files_new(const char *state_dir, const char *memory);
void secret_files_free(SecretFiles *files); /* the files stay; NULL is a no-op */

bool secret_files_wanted(const TaskSecret *secrets, int n); /* true if any of them is a file */
/* Makes the directory of an attempt ("<id>.<attempt>") with its files, unless it exists. Returns its path,
 * the caller's; NULL with an error, and then nothing is left behind. `owner` NULL: the files are the
 * server's. */
char *secret_files_put(SecretFiles *files, const char *attempt, const TaskSecret *secrets, int n,
                       const Owner *owner, GError **error);
void secret_files_drop(SecretFiles *files, const char *attempt);
/* Drops all attempts but those in the set `known`. */
void secret_files_sweep(SecretFiles *files, GHashTable *known);
