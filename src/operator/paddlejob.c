/* PaddleJobs (see paddlejob.h); the fields are described in doc/guide/operator.md. */
#include "operator/paddlejob.h"

#include <string.h>

#include "base/number.h"
#include "kube/kind.h"
#include "podspec/objects.h"

enum { LABEL_MAX = 63 }; /* of a DNS label (RFC 1035), which pod, host and Service names are */

static const char *const role_names[ROLES] = { "ps", "worker", "heter" };

static const char *const phase_names[PHASES] = {
        [PHASE_NONE] = "",
        [PHASE_PENDING] = "Pending",
        [PHASE_STARTING] = "Starting",
        [PHASE_RUNNING] = "Running",
        [PHASE_COMPLETED] = "Completed",
        [PHASE_FAILED] = "Failed",
        [PHASE_TERMINATING] = "Terminating",
};

/* In the older operator's words, and in Kubeflow's. */
static const struct {
        const char *name;
        bool at_failed, at_completed, running;
} clean_policies[] = {
        { "", false, true, false },
        { "Always", true, true, false },
        { "Never", false, false, false },
        { "OnFailure", true, false, false },
        { "OnCompletion", false, true, false },
        { "All", true, true, false },
        { "None", false, false, false },
        { "Running", true, true, true },
};

const char *job_role_name(JobRole role)
{
        return role_names[role];
}

JobRole job_role_find(const char *name)
{
        JobRole role = ROLE_PS;

        while (role < ROLES && g_strcmp0(role_names[role], name) != 0)
                role++;
        return role;
}

const char *job_phase_name(JobPhase phase)
{
        return phase_names[phase];
}

static JobPhase phase_find(const char *name)
{
        for (JobPhase phase = PHASE_NONE; phase < PHASE_OTHER; phase++)
                if (strcmp(phase_names[phase], name ? name : "") == 0)
                        return phase;
        return PHASE_OTHER;
}

const char *job_mode_name(const PaddleJob *job)
{
        if (job->role[ROLE_PS].present)
                return "PS";
        return job->role[ROLE_WORKER].present && job->role[ROLE_WORKER].replicas > 1 ? "Collective"
                                                                                     : "Single";
}

/* ---- reading ---- */

static gint64 integer(const json_t *object, const char *name, gint64 otherwise)
{
        const json_t *value = json_object_get(object, name);

        return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static const char *text(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

static void read_role(const json_t *spec, JobRole role, JobRoleSpec *ret)
{
        const json_t *object = json_object_get(spec, role_names[role]);

        if (!json_is_object(object))
                return;
        ret->present = true;
        ret->replicas = integer(object, "replicas", 0);
        ret->min = integer(object, "requests", -1);
        ret->max = integer(object, "limits", -1);
        ret->template = json_object_get(object, "template");
        ret->pod_spec = json_object_get(ret->template, "spec");
}

/* Only an elastic worker's count has bounds; bounds that contradict each other bind nothing. */
static void clamp_worker(PaddleJob *job)
{
        JobRoleSpec *worker = &job->role[ROLE_WORKER];

        if (!job->elastic || worker->replicas < 0 ||
            (worker->min >= 0 && worker->max >= 0 && worker->max < worker->min))
                return;
        if (worker->max >= 0)
                worker->replicas = MIN(worker->replicas, worker->max);
        if (worker->min >= 0)
                worker->replicas = MAX(worker->replicas, worker->min);
}

static void read_clean_policy(const json_t *spec, PaddleJob *ret)
{
        const char *name = text(spec, "cleanPodPolicy");

        for (gsize i = 0; i < G_N_ELEMENTS(clean_policies); i++) {
                if (strcmp(clean_policies[i].name, name ? name : "") != 0)
                        continue;
                ret->clean[PHASE_FAILED] = clean_policies[i].at_failed;
                ret->clean[PHASE_COMPLETED] = clean_policies[i].at_completed;
                ret->clean_running = clean_policies[i].running;
        }
}

static void read_scheduling(const json_t *spec, PaddleJob *ret)
{
        const json_t *policy = json_object_get(spec, "schedulingPolicy");
        const json_t *resources = json_object_get(policy, "minResources");

        ret->min_available = integer(policy, "minAvailable", -1);
        ret->queue = text(policy, "queue");
        ret->priority_class = text(policy, "priorityClass");
        ret->min_resources = json_is_object(resources) ? resources : NULL;
}

static void read_metadata(const json_t *object, PaddleJob *ret)
{
        const json_t *finalizers = kube_get(object, "metadata.finalizers"), *item;
        const char *port = kube_annotation(object, JOB_HOST_PORT);
        size_t i;

        ret->name = kube_name(object);
        ret->namespace = kube_namespace(object);
        ret->uid = kube_uid(object);
        ret->deleting = kube_is_deleting(object);
        json_array_foreach(finalizers, i, item) {
                ret->has_finalizer |= g_strcmp0(json_string_value(item), JOB_FINALIZER) == 0;
        }
        if (port)
                (void)number_parse(JOB_HOST_PORT, port, 1, G_MAXUINT16 - JOB_PORTS + 1, &ret->host_port,
                                   NULL); /* what is no port is as good as none */
        ret->heter_trainer = g_strcmp0(kube_annotation(object, JOB_HETER_PROTOCOL), "trainer") == 0;
        ret->has_group = g_strcmp0(kube_annotation(object, JOB_GROUP), ret->name) == 0;
}

void paddle_job_read(const json_t *object, PaddleJob *ret)
{
        const json_t *spec = json_object_get(object, "spec");
        const char *intranet = text(spec, "intranet");

        *ret = (PaddleJob){ .object = object };
        read_metadata(object, ret);
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                read_role(spec, role, &ret->role[role]);
        ret->intranet = g_strcmp0(intranet, "Service") == 0 ? INTRANET_SERVICE
                        : g_strcmp0(intranet, "Host") == 0  ? INTRANET_HOST
                                                            : INTRANET_POD_IP;
        ret->gloo = MAX(integer(spec, "withGloo", 0), 0);
        ret->elastic = json_is_integer(json_object_get(spec, "elastic"));
        ret->phase = phase_find(kube_get_text(object, "status.phase"));
        clamp_worker(ret);
        ret->by_workers =
                g_strcmp0(text(spec, "successPolicy"), "AllWorkers") == 0 && ret->role[ROLE_WORKER].present;
        read_clean_policy(spec, ret);
        read_scheduling(spec, ret);
        ret->suspended = json_is_true(json_object_get(spec, "suspend"));
        ret->ttl_s = CLAMP(integer(spec, "ttlSecondsAfterFinished", -1), -1, G_MAXINT32);
        ret->deadline_s = CLAMP(integer(spec, "activeDeadlineSeconds", 0), 0, G_MAXINT32);
        ret->started_at = kube_time(kube_get_text(object, "status.startTime"));
        ret->completed_at = kube_time(kube_get_text(object, "status.completionTime"));
}

gint64 paddle_job_ends_at(const PaddleJob *job)
{
        return job->deadline_s && job->started_at ? job->started_at + job->deadline_s * 1000 : 0;
}

/* ---- names ---- */

char *job_pod_name(const PaddleJob *job, JobRole role, gint64 index)
{
        return g_strdup_printf("%s-%s-%" G_GINT64_FORMAT, job->name, role_names[role], index);
}

bool job_pod_parse(const PaddleJob *job, const char *name, JobRole *ret_role, gint64 *ret_index)
{
        size_t len = strlen(job->name);
        const char *dash;
        g_autofree char *word = NULL;

        if (strncmp(name, job->name, len) != 0 || name[len] != '-' || !(dash = strchr(name + len + 1, '-')))
                return false;
        word = g_strndup(name + len + 1, (gsize)(dash - (name + len + 1)));
        *ret_role = job_role_find(word);
        return *ret_role < ROLES && (dash[1] != '0' || !dash[2]) &&
               number_parse("index", dash + 1, 0, G_MAXINT32, ret_index, NULL);
}

bool job_wants(const PaddleJob *job, JobRole role, gint64 index)
{
        return job->role[role].present && index < job->role[role].replicas;
}

bool job_is_for_volcano(const PaddleJob *job)
{
        for (JobRole role = ROLE_PS; role < ROLES; role++) {
                const char *scheduler = text(job->role[role].pod_spec, "schedulerName");

                if (scheduler && *scheduler && strcmp(scheduler, "volcano") != 0)
                        return false;
        }
        return true;
}

/* ---- what no pod can be made of ---- */

static char *name_problem(const PaddleJob *job)
{
        if (!g_ascii_islower(job->name[0]) ||
            job->name[strspn(job->name, "abcdefghijklmnopqrstuvwxyz0123456789-")])
                return g_strdup_printf(
                        "the name '%s' cannot begin the name of a Service: it must begin with a "
                        "letter and hold only letters, digits and dashes; choose another",
                        job->name);
        for (JobRole role = ROLE_PS; role < ROLES; role++) {
                g_autofree char *last = NULL;

                if (!job->role[role].present || job->role[role].replicas <= 0)
                        continue;
                last = job_pod_name(job, role, job->role[role].replicas - 1);
                if (strlen(last) > LABEL_MAX)
                        return g_strdup_printf(
                                "the pod name '%s' has %zu characters, and %d is the most; choose "
                                "a shorter name for the job",
                                last, strlen(last), LABEL_MAX);
        }
        return NULL;
}

static char *role_problem(const JobRoleSpec *spec, const char *name)
{
        g_autofree char *problem = NULL;

        if (!spec->present)
                return NULL;
        if (spec->replicas < 0 || spec->replicas > JOB_REPLICAS_MAX)
                return g_strdup_printf("spec.%s.replicas: %" G_GINT64_FORMAT " is not within 0 and %d", name,
                                       spec->replicas, JOB_REPLICAS_MAX);
        if (spec->replicas == 0)
                return NULL;
        problem = podspec_template_problem(spec->template);
        if (!problem)
                return NULL;
        return g_strdup_printf("spec.%s.template%s%s", name, g_str_has_prefix(problem, "is ") ? " " : ".",
                               problem);
}

char *paddle_job_problem(const PaddleJob *job)
{
        bool any = false;
        char *problem = NULL;

        for (JobRole role = ROLE_PS; role < ROLES && !problem; role++) {
                any |= job->role[role].present;
                problem = role_problem(&job->role[role], role_names[role]);
        }
        if (!problem && !any)
                problem = g_strdup("the spec has none of the roles ps, worker and heter");
        if (!problem && job->elastic && !job->role[ROLE_WORKER].present)
                problem = g_strdup("spec.elastic needs spec.worker");
        return problem ? problem : name_problem(job);
}
