/* The runtimes of clusters that are not this machine: a table from a cluster's type to what makes one. */
#pragma once

#include "model/cluster.h"
#include "runtime/environment/bounds.h"
#include "runtime/runtime.h"

typedef struct {
        const char *state_dir;
        const char *server; /* the server's id, by which it knows its own in a cluster */
        const char *dc;     /* its datacenter's name */
        gint64 log_limit;
        BuildBounds builds; /* of builders of images */
        gint64 pending_ms;  /* a pod that is pending for longer ends its job; 0: it may */
} DriversConfig;

/* Could a runtime be made with it? ERR_INVALID with what is wrong with its credential or setting. Reaches for
 * nothing.
 */
bool drivers_check(const Cluster *cluster, GError **error);
/* Do the two lead to different places? The words for these ("https://..."), the caller's. A credential that
 * cannot be read leads nowhere else. */
bool drivers_elsewhere(const Cluster *was, const Cluster *now, char **ret_was, char **ret_now);
/* `config`: a DriversConfig. NULL without an error: no driver takes clusters of this type. */
Runtime *drivers_make(const Cluster *cluster, void *config, GError **error);
