/* Caches of one kind in all namespaces or in some (see scope.h). */
#include "runtime/kubernetes/cluster/scope.h"

#include <string.h>

#include "base/err.h"
#include "base/timer.h"

enum {
        DENIALS = 3,        /* in a row are believed: new rights take a moment to become effective */
        REVOKED_MS = 20000, /* ... after this time, if the account had the right: a binding may be replaced */
        WIDEN_MS = 60000,   /* time between tests for more rights */
};

typedef struct {
        Scope *scope;
        KubeCache *cache;
        bool troubled;
} Part;

struct Scope {
        KubeClient *client;
        ScopeConfig config;
        ScopeEvents events;
        GPtrArray *parts; /* Part: one, or one for each namespace */
        bool narrow;
        bool moving;      /* it switches between the two, and is not synced yet */
        bool known;       /* all was seen once */
        int denials;      /* in a row */
        gint64 denied_us; /* since when */
        KubeCall *probe;
        Timer *timer; /* of the next one */
};

static void part_free(gpointer data)
{
        Part *part = data;

        kube_cache_free(part->cache);
        g_free(part);
}

static bool is_troubled(const Scope *scope)
{
        for (guint i = 0; i < scope->parts->len; i++)
                if (((const Part *)scope->parts->pdata[i])->troubled)
                        return true;
        return false;
}

/* ---- caches ---- */

static void on_changed(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        const Scope *scope = ((const Part *)arg)->scope;

        scope->events.changed(old, new, scope->events.arg);
}

static void on_synced(KubeCache *cache, void *arg)
{
        Scope *scope = ((Part *)arg)->scope;

        scope->denials = 0;
        if (!scope_is_synced(scope))
                return;
        scope->known = true;
        if (scope->moving && !is_troubled(scope))
                scope->events.trouble(NULL, scope->events.arg);
        scope->moving = false;
        scope->events.synced(scope->events.arg);
}

static void on_relisted(KubeCache *cache, void *arg)
{
        const Scope *scope = ((const Part *)arg)->scope;

        if (scope->events.relisted)
                scope->events.relisted(scope->events.arg);
}

static void count_denial(Scope *scope, const GError *error)
{
        scope->denials = error && err_is(error, ERR_DENIED) ? scope->denials + 1 : 0;
        if (scope->denials == 1)
                scope->denied_us = g_get_monotonic_time();
}

static bool is_denied(const Scope *scope)
{
        gint64 least_ms = scope->known ? REVOKED_MS : 0;

        return scope->denials >= DENIALS &&
               g_get_monotonic_time() - scope->denied_us >= least_ms * G_GINT64_CONSTANT(1000);
}

static void narrow_down(Scope *scope);

static void on_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        Part *part = arg;
        Scope *scope = part->scope;

        part->troubled = error != NULL;
        count_denial(scope, error);
        if (error || (!is_troubled(scope) && !scope->moving))
                scope->events.trouble(error, scope->events.arg);
        if (!scope->narrow && is_denied(scope))
                narrow_down(scope);
}

static void add_part(Scope *scope, const char *namespace)
{
        Part *part = g_new0(Part, 1);
        KubeCacheConfig config = { .kind = scope->config.kind,
                                   .namespace = namespace,
                                   .label_selector = scope->config.label_selector,
                                   .field_selector = scope->config.field_selector,
                                   .trim = scope->config.trim,
                                   .indexes = scope->config.indexes };
        KubeCacheEvents events = { .changed = on_changed,
                                   .synced = on_synced,
                                   .relisted = on_relisted,
                                   .trouble = on_trouble,
                                   .arg = part };

        part->scope = scope;
        part->cache = kube_cache_new(scope->client, &config, &events);
        g_ptr_array_add(scope->parts, part);
}

/* ---- more rights, or fewer ---- */

static void on_timer(void *arg);

static void probe_later(Scope *scope)
{
        timer_set(&scope->timer, scope->config.context, WIDEN_MS, on_timer, scope);
}

static void widen(Scope *scope)
{
        g_autoptr(GError) error = NULL;

        err_set(&error, ERR_UNAVAILABLE, "all namespaces may be looked at now, and are");
        scope->narrow = false;
        scope->moving = true;
        g_ptr_array_set_size(scope->parts, 0);
        add_part(scope, NULL);
        scope->events.trouble(error, scope->events.arg);
}

static void on_probe(const KubeReply *reply, void *arg)
{
        Scope *scope = arg;

        scope->probe = NULL;
        if (reply->error)
                probe_later(scope);
        else
                widen(scope);
}

static void on_timer(void *arg)
{
        Scope *scope = arg;
        KubeRequest request = { .verb = KUBE_LIST,
                                .kind = &scope->config.kind,
                                .label_selector = scope->config.label_selector,
                                .field_selector = scope->config.field_selector,
                                .limit = 1 };

        scope->probe = kube_send(scope->client, &request, on_probe, scope);
}

static void narrow_down(Scope *scope)
{
        scope->narrow = scope->moving = true;
        scope->denials = 0;
        g_ptr_array_set_size(scope->parts, 0);
        for (const char *const *at = scope->config.namespaces; *at; at++)
                add_part(scope, *at);
        probe_later(scope);
}

/* ---- looking ---- */

bool scope_is_synced(const Scope *scope)
{
        for (guint i = 0; i < scope->parts->len; i++)
                if (!kube_cache_is_synced(((const Part *)scope->parts->pdata[i])->cache))
                        return false;
        return true;
}

bool scope_is_wide(const Scope *scope)
{
        return !scope->narrow;
}

bool scope_covers(const Scope *scope, const char *namespace)
{
        return scope_is_wide(scope) || g_strv_contains(scope->config.namespaces, namespace);
}

const json_t *scope_get(const Scope *scope, const char *namespace, const char *name)
{
        const json_t *found = NULL;

        for (guint i = 0; i < scope->parts->len && !found; i++)
                found = kube_cache_get(((const Part *)scope->parts->pdata[i])->cache, namespace, name);
        return found;
}

bool scope_any(const Scope *scope, int index, const char *value,
               bool (*is)(const json_t *object, const void *arg), const void *arg)
{
        for (guint i = 0; i < scope->parts->len; i++) {
                const Part *part = scope->parts->pdata[i];
                const GPtrArray *found = kube_cache_find(part->cache, index, value);

                for (guint k = 0; found && k < found->len; k++)
                        if (is(found->pdata[k], arg))
                                return true;
        }
        return false;
}

void scope_each_of(const Scope *scope, int index, const char *value,
                   void (*each)(const json_t *object, void *arg), void *arg)
{
        for (guint i = 0; i < scope->parts->len; i++) {
                const Part *part = scope->parts->pdata[i];
                const GPtrArray *found = kube_cache_find(part->cache, index, value);

                for (guint k = 0; found && k < found->len; k++)
                        each(found->pdata[k], arg);
        }
}

void scope_each(const Scope *scope, void (*each)(const json_t *object, void *arg), void *arg)
{
        for (guint i = 0; i < scope->parts->len; i++)
                kube_cache_each(((const Part *)scope->parts->pdata[i])->cache, each, arg);
}

/* ---- life ---- */

Scope *scope_new(KubeClient *client, const ScopeConfig *config, const ScopeEvents *events)
{
        Scope *scope = g_new0(Scope, 1);

        scope->client = client;
        scope->config = *config;
        scope->events = *events;
        scope->parts = g_ptr_array_new_with_free_func(part_free);
        add_part(scope, NULL);
        return scope;
}

void scope_free(Scope *scope)
{
        if (!scope)
                return;
        if (scope->probe)
                kube_call_cancel(scope->probe);
        timer_clear(&scope->timer);
        g_ptr_array_unref(scope->parts);
        g_free(scope);
}
