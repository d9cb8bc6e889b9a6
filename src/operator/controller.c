/* The controller of PaddleJobs (see controller.h).
 *
 *     something changed ─▶ touch ─▶ queue ─▶ begin ─▶ [etcd] ─▶ pass: reconcile, run ─▶ end
 *                            ▲                                                           │
 *                            └── the view shows what was done (or 5 s have passed) ◀─────┘
 *
 * A job is not looked at while its actions are under way, nor until the view shows what they did: two looks
 * at the same view would make everything twice. A job that was touched meanwhile is looked at again then. */
#include "operator/controller.h"

#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/event.h"
#include "operator/etcd.h"
#include "operator/reconcile.h"
#include "operator/run.h"
#include "operator/view.h"

enum {
        TRIM_MS = 500,   /* from a pass until the memory that it used is given back */
        WARNED_MAX = 64, /* messages about one generation of a job */
};

/* What is remembered of a job between passes. */
typedef struct {
        Controller *controller;
        char *key;
        Run *run;     /* under way, or NULL */
        bool asking;  /* etcd, before the pass */
        bool touched; /* while it could not be looked at */
        bool failed;  /* something before the pass: it is to come again */
        Expect expect;
        gint64 began_us;
        GHashTable *warned; /* messages that its owner has been told of this generation; or NULL */
        gint64 generation;
} JobState;

struct Controller {
        KubeClient *client;
        OperatorRules rules;
        KubeRecorder *recorder;
        Etcd *etcd; /* or NULL */
        Ports *ports;
        View *view;
        KubeQueue *queue;
        GHashTable *states; /* key -> JobState */
        bool leading, stopping;
        void (*stopped)(void *arg);
        void *stopped_arg;
        guint trim; /* timer */
        Figures figures;
};

/* ---- what is remembered ---- */

static void state_free(void *data)
{
        JobState *state = data;

        run_free(state->run);
        expect_clear(&state->expect);
        if (state->warned)
                g_hash_table_unref(state->warned);
        g_free(state->key);
        g_free(state);
}

static const json_t *find(const KubeKind *kind, const char *namespace, const char *name, void *arg)
{
        const Controller *controller = arg;

        return view_find(controller->view, kind, namespace, name);
}

static void on_expired(void *arg);

static JobState *state_of(Controller *controller, const char *key)
{
        JobState *state = g_hash_table_lookup(controller->states, key);

        if (state)
                return state;
        state = g_new0(JobState, 1);
        state->controller = controller;
        state->key = g_strdup(key);
        state->expect = (Expect){ .find = find, .find_arg = controller, .expired = on_expired, .arg = state };
        g_hash_table_insert(controller->states, state->key, state);
        return state;
}

static void touch(Controller *controller, const char *key)
{
        JobState *state = g_hash_table_lookup(controller->states, key);

        if (!controller->leading || !view_is_synced(controller->view))
                return; /* all are looked at once that is so */
        if (state && (state->run || state->asking || expect_is_pending(&state->expect)))
                state->touched = true;
        else
                kube_queue_add(controller->queue, key);
}

static void on_expired(void *arg)
{
        const JobState *state = arg;

        log_debug("what was done to a job does not show; looking again", "job", state->key, NULL);
        touch(state->controller, state->key);
}

/* ---- a pass ---- */

static void tell_stopped(Controller *controller)
{
        void (*stopped)(void *arg) = controller->stopped;

        if (!controller->stopping || controller->figures.active > 0 || !stopped)
                return;
        controller->stopped = NULL;
        stopped(controller->stopped_arg);
}

/* What many passes and watch events have used lies between what is kept: a third of the heap after fifty new
 * jobs. */
static gboolean on_trim(void *data)
{
        Controller *controller = data;

        controller->trim = 0;
        (void)malloc_trim(0); /* whether there was something to give back */
        return G_SOURCE_REMOVE;
}

static WorkResult end_pass(JobState *state, WorkResult result)
{
        Controller *controller = state->controller;
        bool waiting = expect_is_pending(&state->expect);

        figures_count_pass(&controller->figures, state->began_us, result, state->touched);
        controller->figures.active--;
        if (!controller->trim)
                controller->trim = g_timeout_add(TRIM_MS, on_trim, controller);
        if (!waiting && state->touched && result != WORK_RETRY) {
                state->touched = false;
                kube_queue_add(controller->queue, state->key);
        }
        return result;
}

static void on_run_done(Run *run, WorkResult result, GPtrArray *expected, void *arg)
{
        JobState *state = arg;
        Controller *controller = state->controller;

        run_free(run);
        state->run = NULL;
        expect_take(&state->expect, expected);
        result = end_pass(state, state->failed ? WORK_RETRY : result);
        kube_queue_finish(controller->queue, state->key, result);
        tell_stopped(controller);
}

/* Its owner hears a thing once, until the job changes. */
static void warn_once(JobState *state, const json_t *job, const Action *action)
{
        gint64 generation = kube_get_int(job, "metadata.generation", 0);

        if (state->warned &&
            (state->generation != generation || g_hash_table_size(state->warned) >= WARNED_MAX))
                g_clear_pointer(&state->warned, g_hash_table_unref);
        if (!state->warned)
                state->warned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        state->generation = generation;
        if (!g_hash_table_add(state->warned, g_strdup(action->message)))
                return;
        kube_event(state->controller->recorder, job, EVENT_WARNING, action->reason, "%s", action->message);
        log_warning("a job waits for its owner", "job", state->key, "why", action->message, NULL);
}

/* The port that a job of Host mode has already, whoever gave it, is nobody else's; 0: none yet. */
static gint64 note_host_port(Controller *controller, const PaddleJob *job)
{
        const json_t *map = view_find(controller->view, &kube_config_maps, job->namespace, job->name);
        gint64 port = job->intranet == INTRANET_HOST ? member_host_port(job, map) : 0;

        if (port)
                ports_note(controller->ports, job->uid, port);
        return port;
}

static Plan *make_plan(JobState *state, const json_t *job, const char *np)
{
        Controller *controller = state->controller;
        g_autoptr(GPtrArray) pods = NULL;
        g_autoptr(GPtrArray) services = NULL;
        Observed seen = { .np = np, .now_ms = clock_now_ms() };
        PaddleJob read;

        paddle_job_read(job, &read);
        seen.host_port = note_host_port(controller, &read);
        if (!seen.host_port && read.intranet == INTRANET_HOST && !job_phase_is_final(read.phase))
                seen.host_port = ports_reserve(controller->ports, read.uid);
        view_observe(controller->view, job, &seen, &pods, &services);
        return reconcile(&controller->rules, &seen);
}

/* Returns what the queue is told; WORK_LATER when the actions are under way. */
static WorkResult pass(JobState *state, const json_t *job, const char *np)
{
        Controller *controller = state->controller;
        Plan *plan = make_plan(state, job, np);
        WorkResult result = plan->end == PLAN_RETRY  ? WORK_RETRY
                            : plan->end == PLAN_PARK ? WORK_PARK
                                                     : WORK_DONE;

        state->touched = plan->end == PLAN_AGAIN;
        if (plan->again_ms)
                kube_queue_add_after(controller->queue, state->key, plan->again_ms);
        for (guint i = 0; i < plan->actions->len; i++) {
                const Action *action = plan->actions->pdata[i];

                if (action->verb == ACTION_WARN)
                        warn_once(state, job, action);
        }
        state->run = run_start(&(RunConfig){ .client = controller->client,
                                             .recorder = controller->recorder,
                                             .etcd = controller->etcd,
                                             .job = job,
                                             .plan = plan,
                                             .done = on_run_done,
                                             .arg = state });
        return state->run ? WORK_LATER : end_pass(state, state->failed ? WORK_RETRY : result);
}

static void on_np(const char *value, const GError *error, void *arg)
{
        JobState *state = arg;
        Controller *controller = state->controller;
        const json_t *job = view_job(controller->view, state->key);
        WorkResult result;

        state->asking = false;
        state->failed = error != NULL;
        if (error && !controller->stopping)
                log_warning("the number of workers could not be read", "job", state->key, "error",
                            error->message, NULL);
        if (job && !controller->stopping)
                result = pass(state, job, value);
        else
                result = end_pass(state, WORK_DONE);
        if (result != WORK_LATER)
                kube_queue_finish(controller->queue, state->key, result);
        tell_stopped(controller);
}

static bool ask_etcd(JobState *state, const json_t *job)
{
        g_autofree char *key = NULL;
        PaddleJob read;

        paddle_job_read(job, &read);
        if (!job_syncs_np(&read, &state->controller->rules))
                return false;
        key = job_np_key(&read);
        state->asking = true;
        etcd_get(state->controller->etcd, key, on_np, state);
        return true;
}

/* Called by the queue. */
static WorkResult begin(const char *key, void *arg)
{
        Controller *controller = arg;
        const json_t *job = view_job(controller->view, key);
        JobState *state;

        if (!job)
                g_hash_table_remove(controller->states,
                                    key); /* nothing of it is under way, or we were not here */
        if (!job || !controller->leading || controller->stopping)
                return WORK_DONE;
        state = state_of(controller, key);
        if (expect_is_pending(&state->expect)) {
                state->touched = true;
                return WORK_RETRY;
        }
        state->began_us = g_get_monotonic_time();
        state->touched = state->failed = false;
        controller->figures.active++;
        return ask_etcd(state, job) ? WORK_LATER : pass(state, job, NULL);
}

/* ---- what happens ---- */

static void on_touched(const char *key, void *arg)
{
        touch(arg, key);
}

static void on_gone(const char *key, const char *uid, void *arg)
{
        Controller *controller = arg;
        JobState *state = g_hash_table_lookup(controller->states, key);

        ports_release(controller->ports, uid);
        if (!state || state->run || state->asking)
                return; /* when that has ended, begin() finds no job */
        g_hash_table_remove(controller->states, key);
        kube_queue_forget(controller->queue, key);
}

static void note_port(const json_t *job, void *arg)
{
        PaddleJob read;

        paddle_job_read(job, &read);
        (void)note_host_port(arg, &read);
}

static void touch_job(const json_t *job, void *arg)
{
        g_autofree char *key = view_key(kube_namespace(job), kube_name(job));

        touch(arg, key);
}

/* Ports that jobs have already are known before the first is given. */
static void look_at_all(Controller *controller)
{
        if (!controller->leading || !view_is_synced(controller->view))
                return;
        view_each_job(controller->view, note_port, controller);
        view_each_job(controller->view, touch_job, controller);
}

static void on_synced(void *arg)
{
        log_info("the cluster has been seen; jobs are looked after from now on", NULL);
        look_at_all(arg);
}

/* ---- the controller ---- */

Controller *controller_new(const ControllerConfig *config, GError **error)
{
        g_autoptr(Controller) controller = g_new0(Controller, 1);
        const char *etcd = config->rules.etcd_server;

        controller->client = config->client;
        controller->rules = config->rules;
        controller->states = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, state_free);
        controller->ports = ports_new(config->port_range, error);
        if (!controller->ports)
                return NULL;
        if (etcd && *etcd && !(controller->etcd = etcd_new(etcd, error)))
                return NULL;
        controller->recorder = kube_recorder_new(config->client, "paddlejob-controller");
        controller->queue = kube_queue_new(&(KubeQueueConfig){ .work = begin, .arg = controller });
        controller->view = view_new(config->client, config->namespace, config->rules.volcano,
                                    &(ViewEvents){ .touched = on_touched,
                                                   .gone = on_gone,
                                                   .synced = on_synced,
                                                   .arg = controller });
        return g_steal_pointer(&controller);
}

void controller_free(Controller *controller)
{
        if (!controller)
                return;
        if (controller->trim)
                g_source_remove(controller->trim);
        etcd_free(controller->etcd); /* first: its answers name states */
        kube_queue_free(controller->queue);
        g_hash_table_unref(controller->states);
        view_free(controller->view);
        kube_recorder_free(controller->recorder);
        ports_free(controller->ports);
        g_free(controller);
}

void controller_lead(Controller *controller)
{
        controller->leading = true;
        look_at_all(controller);
}

void controller_stop(Controller *controller, void (*done)(void *arg), void *arg)
{
        controller->stopping = true;
        controller->stopped = done;
        controller->stopped_arg = arg;
        etcd_stop(controller->etcd);
        tell_stopped(controller);
}

static void count_job(const json_t *job, void *arg)
{
        ++*(guint *)arg;
}

void controller_figures(const Controller *controller, Figures *ret)
{
        *ret = controller->figures;
        ret->jobs = 0;
        view_each_job(controller->view, count_job, &ret->jobs);
        kube_queue_figures(controller->queue, &ret->queue);
}
