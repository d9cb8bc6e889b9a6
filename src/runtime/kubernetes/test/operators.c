/* Jobs as the objects of others' operators: expected values from doc/reference/scheduling.md, "Objects of
 * frameworks" to "States of the objects", and the operators' own definitions (kubeflow.org/v1,
 * sparkoperator.k8s.io/v1beta2). */
#include "runtime/kubernetes/pod/form.h"

#include <string.h>

#include "base/test/quoted.h"
#include "model/framework.h"
#include "model/job.h"
#include "runtime/kubernetes/pod/member.h"
#include "runtime/kubernetes/pod/pod-secrets.h"
#include "runtime/kubernetes/pod/template.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

#define ID "0123456789abcdef"
#define VALUES_MAX 24

static const MemberHome home = { "jobs", "s3rv3r", "base:1" };
static char *all[] = { "tensorflow", "pytorch", "mpi", "spark", NULL };
static const FormWish wish = { .operators = all };

typedef struct {
        Spec *spec;
        Job *job;
        RuntimeAttempt about;
} Made;

static void made_init(Made *made, const char *text)
{
        g_autoptr(json_t) object = json_of(text);
        g_autoptr(GError) error = NULL;

        made->spec = spec_parse(object, &error);
        g_assert_no_error(error);
        made->job = job_new("ann", "job", made->spec, 0);
        made->job->queue = "vision";
        g_strlcpy(made->job->id, ID, sizeof made->job->id);
        made->job->attempt = 2;
        made->about = (RuntimeAttempt){ .job = made->job };
}

static void made_clear(Made *made)
{
        job_unref(made->job);
        spec_unref(made->spec);
}

/* As the runtime makes it: with all that the framework's row adds, less what the form leaves out. */
static json_t *pod_of(const Made *made, const Form *form, int r, int index, const char *scheduler)
{
        const Role *role = &made->spec->roles[r];
        int *ports[] = { (int[]){ 36000, 36000, 36000, 36000 }, (int[]){ 36000, 36000, 36000, 36000 },
                         (int[]){ 36000, 36000, 36000, 36000 }, (int[]){ 36000, 36000, 36000, 36000 } };
        const Placement placement = { .spec = made->spec,
                                      .job_id = ID,
                                      .job_name = "job",
                                      .user = "ann",
                                      .dc = "local",
                                      .attempt = 2,
                                      .ports = ports,
                                      .extra_ports = (int[]){ 36018 } };
        g_autofree char *task = g_strdup_printf(ID ".2.%s.%d", role->name, index);
        g_autofree char **argv = framework_argv(made->spec, r);
        g_auto(GStrv) whole = framework_environment(&placement, r, index), env = NULL;
        TaskStart start = { .task = task,
                            .argv = argv,
                            .env = whole,
                            .grace_ms = 30000,
                            .limits = { .cpu_milli = role->each.cpu_milli, .memory = role->each.memory },
                            .cpu_weight_milli = role->each.cpu_milli };
        const TemplateCluster cluster = { .scheduler = scheduler };
        json_t *pod;

        env = form_env(form, &made->about, role->name, &start);
        start.env = env;
        start.argv = form_argv(form, &made->about, role->name, &start);
        pod = member_pod(&home, &made->about, &start);
        template_fill(&cluster, &made->about, role->name, pod);
        return pod;
}

/* What those of the objects' jobs are given that have secrets. */
static const TaskSecret secrets[] = {
        { .variable = "TOKEN", .value = "needle", .len = 6 },
        { .file = "token", .value = "needle", .len = 6 },
};

static json_t *object_with(const Made *made, const Form *form, const char *scheduler, int n_secrets)
{
        g_autoptr(json_t) pods = json_array(), objects = NULL;

        for (int r = 0; r < made->spec->n_roles; r++)
                for (int i = 0; i < made->spec->roles[r].replicas; i++) {
                        json_t *pod = pod_of(made, form, r, i, scheduler);

                        pod_secrets_put(pod, &made->about, secrets, n_secrets);
                        json_array_append_new(pods, pod);
                }
        objects = form_objects(form, pods);
        g_assert_cmpint(json_array_size(objects), ==, 1);
        return json_incref(json_array_get(objects, 0));
}

static json_t *object_of(const Made *made, const Form *form, const char *scheduler)
{
        return object_with(made, form, scheduler, 0);
}

typedef struct {
        const char *path, *value; /* JSON with ' for "; NULL: it is not there */
} Value;

static void assert_values(const json_t *object, const Value *values)
{
        for (gsize i = 0; i < VALUES_MAX && values[i].path; i++) {
                const json_t *value = kube_get(object, values[i].path);
                g_autofree char *text =
                        value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : NULL;
                g_autofree char *wanted =
                        values[i].value ? g_strdelimit(g_strdup(values[i].value), "'", '"') : NULL;

                g_test_message("%s", values[i].path);
                g_assert_cmpstr(text, ==, wanted);
        }
}

/* ---- what objects say ---- */

#define TF "spec.tfReplicaSpecs."
#define TORCH "spec.pytorchReplicaSpecs."
#define MPI "spec.mpiReplicaSpecs."
#define CONTAINER ".template.spec.containers[0]."
#define LABEL ".template.metadata.labels."

static const struct {
        const char *spec, *scheduler;
        Value values[VALUES_MAX];
} jobs[] = {
        { "{'framework': 'tensorflow', 'command': ['python', 'train.py'], 'roles': [{'name': 'pserver', "
          "'replicas': 2}, {'name': 'master'}, {'name': 'worker', 'replicas': 3, 'cpu': '500m', 'memory': "
          "'1Gi'}]}",
          NULL,
          { { "apiVersion", "'kubeflow.org/v1'" },
            { "kind", "'TFJob'" },
            { "metadata.name", "'j-" ID "-2'" },
            { "metadata.namespace", "'jobs'" },
            { "metadata.labels.paddle-job-id", "'" ID "'" },
            { "metadata.labels.paddle-role", NULL },
            { "spec.runPolicy", "{'cleanPodPolicy':'None'}" },
            { "spec.successPolicy", NULL }, /* the chief decides */
            { TF "PS.replicas", "2" },
            { TF "Chief.replicas", "1" },
            { TF "Worker.replicas", "3" },
            { TF "Worker.restartPolicy", "'Never'" },
            { TF "Worker" CONTAINER "name", "'tensorflow'" },
            { TF "Worker" CONTAINER "command", "['python','train.py']" },
            { TF "Worker" CONTAINER "resources.requests", "{'cpu':'500m','memory':'1073741824'}" },
            { TF "Worker.template.spec.restartPolicy", NULL },
            { TF "Worker.template.spec.hostname", NULL },
            { TF "Worker" LABEL "paddle-role", "'worker'" },
            { TF "Worker" LABEL "paddle-server", "'s3rv3r'" },
            { TF "Worker" LABEL "paddle-members", "'3'" },
            { TF "Worker" LABEL "paddle-index", NULL },
            { TF "Chief" LABEL "paddle-index", "'0'" },
            { TF "PS" LABEL "paddle-role", "'pserver'" } } },
        { "{'framework': 'tensorflow', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
          NULL,
          { { "spec.successPolicy", "'AllWorkers'" }, { TF "Chief", NULL } } },
        { "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'master'}, {'name': 'worker', "
          "'replicas': 2}]}",
          NULL,
          { { "kind", "'PyTorchJob'" },
            { TORCH "Master.replicas", "1" },
            { TORCH "Master" CONTAINER "name", "'pytorch'" },
            { TORCH "Master" LABEL "paddle-role", "'master'" },
            { TORCH "Worker.replicas", "2" },
            { TORCH "Worker" LABEL "paddle-first", NULL } } },
        /* without a master worker 0 leads */
        { "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 3}]}",
          NULL,
          { { TORCH "Master.replicas", "1" },
            { TORCH "Master" LABEL "paddle-role", "'worker'" },
            { TORCH "Master" LABEL "paddle-index", "'0'" },
            { TORCH "Worker.replicas", "2" },
            { TORCH "Worker" LABEL "paddle-first", "'1'" },
            { TORCH "Worker" LABEL "paddle-members", "'2'" } } },
        { "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
          NULL,
          { { TORCH "Worker.replicas", "1" }, { TORCH "Worker" LABEL "paddle-index", "'1'" } } },
        { "{'framework': 'mpi', 'command': ['mpirun', './train'], 'roles': [{'name': 'worker', 'replicas': "
          "2}]}",
          NULL,
          { { "kind", "'MPIJob'" },
            { "spec.slotsPerWorker", "1" },
            { MPI "Launcher.replicas", "1" },
            { MPI "Launcher" CONTAINER "name", "'mpi'" },
            { MPI "Launcher" CONTAINER "command", "['mpirun','./train']" },
            { MPI "Launcher.template.spec.automountServiceAccountToken", NULL },
            { MPI "Launcher" LABEL "paddle-role", "'master'" },
            { MPI "Worker.replicas", "2" },
            { MPI "Worker" CONTAINER "command", NULL } } }, /* the operator's: it sleeps */
        { "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 2, 'cpu': "
          "'1500m'}]}",
          "volcano",
          { { "spec.runPolicy.schedulingPolicy",
              "{'minAvailable':2,'minResources':{'cpu':'3'},'queue':'vision'}" },
            { TORCH "Worker.template.spec.schedulerName", "'volcano'" } } },
        { "{'framework': 'spark', 'env': {'PF_JOB_SPARK_MAIN_FILE': 'local:///app/$x.py', "
          "'PF_JOB_SPARK_ARGUMENTS': ' a  b', 'K': 'v'}, 'roles': [{'name': 'driver', 'cpu': '1500m', "
          "'memory': "
          "'2Gi'}, {'name': 'executor', 'replicas': 2, 'cpu': '500m', 'memory': '8Gi'}]}",
          "volcano",
          { { "apiVersion", "'sparkoperator.k8s.io/v1beta2'" },
            { "kind", "'SparkApplication'" },
            { "spec.type", "'Python'" },
            { "spec.mode", "'cluster'" },
            { "spec.sparkVersion", "'3.0.0'" },
            { "spec.image", "'base:1'" },
            { "spec.mainApplicationFile", "'local:///app/$x.py'" },
            { "spec.mainClass", NULL },
            { "spec.arguments", "['a','b']" },
            { "spec.restartPolicy",
              "{'onSubmissionFailureRetries':3,'onSubmissionFailureRetryInterval':5,'type':"
              "'Never'}" },
            { "spec.batchScheduler", "'volcano'" },
            { "spec.batchSchedulerOptions", "{'queue':'vision'}" },
            { "spec.driver.cores", "1" },
            { "spec.driver.coreRequest", "'1500m'" },
            { "spec.driver.memory", "'1664m'" }, /* 2048 less 384 */
            { "spec.driver.memoryOverhead", "'384m'" },
            { "spec.driver.labels.paddle-role", "'driver'" },
            { "spec.driver.labels.paddle-index", "'0'" },
            { "spec.driver.labels.paddle-container", "'spark-kubernetes-driver'" },
            { "spec.executor.instances", "2" },
            { "spec.executor.cores", "1" },
            { "spec.executor.memory", "'7373m'" }, /* 8192 less a tenth */
            { "spec.executor.labels.paddle-members", "'2'" },
            { "spec.executor.labels.paddle-kind", "'SparkApplication'" } } },
        { "{'framework': 'spark', 'env': {'PF_JOB_SPARK_MAIN_FILE': 's3a://b/a.jar', "
          "'PF_JOB_SPARK_MAIN_CLASS': "
          "'org.x.Main'}, 'roles': [{'name': 'executor', 'replicas': 1}]}",
          NULL,
          { { "spec.type", "'Scala'" },
            { "spec.mainClass", "'org.x.Main'" },
            { "spec.arguments", NULL },
            { "spec.batchScheduler", NULL },
            { "spec.driver.memory", NULL } } },
        /* The operator gives these words to spark-submit as they are: the file ends its options. */
        { "{'framework': 'spark', 'env': {'PF_JOB_SPARK_MAIN_FILE': '--conf', 'PF_JOB_SPARK_ARGUMENTS': "
          "'spark.kubernetes.driver.podTemplateFile=http://x a.jar'}, 'roles': [{'name': 'executor'}]}",
          NULL,
          { { "spec.mainApplicationFile", "'./--conf'" } } },
        { "{'framework': 'spark', 'env': {'PF_JOB_SPARK_MAIN_FILE': 'a.py', 'PF_JOB_SPARK_ARGUMENTS': "
          "'--conf x'}, 'roles': [{'name': 'executor'}], 'origin': {'paddleflow': {'extensionTemplate': "
          "{'spec': {'containers': [{'name': 'main', 'env': [{'name': 'PF_JOB_SPARK_MAIN_FILE', 'valueFrom': "
          "{'fieldRef': {'fieldPath': 'metadata.name'}}}]}]}}}}}",
          NULL,
          { { "spec.mainApplicationFile", "'./'" } } },
};

static void test_objects(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(jobs); i++) {
                Made made;
                const Form *form;
                g_autoptr(json_t) object = NULL;

                g_test_message("%s", jobs[i].spec);
                made_init(&made, jobs[i].spec);
                form = form_of(&wish, &made.about, &(FormRole){ 0 });
                object = object_of(&made, form, jobs[i].scheduler);
                g_assert_cmpstr(kube_get_text(object, "kind"), ==, form_kind(form)->kind);
                assert_values(object, jobs[i].values);
                made_clear(&made);
        }
}

/* ---- variables ---- */

static const struct {
        const char *spec, *container;
        const char *without[12], *with[4];
} variables[] = {
        { "{'framework': 'tensorflow', 'command': ['t'], 'env': {'K': 'v'}, 'roles': [{'name': 'worker', "
          "'replicas': 2}]}",
          TF "Worker.template.spec.containers[0]",
          { "TF_CONFIG" },
          { "PADDLE_JOB_ID=" ID, "PYTHONUNBUFFERED=1", "K=v" } },
        { "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 3}]}",
          TORCH "Master.template.spec.containers[0]",
          { "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PYTHONUNBUFFERED" },
          { "LOCAL_RANK=0" } },
        /* what people say themselves stays */
        { "{'framework': 'mpi', 'command': ['t'], 'env': {'OMPI_MCA_pml': 'ucx'}, 'roles': [{'name': "
          "'worker', "
          "'replicas': 2}]}",
          MPI "Launcher.template.spec.containers[0]",
          { "PADDLE_MPI_WORKERS", "OMPI_MCA_btl", "OMPI_MCA_oob_tcp_if_include",
            "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_plm_rsh_no_tree_spawn" },
          { "OMPI_MCA_pml=ucx", "OMPI_ALLOW_RUN_AS_ROOT=1" } },
        { "{'framework': 'spark', 'env': {'PF_JOB_SPARK_MAIN_FILE': 'a.py'}, 'roles': [{'name': 'executor', "
          "'replicas': 2}]}",
          "spec.executor",
          { "SPARK_MASTER_HOST", "SPARK_MASTER_PORT", "SPARK_WORKER_CORES", "SPARK_LOCAL_IP",
            "PADDLE_SPARK_HOST" },
          { "PADDLE_JOB_ID=" ID } },
};

static const char *variable(const json_t *container, const char *name)
{
        const json_t *entry;
        gsize i;

        json_array_foreach(json_object_get(container, "env"), i, entry) {
                if (strcmp(kube_get_text(entry, "name"), name) == 0)
                        return kube_get_text(entry, "value");
        }
        return NULL;
}

static void test_variables(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(variables); i++) {
                Made made;
                const Form *form;
                g_autoptr(json_t) object = NULL;
                const json_t *container;

                made_init(&made, variables[i].spec);
                form = form_of(&wish, &made.about, &(FormRole){ 0 });
                object = object_of(&made, form, NULL);
                container = kube_get(object, variables[i].container);
                g_assert_nonnull(container);
                for (const char *const *name = variables[i].without; *name; name++)
                        g_assert_cmpstr(variable(container, *name), ==, NULL);
                for (const char *const *pair = variables[i].with; *pair; pair++) {
                        g_auto(GStrv) parts = g_strsplit(*pair, "=", 2);

                        g_assert_cmpstr(variable(container, parts[0]), ==, parts[1]);
                }
                made_clear(&made);
        }
}

/* ---- whose jobs they are ---- */

static void test_choice(void)
{
        static char *torch[] = { "pytorch", NULL };
        static const struct {
                char **operators;
                const char *spec, *kind; /* NULL: pods or sets of ours */
        } cases[] = {
                { torch,
                  "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
                  "PyTorchJob" },
                { NULL,
                  "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
                  NULL },
                { torch,
                  "{'framework': 'tensorflow', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': "
                  "2}]}",
                  NULL },
                { all,
                  "{'framework': 'tensorflow', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': "
                  "2}]}",
                  "TFJob" },
                { all,
                  "{'framework': 'plain', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
                  NULL },
                /* one by one no operator would let them go */
                { all,
                  "{'framework': 'pytorch', 'command': ['t'], 'roles': [{'name': 'worker', 'replicas': 3, "
                  "'min': 1}]}",
                  NULL },
                /* a command cannot be told to Spark */
                { all,
                  "{'framework': 'spark', 'command': ['python', 'a.py'], 'roles': [{'name': 'executor'}]}",
                  NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                const FormWish said = { .operators = cases[i].operators };
                Made made;
                const Form *form;

                g_test_message("%s", cases[i].spec);
                made_init(&made, cases[i].spec);
                form = form_of_operator(&said, &made.about);
                g_assert_cmpstr(form ? form_kind(form)->kind : NULL, ==, cases[i].kind);
                made_clear(&made);
        }
}

/* ---- pods, as operators make them of the templates ---- */

static void test_pods(void)
{
        static const struct {
                const char *owner, *labels;
                const char *task; /* NULL: no member's */
                bool passing;
                const char *container;
        } cases[] = {
                { "TFJob",
                  "'paddle-role': 'worker', 'paddle-members': '3', 'training.kubeflow.org/replica-type': "
                  "'worker', "
                  "'training.kubeflow.org/replica-index': '2', 'paddle-container': 'tensorflow', "
                  "'paddle-kind': "
                  "'TFJob'",
                  ID ".2.worker.2", false, "tensorflow" },
                { "PyTorchJob",
                  "'paddle-role': 'worker', 'paddle-members': '2', 'training.kubeflow.org/replica-index': "
                  "'1', "
                  "'paddle-first': '1', 'paddle-container': 'pytorch', 'paddle-kind': 'PyTorchJob'",
                  ID ".2.worker.2", false, "pytorch" },
                { "PyTorchJob",
                  "'paddle-role': 'worker', 'paddle-index': '0', 'training.kubeflow.org/replica-index': '0', "
                  "'paddle-container': 'pytorch', 'paddle-kind': 'PyTorchJob'",
                  ID ".2.worker.0", false, "pytorch" },
                { "SparkApplication",
                  "'paddle-role': 'driver', 'paddle-index': '0', 'spark-role': 'driver', 'paddle-container': "
                  "'spark-kubernetes-driver', 'paddle-kind': 'SparkApplication'",
                  ID ".2.driver.0", false, "spark-kubernetes-driver" },
                { "Pod",
                  "'paddle-role': 'executor', 'paddle-members': '2', 'spark-exec-id': '2', "
                  "'paddle-container': "
                  "'spark-kubernetes-executor', 'paddle-kind': 'SparkApplication'",
                  ID ".2.executor.1", true, "spark-kubernetes-executor" },
                /* one that Spark made for another that went */
                { "Pod",
                  "'paddle-role': 'executor', 'paddle-members': '2', 'spark-exec-id': '3', 'paddle-kind': "
                  "'SparkApplication'",
                  NULL, false, NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{'metadata': {'name': 'p', 'ownerReferences': "
                                                        "[{'kind': '%s', 'name': 'x', 'controller': "
                                                        "true}], 'labels': {'paddle-job-id': '" ID
                                                        "', 'paddle-attempt': '2', %s}}}",
                                                        cases[i].owner, cases[i].labels);
                g_autoptr(json_t) pod = json_of(text);
                g_auto(MemberLook) look = { 0 };
                bool is = member_look(pod, &look);

                g_test_message("%s", cases[i].labels);
                g_assert_cmpint(is, ==, cases[i].task != NULL);
                g_assert_true(form_kind_is_whole(form_kind_of(pod)));
                if (!is)
                        continue;
                g_assert_cmpstr(look.task, ==, cases[i].task);
                g_assert_cmpint(look.passing, ==, cases[i].passing);
                g_assert_cmpstr(look.container, ==, cases[i].container);
        }
}

/* ---- what operators say ---- */

static void test_words(void)
{
#define SEEN "{'type': 'Created', 'status': 'True', 'message': 'm1'}"
        static const struct {
                const KubeKind *kind;
                const char *status;
                FormWord word;
                const char *text;
        } cases[] = {
                { &kube_tf_jobs, "{}", FORM_SILENT, NULL },
                { &kube_tf_jobs, "{'conditions': [" SEEN "]}", FORM_WAITS, "Created: m1" },
                /* the last that is true counts (doc/reference/scheduling.md, "States of the objects") */
                { &kube_mpi_jobs,
                  "{'conditions': [" SEEN ", {'type': 'Failed', 'status': 'True', 'message': 'm2'}]}",
                  FORM_FAILED, "Failed: m2" },
                { &kube_mpi_jobs, "{'conditions': [" SEEN ", {'type': 'Failed', 'status': 'False'}]}",
                  FORM_WAITS, "Created: m1" },
                { &kube_paddle_jobs, "{}", FORM_SILENT, NULL },
                { &kube_paddle_jobs, "{'phase': 'Pending'}", FORM_WAITS, "Pending" },
                { &kube_paddle_jobs, "{'phase': 'Failed'}", FORM_FAILED, "Failed" },
                { &kube_spark_applications, "{}", FORM_SILENT, NULL },
                { &kube_spark_applications, "{'applicationState': {'state': ''}}", FORM_SILENT, NULL },
                { &kube_spark_applications, "{'applicationState': {'state': 'SUBMITTED'}}", FORM_WAITS,
                  "SUBMITTED" },
                { &kube_spark_applications,
                  "{'applicationState': {'state': 'SUBMISSION_FAILED', 'errorMessage': 'no'}}", FORM_WAITS,
                  "SUBMISSION_FAILED: no" }, /* it is tried again */
                { &kube_spark_applications, "{'applicationState': {'state': 'FAILED', 'errorMessage': 'no'}}",
                  FORM_FAILED, "FAILED: no" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{'status': %s}", cases[i].status);
                g_autoptr(json_t) object = json_of(text);
                g_autofree char *said = NULL;

                g_test_message("%s", cases[i].status);
                g_assert_cmpint(form_says(cases[i].kind, object, &said), ==, cases[i].word);
                g_assert_cmpstr(said, ==, cases[i].text);
        }
}

#define SPARK_JOB                                                                                            \
        "{'framework': 'spark', 'env': {'PF_JOB_SPARK_MAIN_FILE': 'local:///a.py'}, 'roles': [{'name': "     \
        "'driver'}, {'name': 'executor', 'replicas': 2}]}"

/* A variable, a volume and its mount, in each template; where an operator has fields of its own, in those. */
static void test_secrets(void)
{
        static const struct {
                const char *spec, *env, *mounts, *volumes; /* lists of the object */
        } cases[] = {
#define OF_POD(part)                                                                                         \
        part ".template.spec.containers[0].env", part ".template.spec.containers[0].volumeMounts",           \
                part ".template.spec.volumes"
                { "{'framework': 'tensorflow', 'command': ['a'], 'roles': [{'name': 'pserver'}, {'name': "
                  "'worker', 'replicas': 2}]}",
                  OF_POD("spec.tfReplicaSpecs.PS") },
                { "{'framework': 'tensorflow', 'command': ['a'], 'roles': [{'name': 'pserver'}, {'name': "
                  "'worker', 'replicas': 2}]}",
                  OF_POD("spec.tfReplicaSpecs.Worker") },
                { "{'framework': 'pytorch', 'command': ['a'], 'roles': [{'name': 'worker', 'replicas': 3}]}",
                  OF_POD("spec.pytorchReplicaSpecs.Master") },
                { "{'framework': 'pytorch', 'command': ['a'], 'roles': [{'name': 'worker', 'replicas': 3}]}",
                  OF_POD("spec.pytorchReplicaSpecs.Worker") },
                { "{'framework': 'mpi', 'command': ['a'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
                  OF_POD("spec.mpiReplicaSpecs.Launcher") },
                { "{'framework': 'mpi', 'command': ['a'], 'roles': [{'name': 'worker', 'replicas': 2}]}",
                  OF_POD("spec.mpiReplicaSpecs.Worker") },
                { SPARK_JOB, "spec.driver.env", "spec.driver.volumeMounts", "spec.volumes" },
                { SPARK_JOB, "spec.executor.env", "spec.executor.volumeMounts", "spec.volumes" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Made made;
                g_autoptr(json_t) object = NULL;
                g_autofree char *text = NULL, *env = NULL, *mounts = NULL, *volumes = NULL;

                g_test_message("%s", cases[i].env);
                made_init(&made, cases[i].spec);
                object = object_with(&made, form_of(&wish, &made.about, &(FormRole){ 0 }), NULL,
                                     G_N_ELEMENTS(secrets));
                text = json_format(object);
                env = json_format(kube_get(object, cases[i].env));
                mounts = json_format(kube_get(object, cases[i].mounts));
                volumes = json_format(kube_get(object, cases[i].volumes));
                g_assert_nonnull(strstr(env, "{\"secretKeyRef\":{\"name\":\"j-" ID
                                             "-2-secrets\",\"key\":\"variable.TOKEN\"}}"));
                g_assert_nonnull(strstr(mounts, "\"mountPath\":\"" POD_SECRETS_DIR "\""));
                g_assert_nonnull(strstr(volumes, "\"path\":\"token\""));
                g_assert_null(strstr(text, "needle"));
                made_clear(&made);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/operators/whose jobs", test_choice);
        g_test_add_func("/operators/objects", test_objects);
        g_test_add_func("/operators/secrets", test_secrets);
        g_test_add_func("/operators/variables", test_variables);
        g_test_add_func("/operators/pods", test_pods);
        g_test_add_func("/operators/words", test_words);
        return g_test_run();
}
