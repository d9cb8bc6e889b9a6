/* Completion scripts for shells, generated from the table of verbs. The caller's. */
#pragma once

#include "cli/cli.h"

char *completion_bash(const Verb *const *verbs);
char *completion_zsh(const Verb *const *verbs);
char *completion_fish(const Verb *const *verbs);
