/* Jobs as the objects of Kubeflow's training operator: TFJob, PyTorchJob, MPIJob of kubeflow.org/v1
 * (doc/reference/scheduling.md, "Objects of frameworks", "Gangs of operators" and "States of the objects").
 * The operator makes a pod for each replica, names the others to it, and for MPI a way in. Trying again is
 * ours: pods restart never, and stay as they ended. */
#include "runtime/kubernetes/pod/form-rows.h"

#include <string.h>

#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

#define OPERATOR "Kubeflow's training operator"

/* A kind's field for replicas, its names for our roles, and the name of the container that it expects. */
typedef struct {
        const KubeKind *kind;
        const char *field, *container;
        struct {
                const char *role, *type;
        } types[5];
} Replicas;

static const Replicas rows[] = {
        { &kube_tf_jobs,
          "tfReplicaSpecs",
          "tensorflow",
          { { "pserver", "PS" },
            { "master", "Chief" },
            { "worker", "Worker" },
            { "evaluator", "Evaluator" } } },
        { &kube_pytorch_jobs,
          "pytorchReplicaSpecs",
          "pytorch",
          { { "master", "Master" }, { "worker", "Worker" } } },
        { &kube_mpi_jobs, "mpiReplicaSpecs", "mpi", { { "master", "Launcher" }, { "worker", "Worker" } } },
};

static const Replicas *row_of(const KubeKind *kind)
{
        gsize i = 0;

        while (rows[i].kind != kind)
                i++;
        return &rows[i];
}

/* ---- replicas ---- */

static void put_env(json_t *container, const json_t *pods)
{
        g_autoptr(GHashTable) common = form_common_names(pods);

        json_object_set_new(container, "env", form_entries(json_array_get(pods, 0), common, true));
}

/* The number of a pod that is alone is in its template; of others it is the operator's, counted from the
 * first. */
static void put_number(json_t *template, const json_t *pods)
{
        const char *first = kube_label(json_array_get(pods, 0), "paddle-index");

        if (json_array_size(pods) == 1)
                podspec_label(template, "paddle-index", first);
        else if (strcmp(first, "0") != 0)
                podspec_label(template, MEMBER_FIRST_LABEL, first);
}

static json_t *replica_of(const Form *form, const json_t *pods)
{
        const char *name = row_of(form->kind)->container;
        int n = (int)json_array_size(pods);
        json_t *template = form_template(form, json_array_get(pods, 0), n);
        json_t *spec = json_object_get(template, "spec"), *container = gate_main_of(spec);

        put_env(container, pods);
        put_number(template, pods);
        podspec_label(template, MEMBER_CONTAINER_LABEL, name);
        json_object_set_new(container, "name", json_string(name));
        if (json_array_size(json_object_get(container, "command")) == 0)
                json_object_del(container, "command");
        json_object_del(spec, "restartPolicy");
        return json_pack("{s:i, s:s, s:o}", "replicas", n, "restartPolicy", "Never", "template", template);
}

static json_t *replicas_of(const Form *form, const json_t *pods)
{
        const Replicas *row = row_of(form->kind);
        json_t *all = json_object();

        for (gsize i = 0; row->types[i].role; i++) {
                g_autoptr(json_t) own = form_pods_of(pods, row->types[i].role);

                if (json_array_size(own) > 0)
                        json_object_set_new(all, row->types[i].type, replica_of(form, own));
        }
        return all;
}

/* ---- the job ---- */

static json_t *run_policy(const json_t *pods)
{
        json_t *policy = json_pack("{s:s}", "cleanPodPolicy", "None"), *gang = form_scheduling_policy(pods);

        if (gang)
                json_object_set_new(policy, "schedulingPolicy", gang);
        return policy;
}

static json_t *job_of(const Form *form, const json_t *pods, json_t *replicas)
{
        json_t *job = form_whole_object(form, pods);

        json_object_set_new(job, "spec",
                            json_pack("{s:o, s:o}", "runPolicy", run_policy(pods), row_of(form->kind)->field,
                                      replicas));
        return job;
}

/* Without a chief the job is done when all workers are, as we have it. */
static json_t *tf_job(const Form *form, const json_t *pods)
{
        json_t *replicas = replicas_of(form, pods), *job = job_of(form, pods, replicas);

        if (!json_object_get(replicas, "Chief"))
                json_object_set_new(json_object_get(job, "spec"), "successPolicy", json_string("AllWorkers"));
        return json_pack("[o]", job);
}

static json_t *slice(const json_t *list, gsize from, gsize to)
{
        json_t *part = json_array();

        for (; from < to; from++)
                json_array_append(part, json_array_get(list, from));
        return part;
}

/* The operator gives ranks and the address of rank 0 only where there is a master: worker 0 is, then. */
static json_t *led_by_worker(const Form *form, const json_t *workers)
{
        gsize n = json_array_size(workers);
        g_autoptr(json_t) lead = slice(workers, 0, 1), others = slice(workers, 1, n);
        json_t *replicas = json_pack("{s:o}", "Master", replica_of(form, lead));

        if (n > 1)
                json_object_set_new(replicas, "Worker", replica_of(form, others));
        return replicas;
}

static json_t *pytorch_job(const Form *form, const json_t *pods)
{
        g_autoptr(json_t) masters = form_pods_of(pods, "master"), workers = form_pods_of(pods, "worker");
        bool led = json_array_size(masters) > 0;

        return json_pack("[o]",
                         job_of(form, pods, led ? replicas_of(form, pods) : led_by_worker(form, workers)));
}

/* The launcher reaches the workers by the API, with an account that the operator makes. */
static json_t *mpi_job(const Form *form, const json_t *pods)
{
        json_t *replicas = replicas_of(form, pods), *job = job_of(form, pods, replicas);

        json_object_del(kube_get(replicas, "Launcher.template.spec"), "automountServiceAccountToken");
        json_object_set_new(json_object_get(job, "spec"), "slotsPerWorker", json_integer(1));
        return json_pack("[o]", job);
}

/* ---- what the operator says ---- */

/* The last of its conditions that is true (doc/reference/scheduling.md, "States of the objects"). */
static const json_t *state_of(const json_t *object)
{
        const json_t *list = kube_get(object, "status.conditions"), *one, *last = NULL;
        gsize i;

        json_array_foreach(list, i, one) {
                if (g_strcmp0(kube_get_text(one, "status"), "True") == 0)
                        last = one;
        }
        return last;
}

static FormWord says(const json_t *object, char **ret_text)
{
        const json_t *state = state_of(object);
        const char *type = kube_get_text(state, "type"), *message = kube_get_text(state, "message");

        if (!state)
                return FORM_SILENT;
        *ret_text = g_strdup_printf("%s: %s", type, message ? message : "no reason was given");
        return g_strcmp0(type, "Failed") == 0 ? FORM_FAILED : FORM_WAITS;
}

/* ---- rows ---- */

static const char *const tf_told[] = { "TF_CONFIG", NULL };

/* One pod is one machine to it: the rank there is 0. */
static const char *const pytorch_told[] = {
        "MASTER_ADDR",     "MASTER_PORT",      "WORLD_SIZE",         "RANK",
        "LOCAL_RANK",      "PYTHONUNBUFFERED", "PET_NNODES",         "PET_NODE_RANK",
        "PET_MASTER_ADDR", "PET_MASTER_PORT",  "PET_NPROC_PER_NODE", NULL
};

/* Ours are hosts on one machine; what holds for those keeps real ones apart. */
static const char *const mpi_told[] = { "PADDLE_MPI_HOST",
                                        "PADDLE_MPI_WORKERS",
                                        "PADDLE_MPI_HOSTS",
                                        "OMPI_MCA_orte_keep_fqdn_hostnames",
                                        "OMPI_MCA_plm_rsh_num_concurrent",
                                        "OMPI_MCA_plm_rsh_no_tree_spawn",
                                        "OMPI_MCA_orte_leave_session_attached",
                                        "OMPI_MCA_oob_tcp_if_include",
                                        "OMPI_MCA_pml",
                                        "OMPI_MCA_btl",
                                        "OMPI_MCA_btl_tcp_if_include",
                                        "OMPI_MCA_hwloc_base_binding_policy",
                                        "OMPI_MCA_mpi_yield_when_idle",
                                        NULL };

const Form form_tf_job = { .kind = &kube_tf_jobs,
                           .names_pods = true,
                           .whole = true,
                           .propagation = "Background",
                           .objects = tf_job,
                           .framework = "tensorflow",
                           .operator= OPERATOR,
                           .instead = FORM_INSTEAD_OF_OTHERS,
                           .told = tf_told,
                           .says = says };

const Form form_pytorch_job = { .kind = &kube_pytorch_jobs,
                                .names_pods = true,
                                .whole = true,
                                .propagation = "Background",
                                .objects = pytorch_job,
                                .framework = "pytorch",
                                .operator= OPERATOR,
                                .instead = FORM_INSTEAD_OF_OTHERS,
                                .told = pytorch_told,
                                .own = "LOCAL_RANK=0",
                                .says = says };

const Form form_mpi_job = { .kind = &kube_mpi_jobs,
                            .names_pods = true,
                            .whole = true,
                            .propagation = "Background",
                            .objects = mpi_job,
                            .framework = "mpi",
                            .operator= OPERATOR,
                            .instead = FORM_INSTEAD_OF_OTHERS,
                            .told = mpi_told,
                            .says = says };
