/* The meaning of unsuccessful replies: the only table from HTTP statuses and the reasons of a Status object
 * to our errors. Pure. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "base/err.h"

/* Parses data from the API server. Unlike our own API it accepts NULs in strings (as escapes) and duplicate
 * members, because one odd object must not hide the others. NULL on failure. */
json_t *kube_json_parse(const char *text, gsize len, GError **error);

/* What an API server or a controller refuses, beyond its status: the only place that knows their words. */
typedef enum {
        KUBE_REFUSED,              /* for a reason that is none of these */
        KUBE_REFUSED_POLICY,       /* by a ValidatingAdmissionPolicy */
        KUBE_REFUSED_WEBHOOK,      /* by an admission webhook */
        KUBE_REFUSED_POD_SECURITY, /* by the pod security standard of the namespace */
        KUBE_REFUSED_QUOTA,        /* a ResourceQuota is used up */
        KUBE_REFUSED_TERMINATING,  /* the namespace is being deleted */
        KUBE_REFUSED_NO_DEFAULT,   /* the namespace has no service account "default" (yet) */
        KUBE_REFUSED_NO_ACCOUNT,   /* nor another service account that the pod names */
        KUBE_REFUSED_INVALID,      /* the object is not valid */
        KUBE_REFUSED_NO_RIGHT,     /* our account lacks a right */
} KubeRefusal;
/* `message`: of a Status, an error of this room, or an event. */
KubeRefusal kube_refusal(const char *message);

/* `reason` and `message` of a Status, or "". */
ErrCode kube_status_code(int status, const char *reason, const char *message);

/* Sets *error from a reply: `object` is its Status or NULL, `text` its body if it is not a Status. `what`
 * names the request ("GET /api/v1/pods") for replies that do not. Returns false. */
bool kube_status_error(int status, const json_t *object, const char *text, const char *what, GError **error);

/* details.retryAfterSeconds in milliseconds; -1: not given. */
gint64 kube_status_retry_after(const json_t *object);
