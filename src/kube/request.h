/* A request as HTTP: method, path with query, body. Pure. Private to kube/. */
#pragma once

#include "kube/client.h"

typedef struct {
        KubeVerb verb;
        const char *method, *type; /* of the body, or NULL */
        char *path, *body;         /* body may be NULL */
} KubeHttp;

void kube_http_init(KubeHttp *http, const KubeRequest *request);
void kube_http_clear(KubeHttp *http);

/* Appends "?name=value" or "&name=value", encoded; nothing when value is NULL or "". */
void kube_query_add(GString *path, const char *name, const char *value);
