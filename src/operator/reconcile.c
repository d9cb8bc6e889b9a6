/* One pass over a PaddleJob (see reconcile.h and doc/guide/operator.md).
 *
 *     deletion        status Terminating, our finalizer goes; the garbage collector takes the rest
 *     finalizer       ours is there
 *     status          whatever differs
 *     ended           PodGroup goes; by policy pods, then Services; the job itself when its time is over.
 *                     Nothing is ever made again
 *     suspended       pods, Services and PodGroup go
 *     misconfigured   a Warning; nothing is made or deleted until the job changes
 *     gang            without pods: the PodGroup must let them in
 *     members         surplus goes; what is missing is made, ps, worker, heter by index,
 *                     each pod with its Service
 *     addresses       all members have addresses: the ConfigMap says them
 *     etcd            the count of workers of an elastic job
 *
 * What destroys (cleaning) looks at the phase that is recorded, not at the one just found: a crash in between
 * must not leave a job without pods that seems to run. */
#include "operator/reconcile.h"

#include <string.h>

#include "base/err.h"
#include "operator/owner.h"
#include "operator/status.h"
#include "podspec/objects.h"

enum { LOOK_MS = 3600000 }; /* what is due later is looked at again by then */

typedef struct {
        const OperatorRules *rules;
        const Observed *seen;
        PaddleJob job;
        GPtrArray *pods, *services;      /* those that the job controls; borrowed trees */
        GHashTable *pod_at, *service_at; /* name -> tree, of any owner */
        JobPhase phase;
        Plan *plan;
        guint made; /* pods in this pass */
} Pass;

/* ---- the plan ---- */

static void action_free(void *data)
{
        Action *action = data;

        g_free(action->name);
        g_free(action->uid);
        g_free(action->message);
        json_decref(action->body);
        g_free(action);
}

Plan *plan_new(void)
{
        Plan *plan = g_new0(Plan, 1);

        plan->actions = g_ptr_array_new_with_free_func(action_free);
        return plan;
}

void plan_free(Plan *plan)
{
        if (!plan)
                return;
        g_ptr_array_unref(plan->actions);
        g_free(plan);
}

Action *plan_add(Plan *plan, ActionVerb verb, const KubeKind *kind, const char *name)
{
        Action *action = g_new0(Action, 1);

        action->verb = verb;
        action->kind = kind;
        action->name = g_strdup(name);
        g_ptr_array_add(plan->actions, action);
        return action;
}

static Action *add(Pass *pass, ActionVerb verb, const KubeKind *kind, const char *name)
{
        return plan_add(pass->plan, verb, kind, name);
}

static void add_create(Pass *pass, const KubeKind *kind, json_t *body)
{
        add(pass, ACTION_CREATE, kind, kube_name(body))->body = body;
}

static void add_delete(Pass *pass, const KubeKind *kind, const json_t *object)
{
        add(pass, ACTION_DELETE, kind, kube_name(object))->uid = g_strdup(kube_uid(object));
}

static void add_patch(Pass *pass, ActionVerb verb, json_t *body)
{
        add(pass, verb, &kube_paddle_jobs, pass->job.name)->body = body;
}

static void add_warning(Pass *pass, char *message)
{
        Action *action = add(pass, ACTION_WARN, &kube_paddle_jobs, pass->job.name);

        action->reason = "Create";
        action->message = message;
}

static void end_with(Pass *pass, PlanEnd end)
{
        pass->plan->end = MAX(pass->plan->end, end);
}

/* ---- what is there ---- */

static void take_list(const GPtrArray *list, const char *uid, GPtrArray **ret_owned, GHashTable **ret_at)
{
        *ret_owned = g_ptr_array_new();
        *ret_at = g_hash_table_new(g_str_hash, g_str_equal);
        for (guint i = 0; list && i < list->len; i++) {
                const json_t *object = list->pdata[i];

                g_hash_table_insert(*ret_at, (gpointer)kube_name(object), (gpointer)object);
                if (podspec_is_owned(object, uid))
                        g_ptr_array_add(*ret_owned, (gpointer)object);
        }
}

/* Another owner's object under a name of ours: not adopted, not overwritten. */
static void report_foreign(Pass *pass, const KubeKind *kind, const json_t *object)
{
        char *problem = owner_problem(kind, object, &kube_paddle_jobs, pass->job.name);

        end_with(pass, PLAN_RETRY);
        if (problem)
                add_warning(pass, problem);
}

/* ---- the job itself ---- */

static void add_finalizer(Pass *pass)
{
        const json_t *list = kube_get(pass->job.object, "metadata.finalizers");
        const char *version = kube_resource_version(pass->job.object);
        json_t *patch = json_pack("[{s:s, s:s, s:s}]", "op", "test", "path", "/metadata/resourceVersion",
                                  "value", version);

        if (json_array_size(list) > 0)
                json_array_append_new(patch, json_pack("{s:s, s:s, s:s}", "op", "add", "path",
                                                       "/metadata/finalizers/-", "value", JOB_FINALIZER));
        else
                json_array_append_new(patch, json_pack("{s:s, s:s, s:[s]}", "op", "add", "path",
                                                       "/metadata/finalizers", "value", JOB_FINALIZER));
        add_patch(pass, ACTION_JSON_PATCH, patch);
}

/* Removes the finalizer by its index, after a test of its value: if it is gone by then, no other is removed.
 * */
static void remove_finalizer(Pass *pass)
{
        const json_t *list = kube_get(pass->job.object, "metadata.finalizers"), *item;
        size_t i;

        json_array_foreach(list, i, item) {
                g_autofree char *path = g_strdup_printf("/metadata/finalizers/%zu", i);

                if (g_strcmp0(json_string_value(item), JOB_FINALIZER) != 0)
                        continue;
                add_patch(pass, ACTION_JSON_PATCH,
                          json_pack("[{s:s, s:s, s:s}, {s:s, s:s}]", "op", "test", "path", path, "value",
                                    JOB_FINALIZER, "op", "remove", "path", path));
                return;
        }
}

static void write_status(Pass *pass, bool has_problem)
{
        json_t *patch = NULL;

        pass->phase = job_status(&pass->job, pass->pods, has_problem, pass->seen->now_ms, &patch);
        if (patch)
                add_patch(pass, ACTION_STATUS, patch);
}

/* ---- a job that has ended ---- */

/* Those that `goes` says, all without it; how many there still are. */
static guint delete_all(Pass *pass, const KubeKind *kind, const GPtrArray *objects,
                        bool (*goes)(const Pass *pass, const json_t *object))
{
        guint n = 0;

        for (guint i = 0; i < objects->len; i++) {
                if (goes && !goes(pass, objects->pdata[i]))
                        continue;
                n++;
                if (!kube_is_deleting(objects->pdata[i]))
                        add_delete(pass, kind, objects->pdata[i]);
        }
        return n;
}

static bool still_runs(const Pass *pass, const json_t *pod)
{
        const char *phase = kube_get_text(pod, "status.phase");

        return g_strcmp0(phase, "Succeeded") != 0 && g_strcmp0(phase, "Failed") != 0;
}

static bool has_no_pod(const Pass *pass, const json_t *service)
{
        return !g_hash_table_contains(pass->pod_at, kube_name(service));
}

static bool owns_pod_group(const Pass *pass)
{
        return pass->seen->pod_group && podspec_is_owned(pass->seen->pod_group, pass->job.uid);
}

static void delete_group(Pass *pass)
{
        if (pass->rules->volcano && owns_pod_group(pass) && !kube_is_deleting(pass->seen->pod_group))
                add_delete(pass, &kube_pod_groups, pass->seen->pod_group);
}

/* Of a job that was ended by its deadline nothing runs on, whatever the policy. */
static bool was_too_late(const Pass *pass)
{
        gint64 end = paddle_job_ends_at(&pass->job);

        return pass->job.phase == PHASE_FAILED && end && pass->job.completed_at >= end;
}

static void clean(Pass *pass)
{
        bool all = pass->job.clean[pass->job.phase];
        bool some = pass->job.clean_running || (!all && was_too_late(pass));

        delete_group(pass);
        if ((all || some) && delete_all(pass, &kube_pods, pass->pods, some ? still_runs : NULL) == 0)
                (void)delete_all(pass, &kube_services, pass->services, some ? has_no_pod : NULL);
}

/* True if the time `at` (ms since 1970) has come; else sets the next look. */
static bool is_due(Pass *pass, gint64 at)
{
        gint64 left = at - pass->seen->now_ms;

        if (left > 0)
                pass->plan->again_ms = MIN(left, LOOK_MS);
        return left <= 0;
}

static void expire(Pass *pass)
{
        const PaddleJob *job = &pass->job;

        if (job->ttl_s >= 0 && job->completed_at && is_due(pass, job->completed_at + job->ttl_s * 1000))
                add_delete(pass, &kube_paddle_jobs, job->object);
}

static void suspend(Pass *pass)
{
        delete_group(pass);
        if (delete_all(pass, &kube_pods, pass->pods, NULL) == 0)
                (void)delete_all(pass, &kube_services, pass->services, NULL);
}

/* ---- the gang ---- */

/* True if pods may be created. Only the first pod waits for the group's admission: Volcano calls a group that
 * has lost a member Unknown until that member exists again. */
static bool pass_gate(Pass *pass)
{
        static const char *const open[] = { "Running", "Inqueue", "Completed" };
        const json_t *group = pass->seen->pod_group;
        const char *phase = kube_get_text(group, "status.phase");
        g_autoptr(GError) error = NULL;
        json_t *body;

        if (!pass->rules->volcano || !job_is_for_volcano(&pass->job))
                return true;
        if (group && !owns_pod_group(pass) && !pass->job.has_group) {
                report_foreign(pass, &kube_pod_groups, group);
                return false;
        }
        if (!group && !pass->job.has_group) {
                body = member_pod_group(&pass->job, &error);
                if (body) {
                        add_create(pass, &kube_pod_groups, body);
                } else {
                        add_warning(pass, g_strdup_printf("create failed PodGroup %s: %s", pass->job.name,
                                                          error->message));
                        end_with(pass, PLAN_PARK);
                }
        }
        if (pass->pods->len > 0)
                return true;
        for (gsize i = 0; group && i < G_N_ELEMENTS(open); i++)
                if (g_strcmp0(phase, open[i]) == 0)
                        return !kube_is_deleting(group);
        return false;
}

/* ---- members ---- */

static bool is_surplus(const Pass *pass, const json_t *object)
{
        JobRole role;
        gint64 index;

        return job_pod_parse(&pass->job, kube_name(object), &role, &index) &&
               !job_wants(&pass->job, role, index);
}

static void delete_surplus(Pass *pass)
{
        for (guint i = 0; i < pass->pods->len; i++)
                if (is_surplus(pass, pass->pods->pdata[i]) && !kube_is_deleting(pass->pods->pdata[i]))
                        add_delete(pass, &kube_pods, pass->pods->pdata[i]);
        for (guint i = 0; i < pass->services->len && !pass->rules->compat; i++)
                if (is_surplus(pass, pass->services->pdata[i]) && !kube_is_deleting(pass->services->pdata[i]))
                        add_delete(pass, &kube_services, pass->services->pdata[i]);
}

static void make_pod(Pass *pass, JobRole role, gint64 index, const char *name)
{
        const json_t *pod = g_hash_table_lookup(pass->pod_at, name);

        if (pod && !podspec_is_owned(pod, pass->job.uid)) {
                report_foreign(pass, &kube_pods, pod);
        } else if (!pod && pass->made < PLAN_PODS_MAX) {
                pass->made++;
                add_create(pass, &kube_pods, paddlejob_pod(&pass->job, pass->rules, role, index));
        } else if (!pod) {
                end_with(pass, PLAN_AGAIN);
        }
}

static void make_service(Pass *pass, JobRole role, gint64 index, const char *name)
{
        const json_t *service = g_hash_table_lookup(pass->service_at, name);

        if (service && !podspec_is_owned(service, pass->job.uid))
                report_foreign(pass, &kube_services, service);
        else if (!service && pass->plan->end != PLAN_AGAIN)
                add_create(pass, &kube_services, paddlejob_service(&pass->job, role, index));
}

static void make_members(Pass *pass)
{
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                for (gint64 i = 0; job_wants(&pass->job, role, i); i++) {
                        g_autofree char *name = job_pod_name(&pass->job, role, i);

                        make_pod(pass, role, i, name);
                        make_service(pass, role, i, name);
                }
}

/* ---- addresses ---- */

static const char *address(const Pass *pass, const char *name)
{
        const json_t *pod = g_hash_table_lookup(pass->pod_at, name);
        const char *ip = kube_get_text(pod, "status.podIP");

        return pod && ip && *ip && podspec_is_owned(pod, pass->job.uid) && !kube_is_deleting(pod) ? ip : NULL;
}

/* False when a member has no address yet. */
static bool find_addresses(const Pass *pass, GPtrArray *ips[ROLES])
{
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                for (gint64 i = 0; job_wants(&pass->job, role, i); i++) {
                        g_autofree char *name = job_pod_name(&pass->job, role, i);
                        const char *ip = address(pass, name);

                        if (!ip)
                                return false;
                        g_ptr_array_add(ips[role], (gpointer)ip);
                }
        return true;
}

static void write_addresses(Pass *pass, GPtrArray *ips[ROLES])
{
        const json_t *map = pass->seen->config_map;
        json_t *data = member_addresses(&pass->job, pass->rules, ips, map);
        json_t *patch;

        if (!map) {
                add_create(pass, &kube_config_maps, member_config_map(&pass->job, data));
                return;
        }
        patch = pass->rules->compat || kube_is_deleting(map) ? NULL : member_addresses_patch(map, data);
        if (patch)
                add(pass, ACTION_PATCH, &kube_config_maps, pass->job.name)->body = patch;
        json_decref(data);
}

/* In Host mode the ports of a job are its own on every host: reserved first, and recorded in its annotation.
 * A running job of the older operator has its port already. */
static bool has_port(Pass *pass)
{
        gint64 had = member_host_port(&pass->job, pass->seen->config_map);
        g_autofree char *port = g_strdup_printf("%" G_GINT64_FORMAT, had ? had : pass->seen->host_port);

        if (pass->job.intranet != INTRANET_HOST || pass->job.host_port || !pass->seen->host_port)
                return true;
        add_patch(pass, ACTION_PATCH,
                  json_pack("{s:{s:{s:s}}}", "metadata", "annotations", JOB_HOST_PORT, port));
        return false;
}

static void spread_addresses(Pass *pass)
{
        GPtrArray *ips[ROLES];
        const json_t *map = pass->seen->config_map;
        bool has = has_port(pass);

        if (map && !podspec_is_owned(map, pass->job.uid)) {
                report_foreign(pass, &kube_config_maps, map);
                return;
        }
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                ips[role] = g_ptr_array_new();
        if (has && find_addresses(pass, ips))
                write_addresses(pass, ips);
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                g_ptr_array_unref(ips[role]);
}

/* ---- etcd ---- */

bool job_syncs_np(const PaddleJob *job, const OperatorRules *rules)
{
        return rules->etcd_server && *rules->etcd_server && job->elastic && !job->deleting &&
               !job_phase_is_final(job->phase) && strcmp(job_mode_name(job), "Collective") == 0;
}

char *job_np_key(const PaddleJob *job)
{
        return g_strdup_printf("/paddle/%s-%s/np", job->namespace, job->name);
}

/* Only a key that the first training process has made; and not before what is too much has gone. */
static void sync_np(Pass *pass)
{
        g_autofree char *np = g_strdup_printf("%" G_GINT64_FORMAT, pass->job.role[ROLE_WORKER].replicas);
        Action *action;

        if (!job_syncs_np(&pass->job, pass->rules) || !pass->seen->np || strcmp(pass->seen->np, np) == 0)
                return;
        for (guint i = 0; i < pass->pods->len; i++)
                if (is_surplus(pass, pass->pods->pdata[i]))
                        return;
        action = add(pass, ACTION_SCALE, NULL, NULL);
        action->name = job_np_key(&pass->job);
        action->message = g_steal_pointer(&np);
}

/* ---- the pass ---- */

static void warn_of_deadline(Pass *pass)
{
        if (pass->seen->now_ms < paddle_job_ends_at(&pass->job))
                return; /* something else has failed */
        add_warning(pass, g_strdup_printf("PaddleJob %s has run for %" G_GINT64_FORMAT
                                          " s, which is all that spec.activeDeadlineSeconds allows",
                                          pass->job.name, pass->job.deadline_s));
        ((Action *)pass->plan->actions->pdata[pass->plan->actions->len - 1])->reason = "DeadlineExceeded";
}

static void run_open_job(Pass *pass)
{
        g_autofree char *problem = paddle_job_problem(&pass->job);

        write_status(pass, problem != NULL);
        if (job_phase_is_final(pass->phase)) {
                if (paddle_job_ends_at(&pass->job) && pass->phase == PHASE_FAILED)
                        warn_of_deadline(pass);
                return; /* first recorded, then cleaned */
        }
        if (paddle_job_ends_at(&pass->job))
                (void)is_due(pass, paddle_job_ends_at(&pass->job));
        if (pass->job.suspended) {
                suspend(pass);
                return;
        }
        if (problem) {
                add_warning(pass, g_strdup_printf("create failed Pod %s: %s", pass->job.name, problem));
                end_with(pass, PLAN_PARK);
                return;
        }
        if (!pass_gate(pass))
                return;
        delete_surplus(pass);
        make_members(pass);
        spread_addresses(pass);
        sync_np(pass);
}

static void run(Pass *pass)
{
        if (pass->job.deleting) {
                if (!pass->job.has_finalizer)
                        return;
                write_status(pass, false);
                remove_finalizer(pass);
                return;
        }
        if (!pass->job.has_finalizer)
                add_finalizer(pass);
        if (job_phase_is_final(pass->job.phase)) {
                write_status(pass, false);
                clean(pass);
                expire(pass);
                return;
        }
        run_open_job(pass);
}

Plan *reconcile(const OperatorRules *rules, const Observed *observed)
{
        Pass pass = { .rules = rules, .seen = observed, .plan = plan_new() };

        paddle_job_read(observed->job, &pass.job);
        take_list(observed->pods, pass.job.uid, &pass.pods, &pass.pod_at);
        take_list(observed->services, pass.job.uid, &pass.services, &pass.service_at);
        run(&pass);
        g_ptr_array_unref(pass.pods);
        g_ptr_array_unref(pass.services);
        g_hash_table_unref(pass.pod_at);
        g_hash_table_unref(pass.service_at);
        return pass.plan;
}
