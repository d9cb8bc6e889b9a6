/* How the API server is reached, and as whom: what every transfer's handle is told. Private to the room. */
#pragma once

#include "kube/credential.h"
#include "net/curl-api.h"

typedef struct {
        const CurlApi *api;
        KubeConfig *config;
        KubeCredential *credential;
        char *agent;
        struct curl_slist *connect_to; /* the address beside the name of the certificate, or NULL */
} KubeReach;

/* Fills in what follows from api and config. */
void kube_reach_init(KubeReach *reach);
void kube_reach_clear(KubeReach *reach);

/* Sets address, TLS and proxy. `path` is absolute, with its query. */
void kube_reach_aim(const KubeReach *reach, CURL *handle, const char *path);
/* Appends the headers that say who we are and whom we act for. */
struct curl_slist *kube_reach_identity(const KubeReach *reach, struct curl_slist *list);
/* What a failure of the library means; `text` is the handle's error buffer. Returns false. */
bool kube_reach_error(const KubeReach *reach, CURLcode result, const char *text, GError **error);
