/* The runtimes of other clusters: a table from a cluster's type to its driver. */
#pragma once

#include "model/cluster.h"
#include "runtime/environment/bounds.h"
#include "runtime/runtime.h"

typedef struct {
        const char *state_dir;
        const char *server; /* the server's id, which marks its objects in a cluster */
        const char *dc;     /* its datacenter's name */
        gint64 log_limit;
        BuildBounds builds; /* of image builders */
        gint64 pending_ms;  /* a job ends if its pod is pending for longer; 0: unlimited */
} DriversConfig;

/* Checks a cluster's credential and setting. ERR_INVALID with the problem. No network access. */
bool drivers_check(const Cluster *cluster, GError **error);
/* True if the two lead to different places: then returns their addresses ("https://..."), the caller's. An
 * invalid credential leads to no other place. */
bool drivers_elsewhere(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now);
/* `config`: a DriversConfig. NULL without an error: no driver for clusters of this type. */
Runtime *drivers_make(const Cluster *cluster, void *config, GError **error);
