/* The objects that are needed to read pod logs by name, and the format of events beside them
 * (doc/reference/paddleflow-api.md, "Logs"). Pure: JSON trees in, text out. */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Names of the pod's containers, init containers first; the caller's, never NULL. */
char **pod_log_containers(const json_t *pod);

/* A label selector for the pods of a Deployment; the caller's. NULL with ERR_INVALID: it selects none. */
char *pod_log_selector(const json_t *deployment, GError **error);

/* The time when an event was last seen: RFC 3339, "" if absent; borrowed. */
const char *pod_log_event_time(const json_t *event);

/* "type: T\treason: R\teventsTime: WHEN\tmessage: M" on one line; NULL as "". The caller's. */
char *pod_log_event_line(const char *type, const char *reason, const char *when, const char *message);

/* True for the kubelet's message that the container is gone, with which it ends the stream; no program wrote
 * it. */
bool pod_log_is_farewell(const char *data, gsize len);
