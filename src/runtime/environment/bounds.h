/* What builders of environments may take and reach: options of the server. Builders run code of packages, so
 * each of these holds for that code, too. */
#pragma once

#include "model/resources.h"

/* What a builder reaches. INDEX: only where packages come from, by a proxy of its own. AUTO: that where the
 * kernel gives it a network of its own, else everything, and its log says so. */
typedef enum { BUILD_NETWORK_HOST, BUILD_NETWORK_AUTO, BUILD_NETWORK_INDEX } BuildNetwork;

/* 0 in a number: no limit. */
typedef struct {
        Resources each; /* CPU and memory of one builder; counted in the queue of the job that asked for it */
        gint64 processes;
        gint64 time_limit_ms;
        int at_once, at_once_per_user;
        bool urls; /* requirements may say where packages come from */
        BuildNetwork network;
        const char *allow; /* "HOST[:PORT],...": reached beside the index; or NULL */
} BuildBounds;
