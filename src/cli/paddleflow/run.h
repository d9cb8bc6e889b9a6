/* `paddle` under the name `paddleflow`: the older client's command line (paddleflow-api.md 3). */
#pragma once

/* Runs a command line without the program's name; the exit status: 0, 1 for any failure, 2 for wrong
 * arguments. */
int flow_run(int argc, char *const *argv);
