/* libcurl's multi interface on a GMainContext: transfers that share connections and never wait. Private to
 * the client. Everything happens on the thread of the context. Nothing of the client's is called from within
 * the library, so `done` and `turn` may add and remove handles, and free the multi. */
#pragma once

#include <stdbool.h>

#include "net/curl-api.h"

typedef struct KubeMulti KubeMulti;

typedef struct {
        /* The transfer has ended and the handle was taken out (but see `keep`); it is the caller's again. */
        void (*done)(CURL *handle, CURLcode result, void *arg);
        /* The library has run: callbacks of handles may have stored something. */
        void (*turn)(void *arg);
        void *arg;
        bool keep; /* `done` does not take the handle out: connections of CONNECT_ONLY live as long as it is
                      in */
} KubeMultiEvents;

/* `context` NULL: the default one. */
KubeMulti *kube_multi_new(const CurlApi *api, GMainContext *context, const KubeMultiEvents *events);
/* The handles have been removed before. */
void kube_multi_free(KubeMulti *multi);
void kube_multi_add(KubeMulti *multi, CURL *handle);
void kube_multi_remove(KubeMulti *multi, CURL *handle);
guint kube_multi_size(const KubeMulti *multi);
