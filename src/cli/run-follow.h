/* A run of a pipeline until its end. */
#pragma once

#include "cli/cli.h"

/* Waits for the end of a run; `show`: prints a line on standard output for each step that begins or ends. `deadline`
 * (monotonic ms, 0: none): ERR_TIMEOUT then. Rides out a restart of the server. *ret is the run; the caller's. */
bool run_follow(Cli *cli, const char *run, bool show, gint64 deadline, json_t **ret, GError **error);

/* "/v1/runs/<id, encoded><suffix>"; the caller's. */
char *run_path(const char *run, const char *suffix);

/* The outcome in a line, and cli->status 1 unless it succeeded. */
void run_print_end(Cli *cli, const json_t *run);
