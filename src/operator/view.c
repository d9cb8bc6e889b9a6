/* Caches of the operator (see view.h). Objects of the older operator carry no label on their Services and
 * PodGroups, so all of these are listed; of pods and ConfigMaps only those with our label. An index by the
 * controller's uid finds what a job owns. */
#include "operator/view.h"

#include <string.h>

#include "base/log.h"
#include "kube/cache.h"
#include "operator/owner.h"
#include "operator/status.h"
#include "podspec/objects.h"

typedef enum { SEEN_JOBS, SEEN_PODS, SEEN_SERVICES, SEEN_MAPS, SEEN_GROUPS, SEEN_KINDS } Seen;

struct View {
        ViewEvents events;
        KubeCache *cache[SEEN_KINDS]; /* SEEN_GROUPS: NULL without Volcano */
        bool synced;
};

/* ---- what is kept of an object ---- */

void view_keep(json_t *object, const char *const *names)
{
        const char *name;
        json_t *value;
        void *next;

        json_object_foreach_safe(object, next, name, value) {
                if (!g_strv_contains(names, name))
                        json_object_del(object, name);
        }
}

/* Of annotations one is read, of labels none. */
static void trim_metadata(json_t *object)
{
        static const char *const members[] = { "name",
                                               "namespace",
                                               "uid",
                                               "annotations",
                                               "ownerReferences",
                                               "resourceVersion",
                                               "deletionTimestamp",
                                               NULL };
        static const char *const annotations[] = { JOB_RESOURCE_ROLE, NULL };
        static const char *const owner[] = { "apiVersion", "kind", "name", "uid", "controller", NULL };
        json_t *metadata = json_object_get(object, "metadata"), *item;
        size_t i;

        view_keep(metadata, members);
        view_keep(json_object_get(metadata, "annotations"), annotations);
        if (json_object_size(json_object_get(metadata, "annotations")) == 0)
                json_object_del(metadata, "annotations");
        json_array_foreach(json_object_get(metadata, "ownerReferences"), i, item) {
                view_keep(item, owner);
        }
}

static void trim_containers(json_t *statuses)
{
        static const char *const members[] = { "name", "ready", "state", NULL };
        json_t *item, *value;
        const char *name;
        size_t i;

        json_array_foreach(statuses, i, item) {
                view_keep(item, members);
                json_object_foreach(json_object_get(item, "state"), name, value) {
                        json_object_clear(value);
                }
        }
}

static void trim_conditions(json_t *status)
{
        json_t *conditions = json_object_get(status, "conditions");

        for (size_t i = json_array_size(conditions); i > 0; i--)
                if (g_strcmp0(kube_get_text(json_array_get(conditions, i - 1), "type"), POD_DISRUPTED) != 0)
                        json_array_remove(conditions, i - 1);
        if (json_array_size(conditions) == 0)
                json_object_del(status, "conditions");
}

static void trim_pod(json_t *pod)
{
        static const char *const members[] = { "metadata", "status", NULL };
        static const char *const status[] = {
                "phase", "podIP", "conditions", "containerStatuses", "initContainerStatuses", NULL
        };
        json_t *what = json_object_get(pod, "status");

        view_keep(pod, members);
        trim_metadata(pod);
        view_keep(what, status);
        trim_conditions(what);
        trim_containers(json_object_get(what, "containerStatuses"));
        trim_containers(json_object_get(what, "initContainerStatuses"));
}

static void trim_service(json_t *service)
{
        static const char *const members[] = { "metadata", NULL };

        view_keep(service, members);
        trim_metadata(service);
}

static void trim_map(json_t *map)
{
        static const char *const members[] = { "metadata", "data", NULL };

        view_keep(map, members);
        trim_metadata(map);
}

static void trim_group(json_t *group)
{
        static const char *const members[] = { "metadata", "status", NULL }, *const status[] = { "phase",
                                                                                                 NULL };

        view_keep(group, members);
        trim_metadata(group);
        view_keep(json_object_get(group, "status"), status);
}

void view_trim_job(json_t *job)
{
        json_t *metadata = json_object_get(job, "metadata");

        json_object_del(json_object_get(metadata, "annotations"),
                        "kubectl.kubernetes.io/last-applied-configuration");
}

static void index_owner(const json_t *object, GPtrArray *ret_values)
{
        const char *uid = json_string_value(json_object_get(kube_controller(object), "uid"));

        if (uid)
                g_ptr_array_add(ret_values, g_strdup(uid));
}

/* ---- what happens ---- */

char *view_key(const char *namespace, const char *name)
{
        return g_strconcat(namespace, "/", name, NULL);
}

static void on_job(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        View *view = arg;

        view->events.job(old, new, view->events.arg);
}

static void on_owned(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        View *view = arg;
        const json_t *object = new ? new : old;
        const json_t *owner = kube_controller(object);
        const char *name = json_string_value(json_object_get(owner, "name"));
        g_autofree char *key = NULL;

        if (!name || !owner_is(owner, &kube_paddle_jobs))
                return;
        key = view_key(kube_namespace(object), name);
        view->events.owned(key, old, new, view->events.arg);
}

/* A group that another controller creates for a job (JOB_GROUP) has the job's name. */
static void on_group(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        View *view = arg;
        const json_t *group = new ? new : old;
        g_autofree char *key = view_key(kube_namespace(group), kube_name(group));

        if (kube_controller(group))
                on_owned(cache, old, new, arg);
        else
                view->events.owned(key, old, new, view->events.arg);
}

static void on_synced(KubeCache *cache, void *arg)
{
        View *view = arg;

        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++)
                if (view->cache[seen] && !kube_cache_is_synced(view->cache[seen]))
                        return;
        if (view->synced)
                return;
        view->synced = true;
        view->events.synced(view->events.arg);
}

void view_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        const char *kind = kube_cache_kind(cache)->kind;
        g_autofree char *after = g_strdup_printf("%" G_GINT64_FORMAT " ms", retry_ms);

        if (error)
                log_warning("a list or watch broke off; what is known is kept, and it is tried again", "kind",
                            kind, "error", error->message, "after", after, NULL);
        else
                log_info("the watch works again", "kind", kind, NULL);
}

/* ---- the view ---- */

static const struct {
        const KubeKind *kind;
        const char *selector;
        void (*trim)(json_t *object);
        void (*changed)(KubeCache *cache, const json_t *old, const json_t *new, void *arg);
        bool owned;
} kinds[SEEN_KINDS] = {
        [SEEN_JOBS] = { &kube_paddle_jobs, NULL, view_trim_job, on_job, false },
        [SEEN_PODS] = { &kube_pods, JOB_RESOURCE_NAME, trim_pod, on_owned, true },
        [SEEN_SERVICES] = { &kube_services, NULL, trim_service, on_owned, true },
        [SEEN_MAPS] = { &kube_config_maps, JOB_RESOURCE_NAME, trim_map, on_owned, true },
        [SEEN_GROUPS] = { &kube_pod_groups, NULL, trim_group, on_group, true },
};

static const KubeIndexFunc by_owner[] = { index_owner, NULL };

View *view_new(KubeClient *client, const char *namespace, bool volcano, const ViewEvents *events)
{
        View *view = g_new0(View, 1);

        view->events = *events;
        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++) {
                KubeCacheConfig config = { .kind = *kinds[seen].kind,
                                           .namespace = namespace,
                                           .label_selector = kinds[seen].selector,
                                           .trim = kinds[seen].trim,
                                           .indexes = kinds[seen].owned ? by_owner : NULL };
                KubeCacheEvents to = { .changed = kinds[seen].changed,
                                       .synced = on_synced,
                                       .trouble = view_trouble,
                                       .arg = view };

                if (seen != SEEN_GROUPS || volcano)
                        view->cache[seen] = kube_cache_new(client, &config, &to);
        }
        return view;
}

void view_free(View *view)
{
        if (!view)
                return;
        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++)
                kube_cache_free(view->cache[seen]);
        g_free(view);
}

const json_t *view_find(const View *view, const KubeKind *kind, const char *namespace, const char *name)
{
        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++)
                if (kinds[seen].kind == kind)
                        return view->cache[seen] ? kube_cache_get(view->cache[seen], namespace, name) : NULL;
        g_assert_not_reached();
}

void view_each_job(const View *view, void (*each)(const json_t *job, void *arg), void *arg)
{
        kube_cache_each(view->cache[SEEN_JOBS], each, arg);
}

/* Those that the job controls, and those of others under the names of its members. */
static GPtrArray *list_members(const View *view, Seen seen, const PaddleJob *job)
{
        const GPtrArray *owned = kube_cache_find(view->cache[seen], 0, job->uid);
        GPtrArray *list = g_ptr_array_new();

        for (guint i = 0; owned && i < owned->len; i++)
                g_ptr_array_add(list, owned->pdata[i]);
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                for (gint64 i = 0; i < JOB_REPLICAS_MAX && job_wants(job, role, i); i++) {
                        g_autofree char *name = job_pod_name(job, role, i);
                        const json_t *object = kube_cache_get(view->cache[seen], job->namespace, name);

                        if (object && !podspec_is_owned(object, job->uid))
                                g_ptr_array_add(list, (gpointer)object);
                }
        return list;
}

void view_observe(const View *view, const json_t *job, Observed *ret, GPtrArray **ret_pods,
                  GPtrArray **ret_services)
{
        PaddleJob read;

        paddle_job_read(job, &read);
        ret->job = job;
        ret->pods = *ret_pods = list_members(view, SEEN_PODS, &read);
        ret->services = *ret_services = list_members(view, SEEN_SERVICES, &read);
        ret->config_map = view_find(view, &kube_config_maps, read.namespace, read.name);
        ret->pod_group = view_find(view, &kube_pod_groups, read.namespace, read.name);
}
