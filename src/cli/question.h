/* Yes-or-no questions to the user. */
#pragma once

#include "cli/cli.h"

/* True if a user can be asked: standard input and error are terminals. */
bool question_is_possible(const Cli *cli);

/* Shows the question, which ends in "[y/N] " or "[Y/n] ". An empty answer means `standard`; the end of input
 * means no. */
bool question_agreed(const char *question, bool standard);
