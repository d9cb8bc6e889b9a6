/* The operator's view of a cluster: caches of PaddleJobs and of the objects that jobs own, cut down to what
 * is read. Keys are "namespace/name" of a job. On the client's thread. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "kube/cache.h"
#include "kube/client.h"
#include "operator/reconcile.h"

typedef struct View View;

typedef struct {
        /* As KubeCacheEvents.changed; `key`: of the job that it is of. */
        void (*job)(const json_t *old, const json_t *new, void *arg);
        void (*owned)(const char *key, const json_t *old, const json_t *new, void *arg);
        void (*synced)(void *arg); /* everything has been seen once */
        void *arg;
} ViewEvents;

/* `namespace`: NULL: all. `volcano`: PodGroups are looked at, too. */
View *view_new(KubeClient *client, const char *namespace, bool volcano, const ViewEvents *events);
void view_free(View *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(View, view_free)

/* Of any kind that is looked at. NULL: not there; borrowed, as in kube/cache.h. */
const json_t *view_find(const View *view, const KubeKind *kind, const char *namespace, const char *name);
void view_each_job(const View *view, void (*each)(const json_t *job, void *arg), void *arg);

/* Fills pods, services, config_map and pod_group for a job; the lists are the caller's (g_ptr_array_unref).
 */
void view_observe(const View *view, const json_t *job, Observed *ret, GPtrArray **ret_pods,
                  GPtrArray **ret_services);

char *view_key(const char *namespace, const char *name); /* the caller's */

/* Common fields of the caches of jobs and of their objects. */
void view_keep(json_t *object, const char *const *names); /* drops the members of other names */
void view_trim_job(json_t *job);                          /* of kubectl's copy of the whole job */
void view_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg); /* logs it */
