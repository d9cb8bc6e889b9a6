/* The runtimes of clusters that are not this machine: a table from a cluster's type to what makes one. */
#pragma once

#include "model/cluster.h"
#include "runtime/runtime.h"

typedef struct {
        const char *state_dir;
        const char *server; /* the server's id, by which it knows its own in a cluster */
        gint64 log_limit;
} DriversConfig;

/* `config`: a DriversConfig. NULL without an error: no driver takes clusters of this type. */
Runtime *drivers_make(const Cluster *cluster, void *config, GError **error);
