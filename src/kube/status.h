/* The meaning of unsuccessful replies: the only table from HTTP statuses and the reasons of a Status object
 * to our errors. Pure. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "base/err.h"

/* Parses data from the API server. Unlike our own API it accepts NULs in strings (as escapes) and duplicate
 * members, because one odd object must not hide the others. NULL on failure. */
json_t *kube_json_parse(const char *text, gsize len, GError **error);

/* `reason` and `message` of a Status, or "". */
ErrCode kube_status_code(int status, const char *reason, const char *message);

/* Sets *error from a reply: `object` is its Status or NULL, `text` its body if it is not a Status. `what`
 * names the request ("GET /api/v1/pods") for replies that do not. Returns false. */
bool kube_status_error(int status, const json_t *object, const char *text, const char *what, GError **error);

/* details.retryAfterSeconds in milliseconds; -1: not given. */
gint64 kube_status_retry_after(const json_t *object);
