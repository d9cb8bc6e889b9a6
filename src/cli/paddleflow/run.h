/* `paddle` under the name `paddleflow`: the older client's command line (doc/reference/paddleflow-api.md,
 * "The command line"). */
#pragma once

/* Runs a command line without the program's name; the exit status: 0, 1 for any failure, 2 for wrong
 * arguments. */
int paddleflow_run(int argc, char *const *argv);
