/* A list-watch cache of one kind: the objects of the API server, slightly delayed. It lists in pages and
 * watches with bookmarks from the end of the list. It resumes after broken streams without a new list. After
 * 410 it lists again, and reports only the differences. After a lost connection it serves the cached objects
 * until the next success, and backs off (0.2 s doubling to 30 s, with jitter). Same thread as its client, and
 * freed before it. Handlers are called after the cache has changed; `old` and `new` are borrowed for the
 * call. They may free the cache. Lists are read item by item, so memory is used for the cached objects and
 * not for the whole reply. Values nested deeper than 500 become null (no field that we read is so deep). An
 * object that cannot be read at all is left out. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "kube/client.h"

typedef struct KubeCache KubeCache;

typedef struct {
        /* ADDED: old NULL. DELETED: new NULL (its last known form is old). */
        void (*changed)(KubeCache *cache, const json_t *old, const json_t *new, void *arg);
        /* The first list is complete: from now on an object that is not in the cache does not exist. Called
         * once. May be NULL. */
        void (*synced)(KubeCache *cache, void *arg);
        /* A further list is complete, because the watch could not resume: objects that were created and
         * deleted in between were not reported. May be NULL. */
        void (*relisted)(KubeCache *cache, void *arg);
        /* The list or watch failed and will be retried in `retry_ms`. NULL error: it works again. May be
         * NULL. */
        void (*trouble)(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg);
        /* An object could not be read and was left out; the others are not affected. NULL: it is logged. */
        void (*poisoned)(KubeCache *cache, const GError *error, void *arg);
        void *arg;
} KubeCacheEvents;

/* Computes the values under which an index finds `object`: appends strings that are copied. */
typedef void (*KubeIndexFunc)(const json_t *object, GPtrArray *ret_values);

typedef struct {
        KubeKind kind;         /* its strings outlive the cache */
        const char *namespace; /* NULL: all */
        const char *label_selector, *field_selector;
        void (*trim)(json_t *object); /* removes fields that are not needed; managedFields are always removed.
                                         Or NULL */
        const KubeIndexFunc *indexes; /* NULL-terminated, or NULL */
        int page;                     /* objects a page, 0: 500 */
        gint64 idle_ms;               /* silence after which a watch is reopened, 0: 3 min */
} KubeCacheConfig;

KubeCache *kube_cache_new(KubeClient *client, const KubeCacheConfig *config, const KubeCacheEvents *events);
void kube_cache_free(KubeCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeCache, kube_cache_free)

bool kube_cache_is_synced(const KubeCache *cache);
const KubeKind *kube_cache_kind(const KubeCache *cache);
guint kube_cache_size(const KubeCache *cache);
/* NULL: not found; borrowed until the loop runs again. `namespace` NULL or "" for cluster-scoped kinds. */
const json_t *kube_cache_get(const KubeCache *cache, const char *namespace, const char *name);
/* The objects with this value in the index-th index, in no particular order; borrowed, NULL: none. */
const GPtrArray *kube_cache_find(const KubeCache *cache, int index, const char *value);
void kube_cache_each(const KubeCache *cache, void (*each)(const json_t *object, void *arg), void *arg);
