/* Limits of environment builders, from options of the server. Builders run code of packages, so the limits
 * apply to that code as well. */
#pragma once

#include "model/resources.h"

/* The network of a builder. INDEX: only the addresses of packages, through its own proxy. AUTO: the same if
 * the kernel supports a separate network, otherwise everything, and its log says so. */
typedef enum { BUILD_NETWORK_HOST, BUILD_NETWORK_AUTO, BUILD_NETWORK_INDEX } BuildNetwork;

/* A number of 0 is no limit. */
typedef struct {
        Resources each; /* CPU and memory of one builder; counted in the queue of the requesting job */
        gint64 processes;
        gint64 time_limit_ms;
        int at_once, at_once_per_user;
        bool urls; /* requirements may name other sources of packages */
        BuildNetwork network;
        const char *allow; /* "HOST[:PORT],...": allowed besides the index; or NULL */
} BuildBounds;
