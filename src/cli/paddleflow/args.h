/* The older client's command line: options stand anywhere behind their command, "-mk" is one flag, values
 * come from the environment, too. Pure but for that. */
#pragma once

#include "cli/paddleflow/command.h"

typedef struct {
        char *config, *output;            /* --pf_config, --output */
        const PaddleFlowCommand *command; /* NULL: help was asked for */
        char *help;                       /* the text that was asked for */
        char *words[PADDLEFLOW_PARAMS_MAX + 1];
        char *options[PADDLEFLOW_PARAMS_MAX]; /* in the order of the command's rows; NULL: not said */
} PaddleFlowArgs;

void paddleflow_args_clear(PaddleFlowArgs *args);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PaddleFlowArgs, paddleflow_args_clear)

/* False with ERR_USAGE: usage, the way to help, and what is wrong. */
bool paddleflow_args_parse(int argc, char *const *argv, PaddleFlowArgs *ret, GError **error);
