/* The controller of TrainingJobs (see training_controller.h), in the manner of controller.c.
 *
 * Nothing but one small question every ASK_MS is sent while the cluster serves no TrainingJobs. Then all
 * that carries our label is seen; pods belong to a ReplicaSet or Job and tell their TrainingJob by the label
 * with its name. */
#include "operator/training_controller.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/cache.h"
#include "operator/passes.h"
#include "operator/training_members.h"
#include "operator/training_reconcile.h"
#include "operator/view.h"

enum { ASK_MS = 10000 }; /* until the cluster is asked again whether it serves TrainingJobs */

typedef enum { SEEN_JOBS, SEEN_SETS, SEEN_TRAINERS, SEEN_PODS, SEEN_KINDS } Seen;

struct TrainingController {
        KubeClient *client;
        char *namespace;
        KubeCache *cache[SEEN_KINDS]; /* NULL while TrainingJobs are not served */
        Passes *passes;
        Timer *timer; /* to ask again */
        bool synced;
};

/* ---- what is kept of an object ---- */

static void trim_object(json_t *object)
{
        static const char *const members[] = { "metadata", "spec", "status", NULL };
        static const char *const metadata[] = { "name",
                                                "namespace",
                                                "uid",
                                                "labels",
                                                "ownerReferences",
                                                "resourceVersion",
                                                "deletionTimestamp",
                                                NULL };
        static const char *const spec[] = { "parallelism", "completions", NULL };
        static const char *const status[] = { "phase",  "readyReplicas", "active", "succeeded",
                                              "failed", "conditions",    NULL };

        view_keep(object, members);
        view_keep(json_object_get(object, "metadata"), metadata);
        view_keep(json_object_get(object, "spec"), spec);
        view_keep(json_object_get(object, "status"), status);
}

/* Of a pod not even its conditions. */
static void trim_pod(json_t *pod)
{
        static const char *const members[] = { "metadata", "status", NULL }, *const status[] = { "phase",
                                                                                                 NULL };

        trim_object(pod);
        view_keep(pod, members);
        view_keep(json_object_get(pod, "status"), status);
}

/* The key of the job that an object with our labels is of; NULL: none; the caller's. */
static char *key_of(const json_t *object)
{
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++) {
                const char *name = kube_label(object, training_label(role));

                if (name && *name)
                        return view_key(kube_namespace(object), name);
        }
        return NULL;
}

static void index_key(const json_t *object, GPtrArray *ret_values)
{
        char *key = key_of(object);

        if (key)
                g_ptr_array_add(ret_values, key);
}

static const json_t *find_kind(const KubeKind *kind, const char *namespace, const char *name, void *arg)
{
        const TrainingController *controller = arg;
        Seen seen = kind == &kube_training_jobs  ? SEEN_JOBS
                    : kind == &kube_replica_sets ? SEEN_SETS
                                                 : SEEN_TRAINERS;

        return kube_cache_get(controller->cache[seen], namespace, name);
}

/* ---- a pass ---- */

static void observe(TrainingController *controller, const char *key, TrainingObserved *ret)
{
        TrainingJob job;

        training_job_read(ret->job, &job);
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++) {
                g_autofree char *name = training_member_name(&job, role);

                ret->member[role] = find_kind(training_kind(role), job.namespace, name, controller);
        }
        ret->pods = kube_cache_find(controller->cache[SEEN_PODS], 0, key);
}

static WorkResult begin(JobState *state, const json_t *job, void *arg)
{
        TrainingObserved seen = { .job = job, .refusal = passes_refusal(state) };

        observe(arg, passes_key(state), &seen);
        return passes_act(state, job, training_reconcile(&seen));
}

static void each_job(void (*one)(const json_t *job, void *one_arg), void *one_arg, void *arg)
{
        const TrainingController *controller = arg;

        if (controller->cache[SEEN_JOBS])
                kube_cache_each(controller->cache[SEEN_JOBS], one, one_arg);
}

/* ---- what happens ---- */

static void on_job(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        TrainingController *controller = arg;

        passes_see_job(controller->passes, old, new);
}

static void on_member(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        TrainingController *controller = arg;
        g_autofree char *key = key_of(new ? new : old);

        if (key)
                passes_see_owned(controller->passes, key, old, new);
}

static void on_synced(KubeCache *cache, void *arg)
{
        TrainingController *controller = arg;

        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++)
                if (!controller->cache[seen] || !kube_cache_is_synced(controller->cache[seen]))
                        return;
        if (controller->synced)
                return;
        controller->synced = true;
        log_info("training jobs are looked after from now on", NULL);
        passes_synced(controller->passes);
}

/* ---- the view ---- */

static const struct {
        const KubeKind *kind;
        void (*trim)(json_t *object);
        void (*changed)(KubeCache *cache, const json_t *old, const json_t *new, void *arg);
} kinds[SEEN_KINDS] = {
        [SEEN_JOBS] = { &kube_training_jobs, view_trim_job, on_job },
        [SEEN_SETS] = { &kube_replica_sets, trim_object, on_member },
        [SEEN_TRAINERS] = { &kube_jobs, trim_object, on_member },
        [SEEN_PODS] = { &kube_pods, trim_pod, on_member },
};

static const KubeIndexFunc by_key[] = { index_key, NULL };

static void open_view(TrainingController *controller)
{
        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++) {
                bool job = seen == SEEN_JOBS;
                KubeCacheConfig config = { .kind = *kinds[seen].kind,
                                           .namespace = controller->namespace,
                                           .label_selector =
                                                   job ? NULL : TRAINING_MANAGED_BY "=" TRAINING_MANAGER,
                                           .trim = kinds[seen].trim,
                                           .indexes = seen == SEEN_PODS ? by_key : NULL };
                KubeCacheEvents events = { .changed = kinds[seen].changed,
                                           .synced = on_synced,
                                           .trouble = view_trouble,
                                           .arg = controller };

                controller->cache[seen] = kube_cache_new(controller->client, &config, &events);
        }
}

static void ask(TrainingController *controller);

static void on_ask_again(void *arg)
{
        ask(arg);
}

static void on_kind(const KubeKind *kind, const GError *error, void *arg)
{
        TrainingController *controller = arg;

        if (kind) {
                open_view(controller);
                return;
        }
        if (!err_is(error, ERR_NOT_FOUND))
                log_warning("the cluster does not say whether it serves training jobs; asking again", "error",
                            error->message, NULL);
        timer_set(&controller->timer, NULL, ASK_MS, on_ask_again, controller);
}

static void ask(TrainingController *controller)
{
        g_autofree char *version = kube_api_version(&kube_training_jobs);

        kube_kind_find(controller->client, version, kube_training_jobs.kind, on_kind, controller);
}

/* ---- the controller ---- */

TrainingController *training_controller_new(KubeClient *client, const char *namespace)
{
        TrainingController *controller = g_new0(TrainingController, 1);

        controller->client = client;
        controller->namespace = g_strdup(namespace);
        controller->passes = passes_new(&(PassesConfig){ .client = client,
                                                         .component = "trainingjob-controller",
                                                         .kind = &kube_training_jobs,
                                                         .label = TRAINING_MANAGED_BY,
                                                         .keeps_refusal = true,
                                                         .find = find_kind,
                                                         .each = each_job,
                                                         .begin = begin,
                                                         .arg = controller });
        ask(controller);
        return controller;
}

void training_controller_free(TrainingController *controller)
{
        if (!controller)
                return;
        timer_clear(&controller->timer);
        passes_free(controller->passes);
        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++)
                kube_cache_free(controller->cache[seen]);
        g_free(controller->namespace);
        g_free(controller);
}

void training_lead(TrainingController *controller)
{
        passes_lead(controller->passes);
}

void training_stop(TrainingController *controller, void (*done)(void *arg), void *arg)
{
        passes_stop(controller->passes, done, arg);
}

bool training_figures(const TrainingController *controller, Figures *ret)
{
        if (!controller->cache[SEEN_JOBS])
                return false;
        passes_figures(controller->passes, ret);
        return true;
}
