/* Questions that a person answers with yes or no. */
#pragma once

#include "cli/cli.h"

/* There is a person to ask: keys come from a terminal, and words go to one. */
bool question_is_possible(const Cli *cli);

/* Shows the question, which ends in "[y/N] " or "[Y/n] ". An empty answer means `standard`; a terminal's end
 * says no. */
bool question_agreed(const char *question, bool standard);
