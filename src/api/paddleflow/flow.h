/* `/api/paddleflow/v1`, the interface that clients of PaddleFlow speak (doc/guide/paddleflow.md): translation
 * between their words and the catalog, the engine and the store. It decides nothing: it refuses in the order
 * and with the codes that those clients know, and the engine checks again. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "api/auth/auth.h"
#include "engine/engine.h"
#include "net/server.h"
#include "runtime/runtime.h"

typedef struct PaddleFlow PaddleFlow;
typedef struct PackageStore PackageStore; /* package/package.h */

typedef struct {
        Engine *engine;
        Store *store;
        Runtime *runtime;
        Auth *auth;
        PackageStore *packages;
        const char *state_dir; /* keeps the key that markers and tokens are signed with */
        const char *node_name; /* of this machine */
        const char *const *node_labels;
        const char *templates; /* a file (templates.h); or NULL */
        /* The sum of a job's members is not compared with the maximum of its queue; the engine still refuses
         * what can never run. */
        bool skip_resource_check;
        /* Could a runtime be made with the cluster's credential? ERR_INVALID with what is wrong. Reaches for
         * nothing. */
        bool (*check_cluster)(const Cluster *cluster, GError **error);
} PaddleFlowConfig;

/* Borrows what it points to; copies the strings. NULL when the key cannot be read or made, or the
 * templates cannot be read. */
PaddleFlow *paddleflow_new(const PaddleFlowConfig *config, GError **error);
/* No more frames and samples; before the HTTP server is freed. */
void paddleflow_stop(PaddleFlow *flow);
/* After the HTTP server is gone. */
void paddleflow_free(PaddleFlow *flow);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PaddleFlow, paddleflow_free)

/* For HttpServerConfig.faces. */
HttpFace paddleflow_face(PaddleFlow *flow);
/* Answers what is below /api/paddleflow and not of this interface: 404, with its request id and envelope.
 * Comes after it. */
HttpFace paddleflow_face_outside(PaddleFlow *flow);
