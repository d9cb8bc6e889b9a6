/* What has to be known of objects to read the logs of pods by name, and how events are shown beside them
 * (doc/reference/paddleflow-api.md, "Logs"). Pure: JSON trees in, text out. */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/* Names of the pod's containers, those that come before the others first; the caller's, never NULL. */
char **pod_log_containers(const json_t *pod);

/* Which pods belong to a Deployment, as a label selector of a list; the caller's. NULL with ERR_INVALID: it
 * selects none. */
char *pod_log_selector(const json_t *deployment, GError **error);

/* When an event was seen last: RFC 3339, "" if it does not say; borrowed. */
const char *pod_log_event_time(const json_t *event);

/* "type: T\treason: R\teventsTime: WHEN\tmessage: M" on one line; NULL as "". The caller's. */
char *pod_log_event_line(const char *type, const char *reason, const char *when, const char *message);

/* A piece of a log's stream is the kubelet's own word that the container has gone, with which it ends the
 * stream; no program wrote that. */
bool pod_log_is_farewell(const char *data, gsize len);
