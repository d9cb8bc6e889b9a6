/* Connecting this terminal with the one of a job (doc/guide/interactive.md). A connection that breaks is made again
 * where it stopped. */
#pragma once

#include "cli/cli.h"

/* Refuses standard streams that are no terminal; `verb` names who asks, `instead` what to use. ERR_USAGE. */
bool attach_check_terminal(const char *verb, const char *instead, GError **error);

/* Until the program ends, the terminal is left, or the server stays away for 60 s. `id` is the job's id,
 * `name` what people call it. Sets cli->status: the program's exit status; 0 when it was left. */
bool attach_run(Cli *cli, const char *id, const char *name, GError **error);
