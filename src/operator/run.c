/* Actions under way (see run.h). Each is a Step with at most one call at a time. A run is over when no step
 * is left. */
#include "operator/run.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "operator/owner.h"
#include "podspec/objects.h"

typedef struct {
        Run *run;
        Action *action; /* the plan's */
        char *label;    /* of what is created: its value of the label by which the caches know it; or NULL */
        KubeCall *call; /* or NULL */
} Step;

struct Run {
        RunConfig config;
        json_t *job;
        char *namespace, *uid;
        GPtrArray *steps; /* Step *, those not yet over */
        GQueue chain;     /* Step *, on the job itself, that wait for the one before */
        GPtrArray *expected;
        WorkResult result;
        char *refusal; /* the first creation that was refused for good; or NULL */
        GSource *idle; /* will call done */
};

/* ---- results ---- */

/* Keeps the worst result: one that a retry may change replaces one that it cannot. */
static void worsen(Run *run, WorkResult result)
{
        if (run->result == WORK_DONE || result == WORK_RETRY)
                run->result = result;
}

static Expected *expect(const Step *step, const char *uid, const char *version, bool gone)
{
        Expected *expected = g_new0(Expected, 1);

        *expected = (Expected){ .kind = step->action->kind,
                                .namespace = g_strdup(step->run->namespace),
                                .name = g_strdup(step->action->name),
                                .uid = g_strdup(uid),
                                .version = g_strdup(version),
                                .gone = gone };
        g_ptr_array_add(step->run->expected, expected);
        return expected;
}

static bool is_of_job(const Step *step)
{
        return step->action->kind == step->run->config.kind;
}

static gboolean finish(void *data)
{
        Run *run = data;
        GPtrArray *expected = g_steal_pointer(&run->expected);

        g_source_unref(run->idle);
        run->idle = NULL;
        run->config.done(run, run->result, expected, run->config.arg);
        return G_SOURCE_REMOVE;
}

static void send_job_step(Run *run);

static void end_step(Step *step)
{
        Run *run = step->run;
        bool of_job = is_of_job(step);

        g_ptr_array_remove_fast(run->steps, step); /* frees it */
        if (of_job)
                send_job_step(run);
        if (run->steps->len > 0 || run->idle)
                return;
        run->idle = g_idle_source_new();
        g_source_set_priority(run->idle, G_PRIORITY_DEFAULT);
        g_source_set_callback(run->idle, finish, run, NULL);
        g_source_attach(run->idle, g_main_context_get_thread_default());
}

static void warn(const Step *step, const char *reason, const char *message)
{
        const Run *run = step->run;

        kube_event(run->config.recorder, run->job, EVENT_WARNING, reason, "%s", message);
        log_warning("an action on a job's object failed", "namespace", run->namespace, "job",
                    kube_name(run->job), "why", message, NULL);
}

/* `verb`: "create". */
static void warn_failed(const Step *step, const char *reason, const char *verb, const GError *error)
{
        g_autofree char *message = g_strdup_printf("%s failed %s %s: %s", verb, step->action->kind->kind,
                                                   step->action->name, error->message);

        warn(step, reason, message);
}

/* ---- create ---- */

/* Why the object in our way stays there, NULL: it goes, or is ours and will show; the caller's. One that has
 * lost its label will never show: people take labels from pods to look at them apart. */
static char *obstacle(const Step *step, const json_t *object)
{
        const Run *run = step->run;
        const char *label = run->config.label, *wanted = step->label;

        if (!podspec_is_owned(object, run->uid))
                return owner_problem(step->action->kind, object, run->config.kind, kube_name(run->job));
        if (g_strcmp0(kube_label(object, label), wanted) == 0)
                return NULL;
        return g_strdup_printf("create failed %s %s: it is there without its label %s=%s, by which the job's "
                               "objects are known; give it the label back, or delete it",
                               step->action->kind->kind, step->action->name, label, wanted);
}

/* The object exists already. It was created by this operator, and the view does not show it yet; or by an
 * earlier job of the same name; or by another owner, who keeps it. */
static void on_found(const KubeReply *reply, void *arg)
{
        Step *step = arg;
        g_autofree char *problem = reply->error ? NULL : obstacle(step, reply->object);

        step->call = NULL;
        if (problem)
                warn(step, "Create", problem);
        if (!reply->error && !problem && podspec_is_owned(reply->object, step->run->uid))
                expect(step, kube_uid(reply->object), NULL, false);
        else
                worsen(step->run, WORK_RETRY);
        end_step(step);
}

static void look_who(Step *step)
{
        KubeRequest request = { .verb = KUBE_GET,
                                .kind = step->action->kind,
                                .namespace = step->run->namespace,
                                .name = step->action->name };

        step->call = kube_send(step->run->config.client, &request, on_found, step);
}

static void on_created(const KubeReply *reply, void *arg)
{
        Step *step = arg;
        const Action *action = step->action;

        step->call = NULL;
        if (err_is(reply->error, ERR_EXISTS)) {
                look_who(step);
                return;
        }
        if (!reply->error) {
                kube_event(step->run->config.recorder, step->run->job, EVENT_NORMAL, "Created",
                           "created %s %s", action->kind->kind, action->name);
                expect(step, kube_uid(reply->object), NULL, false);
        } else {
                warn_failed(step, "Create", "create", reply->error);
                worsen(step->run, err_is(reply->error, ERR_INVALID) ? WORK_PARK : WORK_RETRY);
                if (err_is(reply->error, ERR_INVALID) && !step->run->refusal)
                        step->run->refusal = g_strdup(reply->error->message);
        }
        end_step(step);
}

/* ---- delete, patch, scale ---- */

static void on_deleted(const KubeReply *reply, void *arg)
{
        Step *step = arg;
        const Action *action = step->action;

        step->call = NULL;
        if (!reply->error)
                kube_event(step->run->config.recorder, step->run->job, EVENT_NORMAL, "Deleted",
                           "deleted %s %s", action->kind->kind, action->name);
        if (!reply->error || err_is(reply->error, ERR_NOT_FOUND) || err_is(reply->error, ERR_CONFLICT)) {
                if (!is_of_job(step)) /* it goes when our finalizer does */
                        expect(step, action->uid, NULL, true);
        } else {
                warn_failed(step, "Delete", "delete", reply->error);
                worsen(step->run, WORK_RETRY);
        }
        end_step(step);
}

/* A conflict means that the view is old: the next pass sees better. */
static void on_patched(const KubeReply *reply, void *arg)
{
        Step *step = arg;

        step->call = NULL;
        if (!reply->error) {
                expect(step, NULL, kube_resource_version(reply->object), false);
        } else if (!err_is(reply->error, ERR_NOT_FOUND)) {
                if (!err_is(reply->error, ERR_CONFLICT))
                        log_warning("a patch was refused and will be tried again", "kind",
                                    step->action->kind->kind, "namespace", step->run->namespace, "name",
                                    step->action->name, "error", reply->error->message, NULL);
                worsen(step->run, WORK_RETRY);
        }
        end_step(step);
}

static void on_scaled(const char *value, const GError *error, void *arg)
{
        Step *step = arg;

        if (error) {
                log_warning("the number of workers could not be written", "key", step->action->name, "error",
                            error->message, NULL);
                worsen(step->run, WORK_RETRY);
        } else {
                kube_event(step->run->config.recorder, step->run->job, EVENT_NORMAL, "Scaled",
                           "scaled replicas to %s", step->action->message);
        }
        end_step(step);
}

/* ---- sending ---- */

static void send_step(Step *step)
{
        const Action *action = step->action;
        Run *run = step->run;
        KubeRequest request = { .kind = action->kind,
                                .namespace = run->namespace,
                                .name = action->verb == ACTION_CREATE ? NULL : action->name,
                                .body = action->body };
        KubeDone done = on_patched;

        switch (action->verb) {
        case ACTION_CREATE:
                request.verb = KUBE_CREATE;
                done = on_created;
                break;
        case ACTION_DELETE:
                request.verb = KUBE_DELETE;
                request.delete_uid = action->uid;
                done = on_deleted;
                break;
        case ACTION_STATUS: request.subresource = "status"; /* fall through */
        case ACTION_PATCH:
        case ACTION_JSON_PATCH:
                request.verb = KUBE_PATCH;
                request.patch = action->verb == ACTION_JSON_PATCH ? PATCH_JSON : PATCH_MERGE;
                break;
        case ACTION_SCALE: etcd_put(run->config.etcd, action->name, action->message, on_scaled, step); return;
        case ACTION_WARN: g_assert_not_reached();
        }
        if (action->verb == ACTION_CREATE)
                step->label = g_strdup(kube_label(action->body, run->config.label));
        step->call = kube_send(run->config.client, &request, done, step);
        g_clear_pointer(&step->action->body, json_decref); /* the call has its text */
}

static void send_job_step(Run *run)
{
        Step *step = g_queue_pop_head(&run->chain);

        if (step)
                send_step(step);
}

static void step_free(void *data)
{
        Step *step = data;

        if (step->call)
                kube_call_cancel(step->call);
        g_free(step->label);
        g_free(step);
}

WorkResult plan_result(const Plan *plan)
{
        switch (plan->end) {
        case PLAN_RETRY: return WORK_RETRY;
        case PLAN_PARK: return WORK_PARK;
        case PLAN_DONE:
        case PLAN_AGAIN: return WORK_DONE;
        }
        g_assert_not_reached();
}

Run *run_start(const RunConfig *config)
{
        Run *run = g_new0(Run, 1);

        run->config = *config;
        run->job = json_incref((json_t *)config->job);
        run->namespace = g_strdup(kube_namespace(config->job));
        run->uid = g_strdup(kube_uid(config->job));
        run->steps = g_ptr_array_new_with_free_func(step_free);
        run->expected = g_ptr_array_new_with_free_func(expected_free);
        g_queue_init(&run->chain);
        run->result = plan_result(config->plan);
        for (guint i = 0; i < config->plan->actions->len; i++) {
                Step *step = g_new0(Step, 1);

                *step = (Step){ .run = run, .action = config->plan->actions->pdata[i] };
                if (step->action->verb == ACTION_WARN) {
                        g_free(step);
                        continue;
                }
                g_ptr_array_add(run->steps, step);
                if (is_of_job(step))
                        g_queue_push_tail(&run->chain, step);
                else
                        send_step(step);
        }
        send_job_step(run);
        if (run->steps->len > 0)
                return run;
        run_free(run);
        return NULL;
}

const char *run_refusal(const Run *run)
{
        return run->refusal;
}

void run_free(Run *run)
{
        if (!run)
                return;
        g_ptr_array_unref(run->steps);
        g_queue_clear(&run->chain);
        if (run->expected)
                g_ptr_array_unref(run->expected);
        if (run->idle) {
                g_source_destroy(run->idle);
                g_source_unref(run->idle);
        }
        plan_free(run->config.plan);
        json_decref(run->job);
        g_free(run->namespace);
        g_free(run->uid);
        g_free(run->refusal);
        g_free(run);
}
