/* One pass over a TrainingJob (see training_reconcile.h and doc/guide/trainingjob.md).
 *
 *     "" ─▶ creating ─▶ running ─▶ succeeded | failed
 *
 *     deletion   nothing: the garbage collector takes all that the job owns
 *     status     whatever differs
 *     ended      ReplicaSets of master and pservers go, with their pods; trainers of a failed job stop
 *     members    master, pserver, trainer: each is made once the one before is ready
 *
 * What releases looks at the phase that is recorded, not at the one just found: a crash in between leaves no
 * job without pservers that seems to run. The trainers' parallelism is written when their Job is made, and
 * later only to stop them: what others make of it meanwhile, holds. */
#include "operator/training_reconcile.h"

#include <string.h>

#include "operator/owner.h"
#include "operator/training_members.h"
#include "podspec/objects.h"

typedef enum { STATE_STARTING, STATE_RUNNING, STATE_FAILED, STATE_SUCCEEDED, STATES } State;

typedef struct {
        const TrainingObserved *seen;
        TrainingJob job;
        const json_t *member[TRAINING_ROLES]; /* those that the job owns */
        gint64 count[TRAINING_ROLES][STATES]; /* pods */
        TrainingPhase phase;
        char *reason;
        Plan *plan;
} Pass;

static const struct {
        const char *name, *pod_phase;
} states[STATES] = {
        [STATE_STARTING] = { "starting", "Pending" },
        [STATE_RUNNING] = { "running", "Running" },
        [STATE_FAILED] = { "failed", "Failed" },
        [STATE_SUCCEEDED] = { "succeeded", "Succeeded" },
};

/* ---- what is there ---- */

static State state_of(const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");
        State state = STATE_STARTING;

        if (!phase)
                return STATE_STARTING;
        while (state < STATES && strcmp(states[state].pod_phase, phase) != 0)
                state++;
        return state;
}

static void count_pod(Pass *pass, const json_t *pod)
{
        State state = state_of(pod);

        if (kube_is_deleting(pod) || state == STATES)
                return;
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                if (pass->member[role] && podspec_is_owned(pod, kube_uid(pass->member[role])))
                        pass->count[role][state]++;
}

static void look(Pass *pass)
{
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                if (pass->seen->member[role] && podspec_is_owned(pass->seen->member[role], pass->job.uid))
                        pass->member[role] = pass->seen->member[role];
        for (guint i = 0; pass->seen->pods && i < pass->seen->pods->len; i++)
                count_pod(pass, pass->seen->pods->pdata[i]);
}

static bool is_ready(const Pass *pass, TrainingRole role)
{
        const json_t *set = pass->member[role];

        return set && !kube_is_deleting(set) &&
               kube_get_int(set, "status.readyReplicas", 0) >= pass->job.role[role].min;
}

/* The message of a condition that holds, NULL when it does not. */
static const char *condition(const json_t *object, const char *type)
{
        const json_t *list = kube_get(object, "status.conditions"), *item;
        size_t i;

        json_array_foreach(list, i, item) {
                const char *message = json_string_value(json_object_get(item, "message"));

                if (g_strcmp0(json_string_value(json_object_get(item, "type")), type) == 0 &&
                    g_strcmp0(json_string_value(json_object_get(item, "status")), "True") == 0)
                        return message ? message : "";
        }
        return NULL;
}

/* ---- the phase ---- */

static void end(Pass *pass, TrainingPhase phase, const char *reason)
{
        pass->phase = phase;
        pass->reason = g_strdup(reason);
}

/* A count of 0 means that the ports of the host are still to come. */
static gint64 parallelism(const Pass *pass)
{
        gint64 count = kube_get_int(pass->member[TRAINING_TRAINER], "spec.parallelism", 0);

        return count > 0 ? count : pass->job.role[TRAINING_TRAINER].min;
}

static void judge_tolerant(Pass *pass, gint64 active, gint64 succeeded, gint64 failed)
{
        if (failed >= parallelism(pass))
                end(pass, TRAINING_FAILED, "all trainer have failed!");
        else if (succeeded > 0 && active == 0)
                end(pass, TRAINING_SUCCEEDED, "Success!");
}

static void judge_plain(Pass *pass, gint64 active, gint64 succeeded, gint64 failed)
{
        gint64 wanted = kube_get_int(pass->member[TRAINING_TRAINER], "spec.completions", parallelism(pass));

        if (failed > 0)
                end(pass, TRAINING_FAILED, "at least one trainer failed!");
        else if (succeeded >= wanted && active == 0)
                end(pass, TRAINING_SUCCEEDED, "all trainer have succeeded!");
}

static void judge(Pass *pass)
{
        const json_t *job = pass->member[TRAINING_TRAINER];
        gint64 active = kube_get_int(job, "status.active", 0);
        gint64 succeeded = kube_get_int(job, "status.succeeded", 0);
        gint64 failed = kube_get_int(job, "status.failed", 0);
        const char *why = condition(job, "Failed");

        pass->phase = TRAINING_RUNNING;
        if (pass->job.fault_tolerant)
                judge_tolerant(pass, active, succeeded, failed);
        else
                judge_plain(pass, active, succeeded, failed);
        if (pass->phase == TRAINING_RUNNING && why) /* by a rule that somebody else gave it */
                end(pass, TRAINING_FAILED, why);
}

static void find_phase(Pass *pass)
{
        g_autofree char *problem = NULL;

        pass->phase = pass->job.phase;
        if (training_phase_is_final(pass->phase)) {
                pass->reason = g_strdup(kube_get_text(pass->job.object, "status.reason"));
                return;
        }
        problem = training_job_problem(&pass->job);
        if (problem || pass->seen->refusal)
                end(pass, TRAINING_FAILED, problem ? problem : pass->seen->refusal);
        else if (pass->member[TRAINING_TRAINER])
                judge(pass);
        else if (pass->phase == TRAINING_NEW)
                pass->phase = TRAINING_CREATING;
}

/* ---- the status ---- */

static const char *role_state(const Pass *pass, TrainingRole role)
{
        const gint64 *count = pass->count[role];

        if (!pass->member[role])
                return "";
        if (role != TRAINING_TRAINER)
                return states[is_ready(pass, role) ? STATE_RUNNING : STATE_STARTING].name;
        if (training_phase_is_final(pass->phase))
                return training_phase_name(pass->phase);
        return states[count[STATE_RUNNING] + count[STATE_SUCCEEDED] > 0 ? STATE_RUNNING : STATE_STARTING]
                .name;
}

static json_t *format_role(const Pass *pass, TrainingRole role)
{
        static const char *const types[TRAINING_ROLES] = { "MASTER", "PSERVER", "TRAINER" };
        json_t *count = json_object();

        for (State state = STATE_STARTING; state < STATES; state++)
                if (pass->count[role][state] > 0)
                        json_object_set_new(count, states[state].name,
                                            json_integer(pass->count[role][state]));
        return json_pack("{s:s, s:s, s:o}", "training_resource_type", types[role], "state",
                         role_state(pass, role), "resource_states", count);
}

static json_t *format_status(const Pass *pass)
{
        json_t *roles = json_array();

        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                if (pass->job.role[role].min > 0)
                        json_array_append_new(roles, format_role(pass, role));
        return json_pack("{s:s, s:s, s:{}, s:o}", "phase", training_phase_name(pass->phase), "reason",
                         pass->reason ? pass->reason : "", "scale_status", "replica_statuses", roles);
}

/* Of the very job that was looked at: a job of its name that is made meanwhile has another version, and the
 * server refuses. */
static void write_status(Pass *pass)
{
        const json_t *old = json_object_get(pass->job.object, "status");
        g_autoptr(json_t) status = format_status(pass);
        json_t *patch = json_object(), *is;
        const char *name;

        json_object_foreach(status, name, is) {
                const json_t *was = json_object_get(old, name);

                if (!was || (!json_equal(was, is) && strcmp(name, "scale_status") != 0))
                        json_object_set(patch, name, is); /* what others write into scale_status is theirs */
        }
        if (json_object_size(patch) > 0)
                plan_add(pass->plan, ACTION_STATUS, &kube_training_jobs, pass->job.name)->body =
                        json_pack("{s:{s:s}, s:O}", "metadata", "resourceVersion",
                                  kube_resource_version(pass->job.object), "status", patch);
        json_decref(patch);
}

static void warn(Pass *pass, const char *reason, char *message)
{
        Action *action = plan_add(pass->plan, ACTION_WARN, &kube_training_jobs, pass->job.name);

        action->reason = reason;
        action->message = message;
}

/* ---- members ---- */

static void report_foreign(Pass *pass, TrainingRole role)
{
        char *problem = owner_problem(training_kind(role), pass->seen->member[role], &kube_training_jobs,
                                      pass->job.name);

        pass->plan->end = PLAN_RETRY;
        if (problem)
                warn(pass, "Create", problem);
}

static void make_member(Pass *pass, TrainingRole role)
{
        g_autofree char *name = training_member_name(&pass->job, role);

        if (pass->seen->member[role])
                report_foreign(pass, role);
        else
                plan_add(pass->plan, ACTION_CREATE, training_kind(role), name)->body =
                        training_member(&pass->job, role);
}

static void make_members(Pass *pass)
{
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++) {
                if (pass->job.role[role].min == 0)
                        continue;
                if (!pass->member[role])
                        make_member(pass, role);
                if (!is_ready(pass, role))
                        return;
        }
}

/* ---- a job that has ended ---- */

static void release(Pass *pass, TrainingRole role)
{
        const json_t *set = pass->member[role];

        if (set && !kube_is_deleting(set))
                plan_add(pass->plan, ACTION_DELETE, training_kind(role), kube_name(set))->uid =
                        g_strdup(kube_uid(set));
}

/* Trainers without pservers would wait for ever. Those that have ended stay, with their logs. */
static void stop_trainers(Pass *pass)
{
        const json_t *job = pass->member[TRAINING_TRAINER];

        if (!job || pass->phase != TRAINING_FAILED || kube_is_deleting(job) || condition(job, "Failed") ||
            condition(job, "Complete") || kube_get_int(job, "spec.parallelism", 1) == 0)
                return;
        plan_add(pass->plan, ACTION_PATCH, &kube_jobs, kube_name(job))->body =
                json_pack("{s:{s:i}}", "spec", "parallelism", 0);
}

/* ---- the pass ---- */

static void run(Pass *pass)
{
        if (pass->job.deleting)
                return;
        look(pass);
        find_phase(pass);
        write_status(pass);
        if (training_phase_is_final(pass->job.phase)) {
                release(pass, TRAINING_MASTER);
                release(pass, TRAINING_PSERVER);
                stop_trainers(pass);
        } else if (pass->phase == TRAINING_FAILED) { /* recorded first, then released */
                warn(pass, "Failed", g_strdup(pass->reason));
        } else if (!training_phase_is_final(pass->phase)) {
                make_members(pass);
        }
}

Plan *training_reconcile(const TrainingObserved *observed)
{
        Pass pass = { .seen = observed, .plan = plan_new() };

        training_job_read(observed->job, &pass.job);
        run(&pass);
        g_free(pass.reason);
        return pass.plan;
}
