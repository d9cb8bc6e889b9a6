/* A run of a pipeline until its end. */
#pragma once

#include "cli/cli.h"

/* Waits for the end of a run; `show`: prints a line on standard output for each step that begins or ends. `deadline`
 * (monotonic ms, 0: none): ERR_TIMEOUT then. Rides out a restart of the server. *ret is the run; the caller's. */
bool run_follow(Cli *cli, const char *run, bool show, gint64 deadline, json_t **ret, GError **error);

/* POST with the body and an idempotency key, which may be NULL. *ret is the run; the caller's. */
bool run_post(Cli *cli, const char *path, const char *key, const json_t *body, json_t **ret, GError **error);

/* What follows a creation or a retry: prints the id, and with `follow` the steps until the end, whose outcome becomes
 * cli->status. Ctrl-C then leaves the run as it is, and shows how to go on. */
bool run_begun(Cli *cli, const json_t *run, bool follow, GError **error);

/* The outcome in a line, and cli->status 1 unless it succeeded. */
void run_print_end(Cli *cli, const json_t *run);
