/* What a reply that is no success means: the one table from HTTP statuses and the reasons of a Status object
 * to our errors. Pure. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "base/err.h"

/* Parses what the API server sends. Unlike our own interface it takes NULs in strings (they are escapes) and
 * members that come twice, for one odd object must not hide the others. NULL on failure. */
json_t *kube_json_parse(const char *text, gsize len, GError **error);

/* `reason` and `message` of a Status, or "". */
ErrCode kube_status_code(int status, const char *reason, const char *message);

/* Sets *error from a reply: `object` is its Status or NULL, `text` its body when it is none. `what` names the
 * request ("GET /api/v1/pods") for replies that do not say. Returns false. */
bool kube_status_error(int status, const json_t *object, const char *text, const char *what, GError **error);

/* details.retryAfterSeconds in milliseconds, -1 when it is not said. */
gint64 kube_status_retry_after(const json_t *object);
