/* Reading a TrainingJob (see training.h). */
#include "operator/training.h"

#include <string.h>

#include "kube/kind.h"
#include "model/resources.h"

enum { PORT_MAX = 65535 };

static const char *const role_names[TRAINING_ROLES] = { "master", "pserver", "trainer" };
static const char *const phase_names[TRAINING_PHASES] = { "", "creating", "running", "succeeded", "failed" };

const char *training_role_name(TrainingRole role)
{
        return role_names[role];
}

const char *training_phase_name(TrainingPhase phase)
{
        return phase_names[phase];
}

/* ---- members ---- */

static const char *read_text(const json_t *object, const char *name, const char *otherwise)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text && *text ? text : otherwise;
}

static gint64 read_int(const json_t *object, const char *name, gint64 otherwise)
{
        json_int_t value = json_integer_value(json_object_get(object, name));

        return value ? value : otherwise;
}

static const json_t *read_list(const json_t *object, const char *name)
{
        const json_t *list = json_object_get(object, name);

        return json_is_array(list) && json_array_size(list) > 0 ? list : NULL;
}

static void read_role(const json_t *spec, const char *name, TrainingRoleSpec *ret)
{
        const json_t *role = json_object_get(spec, name);
        const json_t *resources = json_object_get(role, "resources");

        ret->min = read_int(role, "min-instance", 0);
        ret->max = read_int(role, "max-instance", ret->min);
        ret->resources = json_object_size(resources) > 0 ? resources : NULL;
}

static TrainingPhase read_phase(const json_t *object)
{
        const char *word = kube_get_text(object, "status.phase");
        TrainingPhase phase = TRAINING_NEW;

        while (phase < TRAINING_PHASES && g_strcmp0(word, phase_names[phase]) != 0)
                phase++;
        return phase < TRAINING_PHASES ? phase : TRAINING_NEW;
}

/* Some write `passes` beneath the trainer. */
static gint64 read_passes(const json_t *spec)
{
        return read_int(spec, "passes", read_int(json_object_get(spec, "trainer"), "passes", 1));
}

void training_job_read(const json_t *object, TrainingJob *ret)
{
        const json_t *spec = json_object_get(object, "spec"), *trainer = json_object_get(spec, "trainer");
        const json_t *mounts = read_list(spec, "VolumeMounts");

        *ret = (TrainingJob){
                .object = object,
                .name = kube_name(object),
                .namespace = kube_namespace(object),
                .uid = kube_uid(object),
                .deleting = kube_is_deleting(object),
                .image = read_text(spec, "image", "paddlepaddle/paddlecloud-job"),
                .pull_policy = read_text(spec, "imagePullPolicy", NULL),
                .entrypoint = read_text(trainer, "entrypoint", ""),
                .workspace = read_text(trainer, "workspace", ""),
                .etcd_endpoint = read_text(json_object_get(spec, "master"), "etcd-endpoint", NULL),
                .host_network = json_is_true(json_object_get(spec, "host_network")),
                .fault_tolerant = json_is_true(json_object_get(spec, "fault_tolerant")),
                .port = read_int(spec, "port", 7164),
                .ports = read_int(spec, "ports_num", 1),
                .ports_sparse = read_int(spec, "ports_num_for_sparse", 1),
                .passes = read_passes(spec),
                .volumes = read_list(spec, "volumes"),
                .mounts = mounts ? mounts : read_list(spec, "volumeMounts"),
                .pull_secrets = read_list(spec, "imagePullSecrets"),
                .phase = read_phase(object),
        };
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                read_role(spec, role_names[role], &ret->role[role]);
        ret->role[TRAINING_MASTER].min = ret->role[TRAINING_MASTER].max = ret->fault_tolerant ? 1 : 0;
        if (!ret->etcd_endpoint)
                ret->etcd_endpoint = read_text(trainer, "etcd-endpoint", NULL);
}

/* ---- what follows ---- */

bool training_is_elastic(const TrainingJob *job)
{
        return job->role[TRAINING_TRAINER].min < job->role[TRAINING_TRAINER].max;
}

/* Rounded up to a whole one; 0 for what is no quantity, which the API server refuses. */
static gint64 read_amount(const json_t *resources, const char *list, const char *name)
{
        const json_t *value = json_object_get(json_object_get(resources, list), name);
        g_autofree char *text = NULL;
        gint64 milli = 0;

        if (!json_is_string(value) && !json_is_number(value))
                return 0;
        text = json_is_string(value) ? g_strdup(json_string_value(value)) : json_format(value);
        return cpu_parse(name, text, &milli, NULL) ? milli / 1000 + (milli % 1000 > 0) : 0;
}

gint64 training_gpus(const TrainingJob *job)
{
        static const char *const names[] = { "nvidia.com/gpu", "alpha.kubernetes.io/nvidia-gpu" };
        gint64 gpus = 0;

        for (gsize i = 0; i < G_N_ELEMENTS(names) && gpus == 0; i++)
                gpus = read_amount(job->role[TRAINING_TRAINER].resources, "limits", names[i]);
        return gpus;
}

gint64 training_threads(const TrainingJob *job)
{
        static const char *const lists[] = { "requests", "limits" };
        gint64 threads = training_gpus(job);

        for (gsize i = 0; i < G_N_ELEMENTS(lists) && threads == 0; i++)
                threads = read_amount(job->role[TRAINING_TRAINER].resources, lists[i], "cpu");
        return MAX(threads, 1);
}

/* ---- problems ---- */

static char *role_problem(const TrainingJob *job, TrainingRole role)
{
        const TrainingRoleSpec *spec = &job->role[role];
        gint64 least = role == TRAINING_TRAINER ? 1 : 0;

        if (spec->min < least || spec->min > TRAINING_INSTANCES_MAX)
                return g_strdup_printf("spec.%s.min-instance is %" G_GINT64_FORMAT "; %" G_GINT64_FORMAT
                                       " to %d are possible",
                                       role_names[role], spec->min, least, TRAINING_INSTANCES_MAX);
        if (spec->max < spec->min || spec->max > TRAINING_INSTANCES_MAX)
                return g_strdup_printf("spec.%s.max-instance is %" G_GINT64_FORMAT
                                       "; from min-instance, %" G_GINT64_FORMAT ", to %d are possible",
                                       role_names[role], spec->max, spec->min, TRAINING_INSTANCES_MAX);
        return NULL;
}

static char *ports_problem(const TrainingJob *job)
{
        if (job->ports < 0 || job->ports_sparse < 0 || job->ports > TRAINING_PORTS_MAX ||
            job->ports_sparse > TRAINING_PORTS_MAX)
                return g_strdup_printf("spec.ports_num is %" G_GINT64_FORMAT
                                       " and spec.ports_num_for_sparse %" G_GINT64_FORMAT
                                       "; each may be 1 to %d",
                                       job->ports, job->ports_sparse, TRAINING_PORTS_MAX);
        if (job->port < 1 || job->port > PORT_MAX - (job->ports + job->ports_sparse) + 1)
                return g_strdup_printf("spec.port is %" G_GINT64_FORMAT "; it and the %" G_GINT64_FORMAT
                                       " ports after it must lie between 1 and %d",
                                       job->port, job->ports + job->ports_sparse - 1, PORT_MAX);
        return NULL;
}

char *training_job_problem(const TrainingJob *job)
{
        char *problem = NULL;

        if (!job->fault_tolerant && training_is_elastic(job))
                return g_strdup(
                        "max-instances should equal to min-instances when fault_tolerant is disabled");
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES && !problem; role++)
                problem = role_problem(job, role);
        return problem ? problem : ports_problem(job);
}
