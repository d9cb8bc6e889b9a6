/* What changes in a run while it is followed, as lines for a person: steps that begin and end or wait, pauses, and what
 * keeps the server from going on. */
#pragma once

#include "cli/cli.h"

typedef struct RunNews RunNews;
RunNews *run_news_new(Cli *cli);
void run_news_free(RunNews *news); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunNews, run_news_free)

/* Prints what is new in the run, a reply of GET /v1/runs/{run}; for the steps it asks the server. Without `show` only
 * pauses and trouble are printed. *ret_news: the states of its steps have changed. False with an error: the server does
 * not answer, and the next call prints the steps. */
bool run_news_print(RunNews *news, const json_t *run, bool show, bool *ret_news, GError **error);

/* The last line of the terminal while steps wait: "21 s  train and 3 more wait: its environment is being built". It is
 * erased before anything else is printed. */
void run_news_draw_waits(RunNews *news, const json_t *run);
void run_news_erase_waits(RunNews *news);

/* Each step was printed, with its reason if it failed; not so for a run of very many steps. */
bool run_news_has_steps(const RunNews *news);
