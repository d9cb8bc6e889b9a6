/* Prints the changes of a run that is followed. There is a line for each step that begins, waits or ends, for each pause,
 * and for a server that cannot store the run. */
#pragma once

#include "cli/cli.h"

typedef struct RunNews RunNews;
RunNews *run_news_new(Cli *cli);
void run_news_free(RunNews *news); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunNews, run_news_free)

/* Prints the changes since the last call. `run` is a reply of GET /v1/runs/{run}. If steps have changed, they are read from
 * the server. Without `show` only pauses and trouble are printed. *ret_news: the states of steps have changed. False with an
 * error: the server does not answer, and the next call prints the steps. */
bool run_news_print(RunNews *news, const json_t *run, bool show, bool *ret_news, GError **error);

/* The last line of the terminal while steps wait: "21 s  train and 3 more wait: its environment is being built". Erase
 * it before the next call of run_news_print. */
void run_news_draw_waits(RunNews *news, const json_t *run);
void run_news_erase_waits(RunNews *news);

/* True if each step was printed, with its reason if it failed. False for a run with too many steps. */
bool run_news_has_steps(const RunNews *news);
