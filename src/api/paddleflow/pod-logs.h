/* Logs of pods by name, of a cluster that has them (doc/reference/paddleflow-api.md, "Logs"). */
#pragma once

#include "api/paddleflow/internal.h"
#include "api/paddleflow/log-window.h"

enum {
        LOG_TASKS_MAX = 1000,
        LOG_REPLY_MAX = 64 * 1024 * 1024, /* bytes of one reply, whatever is asked for */
};

/* What the containers of the pod, or of the deployment's pods, that the query names have written, with the
 * object's events; the caller's. NULL with AccessDenied (they are administrators' to read), InvalidURI,
 * ClusterNotFound, or InternalError with the API server's words. Waits for the cluster. */
json_t *pod_logs(const Call *call, const LogWindow *window, GError **error);
