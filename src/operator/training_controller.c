/* The controller of TrainingJobs (see training_controller.h), in the manner of controller.c.
 *
 * Nothing but one small question every ASK_MS is sent while the cluster serves no TrainingJobs. Then all
 * that carries our label is seen; pods belong to a ReplicaSet or Job and tell their TrainingJob by the label
 * with its name. */
#include "operator/training_controller.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "kube/cache.h"
#include "kube/event.h"
#include "kube/queue.h"
#include "operator/run.h"
#include "operator/training_members.h"
#include "operator/training_reconcile.h"
#include "operator/view.h"

enum { ASK_MS = 10000 }; /* until the cluster is asked again whether it serves TrainingJobs */

typedef enum { SEEN_JOBS, SEEN_SETS, SEEN_TRAINERS, SEEN_PODS, SEEN_KINDS } Seen;

/* What is remembered of a job between passes. */
typedef struct {
        TrainingController *controller;
        char *key;
        Run *run;     /* under way, or NULL */
        bool touched; /* while it could not be looked at */
        Expect expect;
        gint64 began_us;
        char *uid;     /* of the job that was looked at */
        char *refusal; /* of a member that the server will never take; or NULL */
} State;

struct TrainingController {
        KubeClient *client;
        char *namespace;
        KubeRecorder *recorder;
        KubeCache *cache[SEEN_KINDS]; /* NULL while TrainingJobs are not served */
        KubeQueue *queue;
        GHashTable *states; /* key -> State */
        Figures figures;
        guint timer; /* to ask again */
        bool leading, stopping, synced;
        void (*stopped)(void *arg);
        void *stopped_arg;
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

static const json_t *find(const TrainingController *controller, Seen seen, const char *key)
{
        const char *slash = strchr(key, '/');
        g_autofree char *namespace = g_strndup(key, (gsize)(slash - key));

        return kube_cache_get(controller->cache[seen], namespace, slash + 1);
}

static const json_t *find_kind(const KubeKind *kind, const char *namespace, const char *name, void *arg)
{
        const TrainingController *controller = arg;
        Seen seen = kind == &kube_training_jobs  ? SEEN_JOBS
                    : kind == &kube_replica_sets ? SEEN_SETS
                                                 : SEEN_TRAINERS;

        return kube_cache_get(controller->cache[seen], namespace, name);
}

/* ---- what is remembered ---- */

static void state_free(void *data)
{
        State *state = data;

        run_free(state->run);
        expect_clear(&state->expect);
        g_free(state->uid);
        g_free(state->refusal);
        g_free(state->key);
        g_free(state);
}

static void on_expired(void *arg);

static State *state_at(TrainingController *controller, const char *key, const json_t *job)
{
        State *state = g_hash_table_lookup(controller->states, key);

        if (!state) {
                state = g_new0(State, 1);
                state->controller = controller;
                state->key = g_strdup(key);
                state->expect = (Expect){
                        .find = find_kind, .find_arg = controller, .expired = on_expired, .arg = state
                };
                g_hash_table_insert(controller->states, state->key, state);
        }
        if (g_strcmp0(state->uid, kube_uid(job)) != 0) { /* another one of this name */
                g_clear_pointer(&state->refusal, g_free);
                g_free(state->uid);
                state->uid = g_strdup(kube_uid(job));
        }
        return state;
}

static void touch(TrainingController *controller, const char *key)
{
        State *state = g_hash_table_lookup(controller->states, key);

        if (!controller->leading || !controller->synced)
                return; /* all are looked at once that is so */
        if (state && (state->run || expect_is_pending(&state->expect)))
                state->touched = true;
        else
                kube_queue_add(controller->queue, key);
}

static void on_expired(void *arg)
{
        const State *state = arg;

        touch(state->controller, state->key);
}

/* ---- a pass ---- */

static void tell_stopped(TrainingController *controller)
{
        void (*stopped)(void *arg) = controller->stopped;

        if (!controller->stopping || controller->figures.active > 0 || !stopped)
                return;
        controller->stopped = NULL;
        stopped(controller->stopped_arg);
}

static void end_pass(State *state, WorkResult result)
{
        figures_count_pass(&state->controller->figures, state->began_us, result, state->touched);
        state->controller->figures.active--;
        if (!expect_is_pending(&state->expect) && state->touched && result != WORK_RETRY) {
                state->touched = false;
                kube_queue_add(state->controller->queue, state->key);
        }
}

static void on_run_done(Run *run, WorkResult result, GPtrArray *expected, void *arg)
{
        State *state = arg;
        TrainingController *controller = state->controller;

        if (run_refusal(run) && !state->refusal) { /* the next pass ends the job */
                state->refusal = g_strdup(run_refusal(run));
                state->touched = true;
        }
        run_free(run);
        state->run = NULL;
        expect_take(&state->expect, expected);
        end_pass(state, result);
        kube_queue_finish(controller->queue, state->key, result);
        tell_stopped(controller);
}

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

static void warn(const State *state, const json_t *job, const Action *action)
{
        kube_event(state->controller->recorder, job, EVENT_WARNING, action->reason, "%s", action->message);
        log_warning("a training job has a problem", "job", state->key, "why", action->message, NULL);
}

/* Called by the queue. */
static WorkResult begin(const char *key, void *arg)
{
        TrainingController *controller = arg;
        TrainingObserved seen = { .job = find(controller, SEEN_JOBS, key) };
        WorkResult result;
        State *state;
        Plan *plan;

        if (!seen.job)
                g_hash_table_remove(controller->states, key); /* nothing of it is under way */
        if (!seen.job || !controller->leading || controller->stopping)
                return WORK_DONE;
        state = state_at(controller, key, seen.job);
        if (expect_is_pending(&state->expect)) {
                state->touched = true;
                return WORK_DONE;
        }
        state->began_us = g_get_monotonic_time();
        state->touched = false;
        controller->figures.active++;
        seen.refusal = state->refusal;
        observe(controller, key, &seen);
        plan = training_reconcile(&seen);
        result = plan->end == PLAN_RETRY ? WORK_RETRY : WORK_DONE;
        for (guint i = 0; i < plan->actions->len; i++)
                if (((const Action *)plan->actions->pdata[i])->verb == ACTION_WARN)
                        warn(state, seen.job, plan->actions->pdata[i]);
        state->run = run_start(&(RunConfig){ .client = controller->client,
                                             .recorder = controller->recorder,
                                             .kind = &kube_training_jobs,
                                             .job = seen.job,
                                             .plan = plan,
                                             .done = on_run_done,
                                             .arg = state });
        if (state->run)
                return WORK_LATER;
        end_pass(state, result);
        return result;
}

/* ---- what happens ---- */

static void on_job(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        TrainingController *controller = arg;
        const json_t *job = new ? new : old;
        g_autofree char *key = view_key(kube_namespace(job), kube_name(job));
        State *state = g_hash_table_lookup(controller->states, key);

        touch(controller, key);
        if (new || !state || state->run)
                return; /* when that has ended, begin() finds no job */
        g_hash_table_remove(controller->states, key);
        kube_queue_forget(controller->queue, key);
}

static void on_member(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        g_autofree char *key = key_of(new ? new : old);

        if (key)
                touch(arg, key);
}

static void touch_job(const json_t *job, void *arg)
{
        g_autofree char *key = view_key(kube_namespace(job), kube_name(job));

        touch(arg, key);
}

static void look_at_all(TrainingController *controller)
{
        if (controller->leading && controller->synced)
                kube_cache_each(controller->cache[SEEN_JOBS], touch_job, controller);
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
        look_at_all(controller);
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

static gboolean on_ask_again(void *data)
{
        TrainingController *controller = data;

        controller->timer = 0;
        ask(controller);
        return G_SOURCE_REMOVE;
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
        controller->timer = g_timeout_add(ASK_MS, on_ask_again, controller);
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
        controller->states = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, state_free);
        controller->recorder = kube_recorder_new(client, "trainingjob-controller");
        controller->queue = kube_queue_new(&(KubeQueueConfig){ .work = begin, .arg = controller });
        ask(controller);
        return controller;
}

void training_controller_free(TrainingController *controller)
{
        if (!controller)
                return;
        if (controller->timer)
                g_source_remove(controller->timer);
        kube_queue_free(controller->queue);
        g_hash_table_unref(controller->states);
        for (Seen seen = SEEN_JOBS; seen < SEEN_KINDS; seen++)
                kube_cache_free(controller->cache[seen]);
        kube_recorder_free(controller->recorder);
        g_free(controller->namespace);
        g_free(controller);
}

void training_lead(TrainingController *controller)
{
        controller->leading = true;
        look_at_all(controller);
}

void training_stop(TrainingController *controller, void (*done)(void *arg), void *arg)
{
        controller->stopping = true;
        controller->stopped = done;
        controller->stopped_arg = arg;
        tell_stopped(controller);
}

bool training_figures(const TrainingController *controller, Figures *ret)
{
        if (!controller->cache[SEEN_JOBS])
                return false;
        *ret = controller->figures;
        ret->jobs = kube_cache_size(controller->cache[SEEN_JOBS]);
        kube_queue_figures(controller->queue, &ret->queue);
        return true;
}
