/* The options of every transfer's handle: the address of the API server and our credentials. Private to
 * kube/. */
#pragma once

#include "kube/credential.h"
#include "net/curl-api.h"

typedef struct {
        const CurlApi *api;
        KubeConfig *config;
        KubeCredential *credential;
        char *agent;
        struct curl_slist *connect_to; /* the address to connect to instead of the name in the certificate, or
                                          NULL */
} KubeReach;

/* Derives the other fields from api and config. */
void kube_reach_init(KubeReach *reach);
void kube_reach_clear(KubeReach *reach);

/* Sets address, TLS and proxy. `path` is absolute, with its query. */
void kube_reach_aim(const KubeReach *reach, CURL *handle, const char *path);
/* Appends the headers of our credentials and of the impersonated user. */
struct curl_slist *kube_reach_identity(const KubeReach *reach, struct curl_slist *list);
/* Explains a failure of the library; `text` is the handle's error buffer. Returns false. */
bool kube_reach_error(const KubeReach *reach, CURLcode result, const char *text, GError **error);
