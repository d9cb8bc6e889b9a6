/* Our objects of one kind, wherever they are in a cluster: one list-watch cache of all namespaces, or, where
 * the account may not look everywhere, one for each namespace that is named. Which of the two it is is found
 * out by trying; an account that gets more rights later is noticed after a minute, one that loses them for
 * good after 20 s of refusals. Objects elsewhere are not seen from then on. Same thread as its client, and
 * freed before it. */
#pragma once

#include "kube/cache.h"

typedef struct Scope Scope;

typedef struct {
        GMainContext *context; /* the client's */
        KubeKind kind;
        const char *label_selector, *field_selector; /* or NULL */
        void (*trim)(json_t *object);
        const KubeIndexFunc *indexes;  /* as of KubeCacheConfig; or NULL */
        const char *const *namespaces; /* to look at when not everywhere; outlive it */
} ScopeConfig;

typedef struct {
        /* As of KubeCacheEvents. `synced` may come again, after trouble. */
        void (*changed)(const json_t *old, const json_t *new, void *arg);
        void (*synced)(void *arg);
        void (*relisted)(void *arg);                     /* or NULL */
        void (*trouble)(const GError *error, void *arg); /* NULL: it works again */
        void *arg;
} ScopeEvents;

Scope *scope_new(KubeClient *client, const ScopeConfig *config, const ScopeEvents *events);
void scope_free(Scope *scope); /* NULL is a no-op */

bool scope_is_synced(const Scope *scope);
bool scope_is_wide(const Scope *scope);                       /* looks at all namespaces */
bool scope_covers(const Scope *scope, const char *namespace); /* objects there are seen */
const json_t *scope_get(const Scope *scope, const char *namespace, const char *name); /* as kube_cache_get */
/* Whether one of those with this value in the index-th index is so. */
bool scope_any(const Scope *scope, int index, const char *value,
               bool (*is)(const json_t *object, const void *arg), const void *arg);
void scope_each_of(const Scope *scope, int index, const char *value,
                   void (*each)(const json_t *object, void *arg), void *arg);
void scope_each(const Scope *scope, void (*each)(const json_t *object, void *arg), void *arg);
