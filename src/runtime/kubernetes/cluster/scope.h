/* Our objects of one kind in a cluster: one list-watch cache of all namespaces; or, if the account may not
 * watch them all, one for each configured namespace. It finds out which by trying. Additional rights are
 * noticed after a minute, permanently lost ones after 20 s of refusals; from then on objects elsewhere are
 * not seen. Same thread as its client, and freed before it. */
#pragma once

#include "kube/cache.h"

typedef struct Scope Scope;

typedef struct {
        GMainContext *context; /* the client's */
        KubeKind kind;
        const char *label_selector, *field_selector; /* or NULL */
        void (*trim)(json_t *object);
        const KubeIndexFunc *indexes;  /* as in KubeCacheConfig; or NULL */
        const char *const *namespaces; /* to watch if not all namespaces can be watched; they outlive the
                                          scope */
} ScopeConfig;

typedef struct {
        /* As in KubeCacheEvents. `synced` may be called again, after trouble. */
        void (*changed)(const json_t *old, const json_t *new, void *arg);
        void (*synced)(void *arg);
        void (*relisted)(void *arg);                     /* or NULL */
        void (*trouble)(const GError *error, void *arg); /* NULL: it works again */
        void *arg;
} ScopeEvents;

Scope *scope_new(KubeClient *client, const ScopeConfig *config, const ScopeEvents *events);
void scope_free(Scope *scope); /* NULL is a no-op */

bool scope_is_synced(const Scope *scope);
bool scope_is_wide(const Scope *scope);                       /* watches all namespaces */
bool scope_covers(const Scope *scope, const char *namespace); /* objects of that namespace are seen */
const json_t *scope_get(const Scope *scope, const char *namespace, const char *name); /* as kube_cache_get */
/* True if `is` returns true for an object with this value in the index-th index. */
bool scope_any(const Scope *scope, int index, const char *value,
               bool (*is)(const json_t *object, const void *arg), const void *arg);
void scope_each_of(const Scope *scope, int index, const char *value,
                   void (*each)(const json_t *object, void *arg), void *arg);
void scope_each(const Scope *scope, void (*each)(const json_t *object, void *arg), void *arg);
