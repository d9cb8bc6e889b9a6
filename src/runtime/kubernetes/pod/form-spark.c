/* Spark's jobs as SparkApplications of sparkoperator.k8s.io/v1beta2 (doc/reference/scheduling.md, "Objects of
 * frameworks" to "States of the objects"). The operator submits the driver, and Spark itself creates,
 * deletes and recreates the executors' pods. So their ends mean nothing; the driver's end is the job's. */
#include "runtime/kubernetes/pod/form-rows.h"

#include <string.h>

#include "model/framework.h"
#include "model/job.h"
#include "model/resources.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"
#include "runtime/kubernetes/pod/volcano-objects.h"

#define MAIN_FILE "PF_JOB_SPARK_MAIN_FILE"
#define MIB ((gint64)1 << 20)

enum {
        MILLI = 1000,
        BESIDE_MIB = 384, /* what Spark leaves a JVM beside its heap at least */
        BESIDE_PART = 10, /* and of a large one's memory the tenth part */
        RETRIES = 3,      /* of a submission (9), in so many seconds */
        RETRY_S = 5,
};

/* Only those that name their program by the variables of PaddleFlow: a command cannot be told to Spark. */
static bool suits(const RuntimeAttempt *attempt)
{
        const Spec *spec = attempt->job->spec;
        int driver = spec_role_index(spec, "driver");

        return driver >= 0 && spec_user_env(spec, driver, MAIN_FILE) != NULL;
}

/* ---- driver and executor ---- */

static void copy(json_t *into, const char *as, const json_t *from, const char *name)
{
        json_t *value = json_object_get(from, name);

        if (value)
                json_object_set_new(into, as, json_deep_copy(value));
}

static void put_cores(json_t *part, const json_t *resources)
{
        const char *cpu = kube_get_text(resources, "requests.cpu");
        gint64 milli = 0;

        if (cpu)
                (void)cpu_parse("cpu", cpu, &milli, NULL); /* it is one of ours */
        json_object_set_new(part, "cores", json_integer(MAX(1, milli / MILLI)));
        copy(part, "coreRequest", json_object_get(resources, "requests"), "cpu");
        copy(part, "coreLimit", json_object_get(resources, "limits"), "cpu");
}

/* The pod has the memory that the member requests: the heap, and the memory outside of the heap. */
static void put_memory(json_t *part, const json_t *resources)
{
        const char *text = kube_get_text(resources, "requests.memory");
        gint64 bytes = 0, whole, beside;

        if (!text || !memory_parse("memory", text, &bytes, NULL))
                return;
        whole = bytes / MIB;
        beside = MAX(BESIDE_MIB, whole / BESIDE_PART);
        if (whole <= beside)
                return;
        json_object_set_new(part, "memory", json_sprintf("%" G_GINT64_FORMAT "m", whole - beside));
        json_object_set_new(part, "memoryOverhead", json_sprintf("%" G_GINT64_FORMAT "m", beside));
}

static void put_gpus(json_t *part, const json_t *resources)
{
        const char *gpus =
                json_string_value(json_object_get(json_object_get(resources, "limits"), "nvidia.com/gpu"));

        if (gpus)
                json_object_set_new(part, "gpu",
                                    json_pack("{s:s, s:I}", "name", "nvidia.com/gpu", "quantity",
                                              (json_int_t)g_ascii_strtoll(gpus, NULL, 10)));
}

static void put_pod(json_t *part, const json_t *spec)
{
        static const char *const same[][2] = {
                { "tolerations", "tolerations" },
                { "nodeSelector", "nodeSelector" },
                { "affinity", "affinity" },
                { "initContainers", "initContainers" },
                { "schedulerName", "schedulerName" },
                { "terminationGracePeriodSeconds", "terminationGracePeriodSeconds" },
                { "securityContext", "podSecurityContext" },
                { "serviceAccountName", "serviceAccount" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(same); i++)
                copy(part, same[i][1], spec, same[i][0]);
}

/* Groups of pods are the operator's. */
static void put_metadata(const Form *form, json_t *part, const json_t *pod, int n, const char *container)
{
        g_autoptr(json_t) template = form_template(form, pod, n);
        json_t *annotations;

        podspec_label(template, MEMBER_CONTAINER_LABEL, container);
        if (n == 1)
                podspec_label(template, "paddle-index", "0");
        copy(part, "labels", json_object_get(template, "metadata"), "labels");
        annotations = kube_get(template, "metadata.annotations");
        json_object_del(annotations, "scheduling.k8s.io/group-name");
        json_object_del(annotations, "volcano.sh/task-spec");
        copy(part, "annotations", json_object_get(template, "metadata"), "annotations");
}

static json_t *part_of(const Form *form, const json_t *pods, const char *container_name)
{
        const json_t *pod = json_array_get(pods, 0), *spec = json_object_get(pod, "spec");
        const json_t *container = gate_main_of(spec), *resources = json_object_get(container, "resources");
        g_autoptr(GHashTable) common = form_common_names(pods);
        json_t *part = json_object();

        put_metadata(form, part, pod, (int)json_array_size(pods), container_name);
        put_cores(part, resources);
        put_memory(part, resources);
        put_gpus(part, resources);
        put_pod(part, spec);
        json_object_set_new(part, "env", form_entries(pod, common, true));
        copy(part, "volumeMounts", container, "volumeMounts");
        copy(part, "securityContext", container, "securityContext");
        return part;
}

/* ---- the application ---- */

static json_t *words_of(const char *text)
{
        g_auto(GStrv) words = g_strsplit_set(text, " \t\n", -1);
        json_t *list = json_array();

        for (char **word = words; *word; word++)
                if (**word)
                        json_array_append_new(list, json_string(*word));
        return list;
}

/* The operator gives it to spark-submit behind its own options, of which none may follow: the first word that
 * is no option ends them. The caller's. */
static char *main_file(const json_t *driver)
{
        g_autofree char *said = form_variable(driver, MAIN_FILE);

        return said && *said && *said != '-' ? g_steal_pointer(&said) : g_strconcat("./", said, NULL);
}

static void put_program(json_t *spec, const json_t *driver)
{
        g_autofree char *file = main_file(driver);
        g_autofree char *class = form_variable(driver, "PF_JOB_SPARK_MAIN_CLASS");
        g_autofree char *arguments = form_variable(driver, "PF_JOB_SPARK_ARGUMENTS");
        const char *type = g_str_has_suffix(file, ".py")                                  ? "Python"
                           : g_str_has_suffix(file, ".R") || g_str_has_suffix(file, ".r") ? "R"
                                                                                          : "Scala";

        json_object_set_new(spec, "type", json_string(type));
        json_object_set_new(spec, "mainApplicationFile", json_string(file));
        if (class)
                json_object_set_new(spec, "mainClass", json_string(class));
        if (arguments)
                json_object_set_new(spec, "arguments", words_of(arguments));
}

static void put_image(json_t *spec, const json_t *pod_spec)
{
        const json_t *secrets = json_object_get(pod_spec, "imagePullSecrets"), *secret;
        gsize i;

        copy(spec, "image", gate_main_of(pod_spec), "image");
        copy(spec, "imagePullPolicy", gate_main_of(pod_spec), "imagePullPolicy");
        json_array_foreach(secrets, i, secret) {
                if (i == 0)
                        json_object_set_new(spec, "imagePullSecrets", json_array());
                json_array_append(json_object_get(spec, "imagePullSecrets"), json_object_get(secret, "name"));
        }
}

static void put_scheduler(json_t *spec, const json_t *driver)
{
        const char *scheduler = kube_get_text(driver, "spec.schedulerName");

        if (g_strcmp0(scheduler, VOLCANO_SCHEDULER) != 0)
                return;
        json_object_set_new(spec, "batchScheduler", json_string(scheduler));
        json_object_set_new(spec, "batchSchedulerOptions",
                            json_pack("{s:s*, s:s*}", "queue",
                                      kube_annotation(driver, "volcano.sh/queue-name"), "priorityClassName",
                                      kube_get_text(driver, "spec.priorityClassName")));
}

static json_t *spark_application(const Form *form, const json_t *pods)
{
        g_autoptr(json_t) drivers = form_pods_of(pods, "driver"), executors = form_pods_of(pods, "executor");
        const json_t *driver = json_array_get(drivers, 0), *pod_spec = json_object_get(driver, "spec");
        json_t *made = form_whole_object(form, pods),
               *spec = json_pack("{s:s, s:s, s:{s:s, s:i, s:i}}", "mode", "cluster", "sparkVersion", "3.0.0",
                                 "restartPolicy", "type", "Never", "onSubmissionFailureRetries", RETRIES,
                                 "onSubmissionFailureRetryInterval", RETRY_S);
        json_t *executor = part_of(form, executors, "spark-kubernetes-executor");

        put_program(spec, driver);
        put_image(spec, pod_spec);
        put_scheduler(spec, driver);
        copy(spec, "volumes", pod_spec, "volumes");
        json_object_set_new(executor, "instances", json_integer((json_int_t)json_array_size(executors)));
        json_object_set_new(spec, "driver", part_of(form, drivers, "spark-kubernetes-driver"));
        json_object_set_new(spec, "executor", executor);
        json_object_set_new(made, "spec", spec);
        return json_pack("[o]", made);
}

/* ---- what the operator says ---- */

static FormWord says(const json_t *object, char **ret_text)
{
        static const char *const failed[] = { "FAILED", "UNKNOWN", NULL };
        const char *state = kube_get_text(object, "status.applicationState.state");
        const char *message = kube_get_text(object, "status.applicationState.errorMessage");

        if (!state || !*state)
                return FORM_SILENT;
        *ret_text = g_strdup_printf("%s%s%s", state, message && *message ? ": " : "", message ? message : "");
        return g_strv_contains(failed, state) ? FORM_FAILED : FORM_WAITS;
}

/* Variables of a stand-alone cluster of Spark, which does not exist here. */
static const char *const told[] = { "SPARK_LOCAL_IP",
                                    "SPARK_MASTER_HOST",
                                    "SPARK_MASTER_PORT",
                                    "SPARK_MASTER_WEBUI_PORT",
                                    "SPARK_DRIVER_MEMORY",
                                    "SPARK_WORKER_CORES",
                                    "SPARK_WORKER_MEMORY",
                                    "SPARK_WORKER_PORT",
                                    "SPARK_WORKER_WEBUI_PORT",
                                    "SPARK_DAEMON_MEMORY",
                                    "PADDLE_SPARK_HOST",
                                    "PADDLE_SPARK_CORES",
                                    "PADDLE_SPARK_EXECUTOR_CORES",
                                    "PADDLE_SPARK_EXECUTOR_MEMORY",
                                    NULL };

const Form form_spark_application = { .kind = &kube_spark_applications,
                                      .names_pods = true,
                                      .whole = true,
                                      .propagation = "Background",
                                      .objects = spark_application,
                                      .framework = "spark",
                                      .operator= "the Spark operator",
                                      .instead = FORM_INSTEAD_OF_OTHERS,
                                      .told = told,
                                      .passing = "executor",
                                      .groups = true,
                                      .suits = suits,
                                      .says = says };
