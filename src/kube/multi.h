/* libcurl's multi interface on a GMainContext: transfers that share connections and never block. Private to
 * the client. Everything happens on the thread of the context. No function of the client is called from
 * within the library, so `done` and `turn` may add and remove handles, and free the multi. */
#pragma once

#include <stdbool.h>

#include "net/curl-api.h"

typedef struct KubeMulti KubeMulti;

typedef struct {
        /* The transfer has ended and the handle was removed (but see `keep`); the caller owns it again. */
        void (*done)(CURL *handle, CURLcode result, void *arg);
        /* The library has run: callbacks of handles may have stored data. */
        void (*turn)(void *arg);
        void *arg;
        bool keep; /* `done` does not remove the handle: connections of CONNECT_ONLY exist only as long as it
                      is added */
} KubeMultiEvents;

/* `context` NULL: the default one. */
KubeMulti *kube_multi_new(const CurlApi *api, GMainContext *context, const KubeMultiEvents *events);
/* Remove all handles before. */
void kube_multi_free(KubeMulti *multi);
void kube_multi_add(KubeMulti *multi, CURL *handle);
void kube_multi_remove(KubeMulti *multi, CURL *handle);
guint kube_multi_size(const KubeMulti *multi);
