/* Pods filled in: expected values from doc/reference/scheduling.md, "Labels and annotations" to "Job
 * templates", and "Clusters of type K3S". */
#include "runtime/kubernetes/pod/template.h"

#include <string.h>

#include "base/test/quoted.h"
#include "kube/kind.h"
#include "model/job.h"
#include "runtime/kubernetes/pod/member.h"

static const MemberHome home = { "jobs", "s3rv3r", "base:1" };

/* The pod of member 0 of the role as the runtime makes it, of a job with this specification. */
static json_t *filled(const char *spec_text, const char *role, const TemplateCluster *cluster)
{
        static char *argv[] = { (char *)"sh", NULL },
                    *env[] = { (char *)"OURS=1", (char *)"BOTH=ours", NULL };
        g_autofree char *task_name = g_strdup_printf("0123456789abcdef.1.%s.0", role);
        g_autoptr(json_t) object = json_of(spec_text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Job) job = job_new("ann", "job", spec_parse(object, &error), 0);
        TaskStart task = { .task = task_name,
                           .argv = argv,
                           .env = env,
                           .limits.memory = 1 << 30,
                           .cpu_weight_milli = 500,
                           .grace_ms = 5000 };
        char *location[] = { (char *)"paddleflow.baidu.com/resource-isolation-type=logical",
                             (char *)"zone=z1", NULL };
        RuntimeAttempt about = { .job = job, .location = location };
        json_t *pod;

        g_assert_no_error(error);
        spec_unref(job->spec); /* the job has its own */
        g_strlcpy(job->id, "0123456789abcdef", sizeof job->id);
        job->attempt = 1;
        job->queue = "vision";
        job->priority = job->spec->priority;
        pod = member_pod(&home, &about, &task);
        template_fill(cluster, &about, role, pod);
        return pod;
}

#define COMMAND "'command': ['sh']"
#define FLOW(rest) "{" COMMAND ", 'origin': {'paddleflow': {'id': 'job-1', " rest "}}}"
#define ASKS(resources) FLOW(POD("'spec': {'containers': [{'resources': " resources "}]}"))
#define POD(rest) "'extensionTemplate': {'apiVersion': 'v1', 'kind': 'Pod', " rest "}"

static const char *const all_classes[] = { "very-low", "low", "normal", "high", "very-high", NULL };

static void test_table(void)
{
        static const TemplateCluster plain = { 0 }, volcano = { .scheduler = "volcano" },
                                     classes = { .classes = all_classes }, k3s = { .k3s = true };
        static const struct {
                const char *spec, *role;
                const TemplateCluster *cluster;
                const char *path, *value; /* value NULL: it is not there */
        } cases[] = {
                { "{" COMMAND "}", "worker", &plain, "metadata.labels.owner", "paddleflow" },
                { "{" COMMAND "}", "worker", &plain, "metadata.labels.paddleflow-job-id",
                  "0123456789abcdef" },
                { FLOW("'x': 1"), "worker", &plain, "metadata.labels.paddleflow-job-id", "job-1" },
                { FLOW("'x': 1"), "worker", &plain, "metadata.labels.paddle-job-id", "0123456789abcdef" },
                { "{" COMMAND "}", "worker", &plain, "metadata.labels.paddleflow-job-framework",
                  "standalone" },
                { "{" COMMAND ", 'labels': {'team': 'a', 'owner': 'me', 'bad': 'a b', 'paddle-role': 'x'}}",
                  "worker", &plain, "metadata.labels.team", "a" },
                { "{" COMMAND ", 'labels': {'owner': 'me'}}", "worker", &plain, "metadata.labels.owner",
                  "paddleflow" },
                { "{" COMMAND ", 'labels': {'paddle-role': 'x'}}", "worker", &plain,
                  "metadata.labels.paddle-role", "worker" },
                { "{" COMMAND ", 'labels': {'bad': 'a b'}}", "worker", &plain, "metadata.labels.bad", NULL },
                /* a Job refuses a template that says one of these; others would number its pods */
                { "{" COMMAND ", 'labels': {'job-name': 'mine'}}", "worker", &plain,
                  "metadata.labels.job-name", NULL },
                { "{" COMMAND ", 'labels': {'controller-uid': 'mine'}}", "worker", &plain,
                  "metadata.labels.controller-uid", NULL },
                { "{" COMMAND ", 'labels': {'spark-exec-id': '7'}}", "worker", &plain,
                  "metadata.labels.spark-exec-id", NULL },
                { FLOW(POD("'metadata': {'labels': {'job-name': 'x'}}")), "worker", &plain,
                  "metadata.labels.job-name", NULL },
                { "{" COMMAND ", 'annotations': {'why': 'a b'}}", "worker", &plain,
                  "metadata.annotations.why", "a b" },
                { "{" COMMAND ", 'annotations': {'jobStatus': 'preempting'}}", "worker", &plain,
                  "metadata.annotations.jobStatus", NULL },
                { FLOW(POD("'metadata': {'annotations': {'jobStatus': 'preempting'}}")), "worker", &plain,
                  "metadata.annotations.jobStatus", NULL },
                { FLOW(POD("'spec': {'containers': [{'env': null}]}")), "worker", &plain,
                  "spec.containers[0].env[0].name", "OURS" },
                /* the class */
                { "{" COMMAND "}", "worker", &plain, "spec.priorityClassName", NULL },
                { "{" COMMAND "}", "worker", &classes, "spec.priorityClassName", "normal" },
                { "{" COMMAND ", 'priority': 'very-low'}", "worker", &classes, "spec.priorityClassName",
                  "very-low" },
                { "{" COMMAND ", 'priority': 'high'}", "worker", &classes, "spec.priorityClassName", "high" },
                { FLOW(POD("'spec': {'priorityClassName': 'mine'}")), "worker", &classes,
                  "spec.priorityClassName", "mine" },
                { "{" COMMAND "}", "worker", &plain, "spec.schedulerName", NULL },
                { "{" COMMAND "}", "worker", &volcano, "spec.schedulerName", "volcano" },
                { FLOW(POD("'spec': {'schedulerName': 'mine'}")), "worker", &volcano, "spec.schedulerName",
                  "mine" },
                /* defaults of a job without a template; a template replaces them */
                { FLOW("'x': 1"), "worker", &plain, "spec.containers[0].imagePullPolicy", "IfNotPresent" },
                { FLOW("'x': 1"), "worker", &plain, "spec.serviceAccountName", "default" },
                { FLOW(POD("'spec': {}")), "worker", &plain, "spec.serviceAccountName", NULL },
                { "{" COMMAND "}", "worker", &plain, "spec.containers[0].imagePullPolicy", NULL },
                /* what stays ours */
                { FLOW(POD("'spec': {'restartPolicy': 'Always', 'hostname': 'x'}")), "worker", &plain,
                  "spec.restartPolicy", "Never" },
                { FLOW(POD("'spec': {'hostname': 'x'}")), "worker", &plain, "spec.hostname",
                  "0123456789abcdef-1-worker-0" },
                { FLOW(POD("'metadata': {'name': 'x'}")), "worker", &plain, "metadata.name",
                  "0123456789abcdef-1-worker-0" },
                { FLOW(POD("'metadata': {'labels': {'paddle-job-id': 'x', 'a': 'b'}}")), "worker", &plain,
                  "metadata.labels.paddle-job-id", "0123456789abcdef" },
                { FLOW(POD("'metadata': {'labels': {'a': 'b'}}")), "worker", &plain, "metadata.labels.a",
                  "b" },
                { FLOW(POD("'metadata': {'annotations': {'a': 'b'}}")), "worker", &plain,
                  "metadata.annotations.a", "b" },
                /* what the template adds */
                { FLOW(POD("'spec': {'nodeSelector': {'a': 'b'}}")), "worker", &plain, "spec.nodeSelector.a",
                  "b" },
                /* nodes: what the job says, and its queue */
                { "{" COMMAND "}", "worker", &plain, "spec.nodeSelector.zone", "z1" },
                { "{" COMMAND ", 'node_labels': {'gpu': 'a=b'}}", "worker", &plain, "spec.nodeSelector.gpu",
                  "a=b" },
                { "{" COMMAND ", 'node_labels': {'gpu': 'a'}, 'origin': {'paddleflow': {" POD(
                          "'spec': {'nodeSelector': {'gpu': 'b', 'c': 'd'}}") "}}}",
                  "worker", &plain, "spec.nodeSelector.gpu", "a" },
                { "{" COMMAND ", 'node_labels': {'gpu': 'a'}, 'origin': {'paddleflow': {" POD(
                          "'spec': {'nodeSelector': {'gpu': 'b', 'c': 'd'}}") "}}}",
                  "worker", &plain, "spec.nodeSelector.c", "d" },
                { FLOW(POD("'spec': {'nodeSelector': 7}")), "worker", &plain, "spec.nodeSelector.zone",
                  NULL },
                { FLOW(POD("'spec': {'containers': [{'name': 'x', 'imagePullPolicy': 'Never'}]}")), "worker",
                  &plain, "spec.containers[0].imagePullPolicy", "Never" },
                { FLOW(POD("'spec': {'containers': [{'name': 'x', 'image': 'other:1'}]}")), "worker", &plain,
                  "spec.containers[0].image", "base:1" },
                { FLOW(POD("'spec': {'containers': [{'name': 'x'}]}")), "worker", &plain,
                  "spec.containers[0].name", "main" },
                { FLOW(POD("'spec': {'containers': [{'name': 'x'}, {'name': 'side'}]}")), "worker", &plain,
                  "spec.containers[1].name", "side" },
                { FLOW(POD("'spec': {'containers': [{'name': 'side'}, {'name': 'main', 'tty': 'T'}]}")),
                  "worker", &plain, "spec.containers[0].tty", "T" },
                { FLOW(POD("'spec': {'containers': [{'resources': {'limits': {'memory': '7', 'a/b': "
                           "'1'}}}]}")),
                  "worker", &plain, "spec.containers[0].resources.limits.memory", "1073741824" },
                { FLOW(POD("'spec': {'containers': [{'resources': {'limits': {'a/b': '1'}}}]}")), "worker",
                  &plain, "spec.containers[0].resources.limits.a/b", "1" },
                /* variables: absent ones are appended */
                { FLOW(POD("'spec': {'containers': [{'env': [{'name': 'BOTH', 'value': 'theirs'}]}]}")),
                  "worker", &plain, "spec.containers[0].env[0].value", "theirs" },
                { FLOW(POD("'spec': {'containers': [{'env': [{'name': 'BOTH', 'value': 'theirs'}]}]}")),
                  "worker", &plain, "spec.containers[0].env[1].name", "OURS" },
                { FLOW(POD("'spec': {'containers': [{'env': [{'name': 'BOTH', 'value': 'theirs'}]}]}")),
                  "worker", &plain, "spec.containers[0].env[2]", NULL },
                /* of several roles, each its own */
                { "{" COMMAND ", 'framework': 'paddle-ps', 'roles': [{'name': 'pserver', 'replicas': 1}, "
                  "{'name': 'trainer', 'replicas': 1}], 'origin': {'paddleflow': {'extensionTemplate': "
                  "{'kind': 'PaddleJob', 'spec': {'ps': {'template': {'spec': {'nodeName': 'n'}}}}}}}}",
                  "pserver", &plain, "spec.nodeName", "n" },
                { "{" COMMAND ", 'framework': 'paddle-ps', 'roles': [{'name': 'pserver', 'replicas': 1}, "
                  "{'name': 'trainer', 'replicas': 1}], 'origin': {'paddleflow': {'extensionTemplate': "
                  "{'kind': 'PaddleJob', 'spec': {'ps': {'template': {'spec': {'nodeName': 'n'}}}}}}}}",
                  "trainer", &plain, "spec.nodeName", NULL },
                { "{" COMMAND ", 'origin': {'paddleflow': {'members': [{'role': 'worker', "
                  "'extensionTemplate': {'spec': {'nodeName': 'own'}}}]}}}",
                  "worker", &plain, "spec.nodeName", "own" },
                /* K3S */
                { "{" COMMAND "}", "worker", &k3s, "spec.containers[0].env[2].name", "K3S_NODE_NAME" },
                { "{" COMMAND "}", "worker", &k3s, "spec.containers[0].env[2].valueFrom.fieldRef.fieldPath",
                  "spec.nodeName" },
                /* nonsense in a template breaks nothing */
                { FLOW(POD("'spec': 7, 'metadata': []")), "worker", &plain, "spec.restartPolicy", "Never" },
                { FLOW(POD("'spec': {'containers': {}, 'volumes': 'x'}")), "worker", &plain,
                  "spec.containers[0].name", "main" },
                { FLOW(POD("'spec': {'containers': [7, {'env': {}, 'resources': 3, 'volumeMounts': [7]}]}")),
                  "worker", &plain, "spec.containers[0].name", "main" },
                /* what is counted is the job's, whatever stands in its place */
                { FLOW(POD("'spec': {'containers': [7, {'resources': 3}]}")), "worker", &plain,
                  "spec.containers[0].resources.limits.memory", "1073741824" },
                { ASKS("null"), "worker", &plain, "spec.containers[0].resources.limits.memory",
                  "1073741824" },
                { ASKS("null"), "worker", &plain, "spec.containers[0].resources.requests.cpu", "500m" },
                { ASKS("3"), "worker", &plain, "spec.containers[0].resources.requests.memory", "1073741824" },
                { ASKS("{'limits': null, 'requests': []}"), "worker", &plain,
                  "spec.containers[0].resources.limits.memory", "1073741824" },
                { ASKS("{'limits': {'cpu': '64'}}"), "worker", &plain,
                  "spec.containers[0].resources.limits.cpu", NULL },
                { ASKS("{'requests': {'cpu': '64', 'memory': '1'}}"), "worker", &plain,
                  "spec.containers[0].resources.requests.cpu", "500m" },
                { ASKS("{'limits': {'ephemeral-storage': '1Gi'}}"), "worker", &plain,
                  "spec.containers[0].resources.limits.ephemeral-storage", "1Gi" },
                /* a container before the member has as much as the member */
                { FLOW(POD("'spec': {'initContainers': [{'name': 'a', 'resources': {'limits': {'memory': "
                           "'1Ti', 'a/b': '1'}}}]}")),
                  "worker", &plain, "spec.initContainers[0].resources.limits.memory", "1073741824" },
                { FLOW(POD("'spec': {'initContainers': [{'name': 'a', 'resources': {'limits': {'a/b': "
                           "'1'}}}]}")),
                  "worker", &plain, "spec.initContainers[0].resources.limits.a/b", "1" },
                { FLOW(POD("'spec': {'initContainers': [{'name': 'a'}]}")), "worker", &plain,
                  "spec.initContainers[0].resources.limits.memory", "1073741824" },
                { FLOW(POD("'spec': {'initContainers': [{'name': 'a', 'restartPolicy': 'Always', "
                           "'resources': {'limits': {'memory': '7'}}}]}")),
                  "worker", &plain, "spec.initContainers[0].resources.limits.memory", "7" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) pod = filled(cases[i].spec, cases[i].role, cases[i].cluster);
                const json_t *value = kube_get(pod, cases[i].path);

                g_test_message("%zu: %s %s", i, cases[i].spec, cases[i].path);
                if (cases[i].value)
                        g_assert_cmpstr(json_string_value(value), ==, cases[i].value);
                else
                        g_assert_null(value);
        }
}

/* Devices that the job does not declare, and those of quotas that have been named since. */
static void test_devices(void)
{
        static const TemplateCluster plain = { 0 };
        g_autoptr(json_t) pod = NULL, limits = NULL,
                          expected = json_of("{'memory': '1073741824', 'a/b': '1'}");

        g_assert_cmpint(resource_intern("a test", "example.org/hca", NULL), >=, RESOURCE_OTHERS);
        pod = filled(
                ASKS("{'limits': {'nvidia.com/gpu': '8', 'nvidia.com/mig-1g.5gb': '1', 'example.org/hca': "
                     "'4', 'a/b': '1'}}"),
                "worker", &plain);
        limits = json_incref(kube_get(pod, "spec.containers[0].resources.limits"));
        g_assert_true(json_equal(limits, expected));
}

/* The profile is taken away by a field that templates are checked for, and by nothing else. */
static void test_profile(void)
{
#define PROFILE "container.apparmor.security.beta.kubernetes.io/main"
        static const TemplateCluster plain = { 0 };
        static const char *const texts[] = { "{" COMMAND ", 'annotations': {'" PROFILE "': 'unconfined'}}",
                                             FLOW(POD("'metadata': {'annotations': {'" PROFILE
                                                      "': 'unconfined'}}")) };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(json_t) pod = filled(texts[i], "worker", &plain);

                g_assert_null(kube_annotation(pod, PROFILE));
        }
}

static void test_queue(void)
{
        static const TemplateCluster plain = { 0 };
        g_autoptr(json_t) pod = filled("{" COMMAND "}", "worker", &plain);

        g_assert_cmpstr(kube_label(pod, "volcano.sh/queue-name"), ==, "vision");
        g_assert_cmpstr(kube_annotation(pod, "volcano.sh/queue-name"), ==, "vision");
        g_assert_cmpstr(kube_annotation(pod, "scheduling.volcano.sh/queue-name"), ==, "vision");
        g_assert_cmpuint(json_object_size(kube_get(pod, "spec.nodeSelector")), ==,
                         1); /* of two in its location */
}

/* Where our pass has put all of its members: they have to stand there, or should. */
static void test_topology(void)
{
        static const TemplateCluster plain = { 0 };

        for (int required = 0; required < 2; required++) {
                g_autofree char *text =
                        g_strdup_printf("{" COMMAND ", 'topology': 'rack', 'topology_required': %s}",
                                        required ? "true" : "false");
                g_autoptr(json_t) object = json_of(text), pod = json_of("{'metadata': {}, 'spec': {}}");
                g_autoptr(json_t) expected = json_of(
                        required ? "{'nodeSelector': {'rack': 'r7'}}"
                                 : "{'affinity': {'nodeAffinity': "
                                   "{'preferredDuringSchedulingIgnoredDuringExecution': [{'weight': 100, "
                                   "'preference': {'matchExpressions': [{'key': 'rack', 'operator': 'In', "
                                   "'values': ['r7']}]}}]}}}");
                g_autoptr(Spec) spec = spec_parse(object, NULL);
                g_autoptr(Job) job = job_new("ann", "job", spec, 0);
                RuntimeAttempt about = { .job = job, .topology = "rack=r7" };

                job->queue = "q";
                template_fill(&plain, &about, "worker", pod);
                g_assert_true(json_equal(json_object_get(pod, "spec"), expected));
        }
}

/* Volumes go by name, mounts by their cleaned path. */
static void test_mounts(void)
{
        static const TemplateCluster plain = { 0 };
        g_autoptr(json_t) pod = json_of(
                "{'metadata': {}, 'spec': {'volumes': [{'name': 'v', 'hostPath': {}}, {'name': 'w'}], "
                "'containers': [{'name': 'main', 'volumeMounts': [{'name': 'v', 'mountPath': '/a'}, {'name': "
                "'w', 'mountPath': '/b'}]}]}}");
        g_autoptr(json_t) object =
                json_of(FLOW(POD("'spec': {'volumes': [{'name': 'v', 'emptyDir': {}}], 'containers': "
                                 "[{'volumeMounts': [{'name': 'v', 'mountPath': '//a/'}]}]}")));
        g_autoptr(Spec) spec = spec_parse(object, NULL);
        g_autoptr(Job) job = job_new("ann", "job", spec, 0);
        RuntimeAttempt about = { .job = job };

        job->queue = "q";
        template_fill(&plain, &about, "worker", pod);
        g_assert_cmpint(json_array_size(kube_get(pod, "spec.volumes")), ==, 2);
        g_assert_nonnull(kube_get(pod, "spec.volumes[0].emptyDir"));
        g_assert_cmpint(json_array_size(kube_get(pod, "spec.containers[0].volumeMounts")), ==, 2);
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].volumeMounts[0].mountPath"), ==, "//a/");
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].volumeMounts[1].mountPath"), ==, "/b");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/template/table", test_table);
        g_test_add_func("/template/devices", test_devices);
        g_test_add_func("/template/profile", test_profile);
        g_test_add_func("/template/queue", test_queue);
        g_test_add_func("/template/topology", test_topology);
        g_test_add_func("/template/mounts", test_mounts);
        return g_test_run();
}
