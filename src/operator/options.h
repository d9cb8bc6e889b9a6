/* Options of paddle-operator: those of the older operator in Go's syntax (-x and --x), and some of ours. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "base/option.h"

typedef struct {
        char *metrics, *health; /* addresses; "0": none */
        bool leader_elect;
        char *leader_namespace; /* or NULL: the pod's own */
        char *namespace;        /* "": all */
        char *scheduling, *init_image, *etcd_server, *port_range, *kubeconfig, *compat, *guard;
        char *init_requests_text, *init_limits_text;
        json_t *init_requests, *init_limits; /* or NULL */
        gint64 qps, burst;
        bool zap_devel;
        char *zap_encoder, *zap_level, *zap_stacktrace, *zap_time;
        bool help, man, version;
} OperatorOptions;

extern const Option operator_options[];

/* ERR_USAGE for what is wrong with the command line. Words that are no options are left alone, as Go does. */
bool operator_options_read(OperatorOptions *options, int argc, char **argv, GError **error);
void operator_options_clear(OperatorOptions *options);
/* `--help`; the caller's. */
char *operator_help(void);
char *operator_man(void);
