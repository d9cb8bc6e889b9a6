/* ReplicaSets and Job of a TrainingJob (see training_members.h). */
#include "operator/training_members.h"

#include <string.h>

#include "podspec/objects.h"

#define ETCD_IMAGE "quay.io/coreos/etcd:v3.2.1"
#define OLD_GPU "alpha.kubernetes.io/nvidia-gpu"
#define NEW_GPU "nvidia.com/gpu"

enum { MASTER_PORT = 8080, ETCD_PORT = 2379, NO_LIMIT = G_MAXINT32 };

static const struct {
        const KubeKind *kind;
        const char *label;
        const char *annotation; /* in the host's network: the count */
} members[TRAINING_ROLES] = {
        [TRAINING_MASTER] = { &kube_replica_sets, "paddle-job-master", TRAINING_REPLICAS },
        [TRAINING_PSERVER] = { &kube_replica_sets, "paddle-job-pserver", TRAINING_REPLICAS },
        [TRAINING_TRAINER] = { &kube_jobs, "paddle-job", TRAINING_PARALLELISM },
};

const KubeKind *training_kind(TrainingRole role)
{
        return members[role].kind;
}

const char *training_label(TrainingRole role)
{
        return members[role].label;
}

char *training_member_name(const TrainingJob *job, TrainingRole role)
{
        return g_strconcat(job->name, "-", training_role_name(role), NULL);
}

/* ---- environment ---- */

static void env_number(json_t *container, const char *name, gint64 value)
{
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);

        podspec_env(container, name, text);
}

/* The same for all roles: the launcher in the image picks what it needs. */
static void add_env(json_t *container, const TrainingJob *job)
{
        bool gpu = training_gpus(job) > 0;
        gint64 trainers = job->role[TRAINING_TRAINER].min;

        podspec_env(container, "PADDLE_JOB_NAME", job->name);
        env_number(container, "TRAINERS", trainers);
        env_number(container, "PSERVERS", job->role[TRAINING_PSERVER].min);
        podspec_env(container, "TOPOLOGY", job->entrypoint);
        podspec_env(container, "ENTRY", job->entrypoint);
        podspec_env(container, "TRAINER_PACKAGE", job->workspace);
        env_number(container, "PADDLE_INIT_PORT", job->port);
        env_number(container, "PADDLE_INIT_TRAINER_COUNT", training_threads(job));
        env_number(container, "PADDLE_INIT_PORTS_NUM", job->ports);
        env_number(container, "PADDLE_INIT_PORTS_NUM_FOR_SPARSE", job->ports_sparse);
        env_number(container, "PADDLE_INIT_NUM_GRADIENT_SERVERS", trainers);
        env_number(container, "PADDLE_INIT_NUM_PASSES", job->passes);
        podspec_env(container, "PADDLE_INIT_USE_GPU", gpu ? "1" : "0");
        if (gpu)
                podspec_env(container, "LD_LIBRARY_PATH", "/usr/local/cuda/lib64");
        if (job->fault_tolerant && job->etcd_endpoint)
                podspec_env(container, "ETCD_ENDPOINT", job->etcd_endpoint);
        podspec_env_field(container, "NAMESPACE", "metadata.namespace");
        podspec_env_field(container, "POD_IP", "status.podIP");
}

/* ---- containers ---- */

static void add_port(json_t *container, const char *name, gint64 port)
{
        json_t *ports = json_object_get(container, "ports");

        if (!ports) {
                ports = json_array();
                json_object_set_new(container, "ports", ports);
        }
        json_array_append_new(ports,
                              json_pack("{s:s, s:I}", "name", name, "containerPort", (json_int_t)port));
}

static void add_ports(json_t *container, const TrainingJob *job, TrainingRole role)
{
        if (role == TRAINING_MASTER)
                add_port(container, "master-port", MASTER_PORT);
        for (gint64 i = 0; role == TRAINING_PSERVER && i < job->ports + job->ports_sparse; i++) {
                g_autofree char *name = g_strdup_printf("jobport-%" G_GINT64_FORMAT, i);

                add_port(container, name, job->port + i);
        }
}

/* Kubernetes gave GPUs another name since. */
static void rename_gpu(json_t *list)
{
        json_t *gpus = json_object_get(list, OLD_GPU);

        if (gpus && !json_object_get(list, NEW_GPU))
                json_object_set(list, NEW_GPU, gpus);
        json_object_del(list, OLD_GPU);
}

static json_t *make_resources(const TrainingJob *job, TrainingRole role)
{
        json_t *resources;

        if (role == TRAINING_MASTER && !job->role[role].resources)
                return json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "requests", "cpu", "1", "memory", "500Mi",
                                 "limits", "cpu", "2", "memory", "1Gi");
        if (!job->role[role].resources)
                return json_object();
        resources = json_deep_copy(job->role[role].resources);
        rename_gpu(json_object_get(resources, "requests"));
        rename_gpu(json_object_get(resources, "limits"));
        return resources;
}

static json_t *make_command(const TrainingJob *job, TrainingRole role)
{
        bool new = job->fault_tolerant;

        if (role == TRAINING_MASTER)
                return json_pack("[s, s]", "paddle_k8s", "start_master");
        if (role == TRAINING_PSERVER)
                return json_pack("[s, s]", "paddle_k8s", new ? "start_new_pserver" : "start_pserver");
        return new ? json_pack("[s, s]", "paddle_k8s", "start_new_trainer")
                   : json_pack("[s, s, s]", "paddle_k8s", "start_trainer", "v2");
}

static void set_pull_policy(json_t *container, const TrainingJob *job, const char *own)
{
        const char *policy = job->pull_policy ? job->pull_policy : own;

        if (policy)
                json_object_set_new(container, "imagePullPolicy", json_string(policy));
}

static json_t *make_container(const TrainingJob *job, TrainingRole role)
{
        bool trainer = role == TRAINING_TRAINER;
        json_t *container = json_pack("{s:s, s:s, s:o, s:o}", "name", trainer ? "trainer" : job->name,
                                      "image", job->image, "command", make_command(job, role), "resources",
                                      make_resources(job, role));

        set_pull_policy(container, job, trainer ? "Always" : NULL);
        add_ports(container, job, role);
        add_env(container, job);
        if (job->mounts)
                json_object_set_new(container, "volumeMounts", json_deep_copy(job->mounts));
        return container;
}

/* One member of one etcd, beside the master. */
static json_t *make_etcd(const TrainingJob *job)
{
        g_autofree char *name = g_strconcat(job->name, "-etcd", NULL);
        json_t *container =
                json_pack("{s:s, s:s, s:[s, s,s, s,s, s,s, s,s, s,s, s,s, s,s]}", "name", name, "image",
                          ETCD_IMAGE, "command", "etcd", "-name", "etcd0", "-advertise-client-urls",
                          "http://$(POD_IP):2379,http://$(POD_IP):4001", "-listen-client-urls",
                          "http://0.0.0.0:2379,http://0.0.0.0:4001", "-initial-advertise-peer-urls",
                          "http://$(POD_IP):2380", "-listen-peer-urls", "http://0.0.0.0:2380",
                          "-initial-cluster", "etcd0=http://$(POD_IP):2380", "-initial-cluster-state", "new");

        set_pull_policy(container, job, NULL);
        add_port(container, "etcd-port", ETCD_PORT);
        podspec_env_field(container, "POD_IP", "status.podIP");
        return container;
}

/* ---- pods ---- */

static json_t *make_pod_spec(const TrainingJob *job, TrainingRole role)
{
        json_t *spec =
                json_pack("{s:s, s:[o]}", "restartPolicy", role == TRAINING_TRAINER ? "Never" : "Always",
                          "containers", make_container(job, role));

        if (role == TRAINING_MASTER && !job->etcd_endpoint)
                json_array_append_new(json_object_get(spec, "containers"), make_etcd(job));
        if (job->volumes)
                json_object_set_new(spec, "volumes", json_deep_copy(job->volumes));
        if (job->pull_secrets)
                json_object_set_new(spec, "imagePullSecrets", json_deep_copy(job->pull_secrets));
        if (job->host_network) {
                json_object_set_new(spec, "hostNetwork", json_true());
                json_object_set_new(spec, "dnsPolicy", json_string("ClusterFirstWithHostNet"));
        }
        return spec;
}

static json_t *make_template(const TrainingJob *job, TrainingRole role)
{
        json_t *template = json_pack("{s:o}", "spec", make_pod_spec(job, role));

        podspec_label(template, members[role].label, job->name);
        podspec_label(template, TRAINING_MANAGED_BY, TRAINING_MANAGER);
        return template;
}

/* ---- ReplicaSets, Job ---- */

static json_t *make_replica_set_spec(const TrainingJob *job, TrainingRole role, gint64 count)
{
        return json_pack("{s:I, s:{s:{s:s}}, s:o}", "replicas", (json_int_t)count, "selector", "matchLabels",
                         members[role].label, job->name, "template", make_template(job, role));
}

/* Of an elastic job `completions` stays unset: Kubernetes would never run more pods than it says. How many
 * failures a fault tolerant job lives with is for us to say; of any other job the first one is the end. */
static json_t *make_job_spec(const TrainingJob *job, TrainingRole role, gint64 count)
{
        json_t *spec = json_pack("{s:I, s:i, s:o}", "parallelism", (json_int_t)count, "backoffLimit",
                                 job->fault_tolerant ? NO_LIMIT : 0, "template", make_template(job, role));

        if (!training_is_elastic(job))
                json_object_set_new(spec, "completions", json_integer(job->role[role].min));
        return spec;
}

json_t *training_member(const TrainingJob *job, TrainingRole role)
{
        PodspecOwner owner = { &kube_training_jobs, job->name, job->uid };
        g_autofree char *name = training_member_name(job, role);
        g_autofree char *count = g_strdup_printf("%" G_GINT64_FORMAT, job->role[role].min);
        json_t *object = podspec_object(members[role].kind, job->namespace, name, &owner);
        gint64 first = job->host_network ? 0 : job->role[role].min;

        podspec_label(object, members[role].label, job->name);
        podspec_label(object, TRAINING_MANAGED_BY, TRAINING_MANAGER);
        if (job->host_network) { /* a port manager writes the ports, then the count */
                podspec_annotate(object, TRAINING_HOST_NETWORK, "true");
                podspec_annotate(object, members[role].annotation, count);
        }
        json_object_set_new(object, "spec",
                            role == TRAINING_TRAINER ? make_job_spec(job, role, first)
                                                     : make_replica_set_spec(job, role, first));
        return object;
}
