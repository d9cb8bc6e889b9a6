/* The older client's command line: options stand anywhere behind their command, "-mk" is one flag, values
 * come from the environment, too. Pure but for that. */
#pragma once

#include "cli/paddleflow/command.h"

typedef struct {
        char *config, *output;      /* --pf_config, --output */
        const FlowCommand *command; /* NULL: help was asked for */
        char *help;                 /* the text that was asked for */
        char *words[FLOW_PARAMS_MAX + 1];
        char *options[FLOW_PARAMS_MAX]; /* in the order of the command's rows; NULL: not said */
} FlowArgs;

void flow_args_clear(FlowArgs *args);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FlowArgs, flow_args_clear)

/* False with ERR_USAGE: usage, the way to help, and what is wrong. */
bool flow_args_parse(int argc, char *const *argv, FlowArgs *ret, GError **error);
