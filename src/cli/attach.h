/* Connects this terminal with that of a job (doc/guide/interactive.md). A broken connection is resumed where
 * it stopped. */
#pragma once

#include "cli/cli.h"

/* Refuses standard streams that are not terminals; `verb` is the command, `instead` what to use.
 * ERR_USAGE. */
bool attach_check_terminal(const char *verb, const char *instead, GError **error);

/* Returns when the program ends, the user detaches, or the server is unreachable for 60 s. `id` is the job's
 * id, `name` the name to show. Sets cli->status: the program's exit status; 0 after detaching. */
bool attach_run(Cli *cli, const char *id, const char *name, GError **error);
