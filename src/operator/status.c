/* Phase and status of a PaddleJob (see status.h).
 *
 *     Pending ─▶ Starting ─▶ Running ─▶ Completed | Failed          (both final)
 *        any phase may return to Pending or Starting while pods come anew; deletion: Terminating
 *
 * The phase follows from the pods as they are now. Pods that are being deleted, or will be in the next
 * moment, and those that the spec no longer asks for, say nothing about the job: a kubelet lets them fail on
 * their way out. What is written differs from what is there in something that means something: the
 * resourceVersion of a ref alone is no reason to write. */
#include "operator/status.h"

#include <string.h>

#include "kube/kind.h"

typedef struct {
        gint64 pending, starting, running, failed, succeeded;
        GPtrArray *pods; /* all of the role, in order of their indices; borrowed */
} Count;

/* ---- one pod ---- */

static const json_t *find_by_name(const json_t *list, const char *name)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                if (g_strcmp0(json_string_value(json_object_get(item, "name")), name) == 0)
                        return item;
        }
        return NULL;
}

static bool all_ready(const json_t *statuses, bool running)
{
        const json_t *item;
        size_t i;

        json_array_foreach(statuses, i, item) {
                if (!json_is_true(json_object_get(item, "ready")) ||
                    (running && !json_is_object(kube_get(item, "state.running"))))
                        return false;
        }
        return true;
}

static void count_pod(const json_t *pod, Count *count)
{
        const json_t *status = json_object_get(pod, "status");
        const json_t *init = json_object_get(status, "initContainerStatuses");
        const char *phase = json_string_value(json_object_get(status, "phase"));

        if (!phase || strcmp(phase, "Pending") == 0) {
                if (json_is_object(kube_get(find_by_name(init, COORD_CONTAINER), "state.running")))
                        count->starting++;
                else
                        count->pending++;
        } else if (strcmp(phase, "Running") == 0) {
                if (all_ready(init, false) && all_ready(json_object_get(status, "containerStatuses"), true))
                        count->running++;
                else
                        count->starting++;
        } else if (strcmp(phase, "Failed") == 0) {
                count->failed++;
        } else if (strcmp(phase, "Succeeded") == 0) {
                count->succeeded++;
        }
}

/* ---- all pods ---- */

static gint64 pod_index(const PaddleJob *job, const json_t *pod)
{
        JobRole role;
        gint64 index;

        return job_pod_parse(job, kube_name(pod), &role, &index) ? index : G_MAXINT64;
}

static int by_index(gconstpointer a, gconstpointer b, gpointer arg)
{
        gint64 x = pod_index(arg, *(const json_t *const *)a), y = pod_index(arg, *(const json_t *const *)b);

        return x < y   ? -1
               : x > y ? 1
                       : strcmp(kube_name(*(json_t *const *)a), kube_name(*(json_t *const *)b));
}

/* The role by the annotation; without the annotation by the pod's name. */
static JobRole pod_role(const PaddleJob *job, const json_t *pod)
{
        JobRole role = job_role_find(kube_annotation(pod, JOB_RESOURCE_ROLE));
        gint64 index;

        return role < ROLES || job_pod_parse(job, kube_name(pod), &role, &index) ? role : ROLES;
}

/* Kubernetes lets a pod fail before it deletes it because its node has gone, a pod of higher priority needs
 * its place, or the node is drained. Such a pod is replaced. A pod that a kubelet ends because its node lacks
 * a resource (TerminationByKubelet) is not deleted. */
static bool is_doomed(const json_t *pod)
{
        static const char *const reasons[] = { "DeletionByPodGC", "DeletionByTaintManager",
                                               "EvictionByEvictionAPI", "PreemptionByScheduler", NULL };
        const json_t *condition;
        size_t i;

        json_array_foreach(kube_get(pod, "status.conditions"), i, condition) {
                const char *reason = json_string_value(json_object_get(condition, "reason"));

                if (g_strcmp0(json_string_value(json_object_get(condition, "type")), POD_DISRUPTED) == 0 &&
                    g_strcmp0(json_string_value(json_object_get(condition, "status")), "True") == 0 &&
                    reason && g_strv_contains(reasons, reason))
                        return true;
        }
        return false;
}

/* Of a job that has ended, every pod counts as it was. */
static bool counts(const PaddleJob *job, const json_t *pod)
{
        JobRole role;
        gint64 index;

        if (kube_is_deleting(pod) || (is_doomed(pod) && !job_phase_is_final(job->phase)))
                return false;
        return job_phase_is_final(job->phase) || !job_pod_parse(job, kube_name(pod), &role, &index) ||
               job_wants(job, role, index);
}

static void count_pods(const PaddleJob *job, const GPtrArray *pods, Count count[ROLES])
{
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                count[role].pods = g_ptr_array_new();
        for (guint i = 0; pods && i < pods->len; i++) {
                JobRole role = pod_role(job, pods->pdata[i]);

                if (role == ROLES)
                        continue;
                g_ptr_array_add(count[role].pods, pods->pdata[i]);
                if (counts(job, pods->pdata[i]))
                        count_pod(pods->pdata[i], &count[role]);
        }
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                g_ptr_array_sort_with_data(count[role].pods, by_index, (gpointer)job);
}

/* ---- the phase ---- */

/* An elastic job lives while enough of its workers do. */
static bool failures_matter(const PaddleJob *job, JobRole role, const Count *count)
{
        const JobRoleSpec *spec = &job->role[role];

        return count->failed > 0 && !(job->elastic && role == ROLE_WORKER && spec->min >= 1 &&
                                      count->running + count->succeeded >= spec->min);
}

static bool all_run(const PaddleJob *job, const Count count[ROLES])
{
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                if (job->role[role].present && count[role].running != job->role[role].replicas)
                        return false;
        return true;
}

static bool all_done(const PaddleJob *job, const Count count[ROLES])
{
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                if (job->role[role].present &&
                    count[role].succeeded + count[role].failed != job->role[role].replicas)
                        return false;
        return true;
}

static bool workers_succeeded(const PaddleJob *job, const Count *count)
{
        return job->by_workers && count->succeeded == job->role[ROLE_WORKER].replicas && count->succeeded > 0;
}

static bool is_too_late(const PaddleJob *job, gint64 now_ms)
{
        gint64 end = paddle_job_ends_at(job);

        return end && now_ms >= end;
}

static JobPhase phase_of_pods(const PaddleJob *job, const Count count[ROLES], bool has_problem)
{
        bool failed = false, starting = false, pending = false;

        for (JobRole role = ROLE_PS; role < ROLES; role++) {
                failed |= failures_matter(job, role, &count[role]);
                starting |= count[role].starting > 0;
                pending |= count[role].pending > 0;
        }
        if (!failed && !has_problem && workers_succeeded(job, &count[ROLE_WORKER]))
                return PHASE_COMPLETED;
        if (failed || starting || pending)
                return failed ? PHASE_FAILED : starting ? PHASE_STARTING : PHASE_PENDING;
        if (!has_problem && all_run(job, count))
                return PHASE_RUNNING;
        if (!has_problem && all_done(job, count))
                return PHASE_COMPLETED;
        return job->phase == PHASE_NONE ? PHASE_PENDING : job->phase;
}

/* A job that is found to have completed has done so in time. */
static JobPhase find_phase(const PaddleJob *job, const Count count[ROLES], bool has_problem, gint64 now_ms)
{
        JobPhase phase;

        if (job->deleting)
                return PHASE_TERMINATING;
        if (job_phase_is_final(job->phase))
                return job->phase;
        if (job->suspended)
                return PHASE_PENDING;
        phase = phase_of_pods(job, count, has_problem);
        return is_too_late(job, now_ms) && phase != PHASE_COMPLETED ? PHASE_FAILED : phase;
}

/* ---- the status ---- */

static json_t *format_refs(const GPtrArray *pods)
{
        json_t *refs = json_array();

        for (guint i = 0; i < pods->len; i++) {
                const json_t *pod = pods->pdata[i];

                json_array_append_new(refs, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "apiVersion", "v1",
                                                      "kind", "Pod", "name", kube_name(pod), "namespace",
                                                      kube_namespace(pod), "resourceVersion",
                                                      kube_resource_version(pod), "uid", kube_uid(pod)));
        }
        return refs;
}

static void set_count(json_t *object, const char *name, gint64 count)
{
        if (count > 0)
                json_object_set_new(object, name, json_integer(count));
}

static json_t *format_count(const Count *count)
{
        json_t *object = json_object();

        set_count(object, "pending", count->pending);
        set_count(object, "starting", count->starting);
        set_count(object, "running", count->running);
        set_count(object, "failed", count->failed);
        set_count(object, "succeeded", count->succeeded);
        json_object_set_new(object, "refs", format_refs(count->pods));
        return object;
}

static void set_time_once(json_t *status, const json_t *old, const char *name, bool now, gint64 now_ms)
{
        json_t *was = json_object_get(old, name);
        g_autofree char *text = NULL;

        if (json_is_string(was)) {
                json_object_set(status, name, was);
        } else if (now) {
                text = kube_time_format(now_ms, false);
                json_object_set_new(status, name, json_string(text));
        }
}

static json_t *format_status(const PaddleJob *job, const Count count[ROLES], JobPhase phase, gint64 now_ms)
{
        const json_t *old = json_object_get(job->object, "status");
        json_t *status = json_object();

        if (phase == PHASE_OTHER)
                json_object_set(status, "phase", json_object_get(old, "phase"));
        else
                json_object_set_new(status, "phase", json_string(job_phase_name(phase)));
        json_object_set_new(status, "mode", json_string(job_mode_name(job)));
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                if (count[role].pods->len > 0)
                        json_object_set_new(status, job_role_name(role), format_count(&count[role]));
        if (!job->suspended || job_phase_is_final(phase)) /* it begins anew */
                set_time_once(status, old, "startTime", phase == PHASE_RUNNING, now_ms);
        set_time_once(status, old, "completionTime", job_phase_is_final(phase), now_ms);
        return status;
}

/* ---- what differs ---- */

static bool same_refs(const json_t *a, const json_t *b)
{
        static const char *const members[] = { "apiVersion", "kind", "name", "namespace", "uid" };

        if (!json_is_array(a) || json_array_size(a) != json_array_size(b))
                return false;
        for (size_t i = 0; i < json_array_size(a); i++)
                for (gsize m = 0; m < G_N_ELEMENTS(members); m++)
                        if (!json_equal(json_object_get(json_array_get(a, i), members[m]),
                                        json_object_get(json_array_get(b, i), members[m])))
                                return false;
        return true;
}

static json_t *diff_count(const json_t *old, json_t *new)
{
        static const char *const counters[] = { "pending", "starting",  "running",
                                                "failed",  "succeeded", "unknown" };
        json_t *patch = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(counters); i++) {
                json_t *was = json_object_get(old, counters[i]), *is = json_object_get(new, counters[i]);

                if (is && !(was && json_equal(was, is)))
                        json_object_set(patch, counters[i], is);
                else if (was && !is && json_integer_value(was) != 0)
                        json_object_set_new(patch, counters[i], json_null());
        }
        if (json_object_size(patch) > 0 ||
            !same_refs(json_object_get(old, "refs"), json_object_get(new, "refs")))
                json_object_set(patch, "refs", json_object_get(new, "refs"));
        return patch;
}

/* Fields that we do not know stay as they are. */
static json_t *diff_status(const json_t *old, const json_t *new)
{
        static const char *const scalars[] = { "phase", "mode", "startTime", "completionTime" };
        json_t *patch = json_object();

        for (gsize i = 0; i < G_N_ELEMENTS(scalars); i++) {
                json_t *was = json_object_get(old, scalars[i]), *is = json_object_get(new, scalars[i]);

                if (is && !(was && json_equal(was, is)))
                        json_object_set(patch, scalars[i], is);
                else if (!is && json_is_string(was))
                        json_object_set_new(patch, scalars[i], json_null());
        }
        for (JobRole role = ROLE_PS; role < ROLES; role++) {
                const char *name = job_role_name(role);
                json_t *was = json_object_get(old, name), *is = json_object_get(new, name);
                g_autoptr(json_t) differs = is ? diff_count(was, is) : NULL;

                if (is && json_object_size(differs) > 0)
                        json_object_set(patch, name, differs);
                else if (!is && was && !json_is_null(was))
                        json_object_set_new(patch, name, json_null());
        }
        return patch;
}

JobPhase job_status(const PaddleJob *job, const GPtrArray *pods, bool has_problem, gint64 now_ms,
                    json_t **ret_patch)
{
        Count count[ROLES] = { 0 };
        g_autoptr(json_t) status = NULL, differs = NULL;
        JobPhase phase;

        count_pods(job, pods, count);
        phase = find_phase(job, count, has_problem, now_ms);
        status = format_status(job, count, phase, now_ms);
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                g_ptr_array_unref(count[role].pods);
        differs = diff_status(json_object_get(job->object, "status"), status);
        *ret_patch = json_object_size(differs) > 0 ? json_pack("{s:O}", "status", differs) : NULL;
        return phase;
}
