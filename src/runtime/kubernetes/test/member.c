/* Members as pods, and pods as members: tables of what the API server says. */
#include "runtime/kubernetes/pod/member.h"

#include <string.h>

#include "base/test/quoted.h"
#include "kube/kind.h"
#include "runtime/test/attempt.h"

static const MemberHome home = { "jobs", "s3rv3r" };

static json_t *pod_with(const char *status)
{
        g_autofree char *text = g_strdup_printf(
                "{'metadata': {'name': 'x-trainer-3', 'labels': {'paddle-job-id': '0123456789abcdef', "
                "'paddle-attempt': '2', "
                "'paddle-role': 'trainer', 'paddle-index': '3'}}, 'status': %s}",
                status);

        return json_of(text);
}

#define MAIN(state) "{'phase': 'Running', 'containerStatuses': [{'name': 'main', 'state': {" state "}}]}"

static void test_look(void)
{
        static const struct {
                const char *status;
                bool started, ended;
                ObservationKind end;
                int exit_code, signal;
                bool oom, permanent;
                const char *text;
        } cases[] = {
                { "{'phase': 'Pending'}", .exit_code = -1 },
                { "{'phase': 'Pending', 'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason': "
                  "'Unschedulable', 'message': '0/2 nodes are available'}]}",
                  .exit_code = -1, .text = "0/2 nodes are available" },
                { MAIN("'waiting': {'reason': 'ContainerCreating'}"), .exit_code = -1,
                  .text = "ContainerCreating" },
                { MAIN("'waiting': {'reason': 'ErrImagePull', 'message': 'not found'}"), .exit_code = -1,
                  .text = "ErrImagePull: not found" },
                { MAIN("'waiting': {'reason': 'ImagePullBackOff', 'message': 'Back-off'}"), .ended = true,
                  .end = OBSERVED_START_FAILED, .exit_code = -1, .text = "ImagePullBackOff: Back-off" },
                { MAIN("'waiting': {'reason': 'InvalidImageName'}"), .ended = true,
                  .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "InvalidImageName" },
                { MAIN("'waiting': {'reason': 'CreateContainerConfigError', 'message': 'secret \\\"j\\\" not "
                       "found'}"),
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "CreateContainerConfigError: secret \"j\" not found" },
                { MAIN("'waiting': {'reason': 'CreateContainerConfigError', 'message': 'failed to sync "
                       "secret "
                       "cache: timed out waiting for the condition'}"),
                  .exit_code = -1,
                  .text = "CreateContainerConfigError: failed to sync secret cache: timed out waiting for "
                          "the "
                          "condition" },
                { MAIN("'waiting': {'reason': 'CreateContainerConfigError', 'message': 'configmap \\\"x\\\" not "
                       "found'}"), /* that of the operator, for pod "x-trainer-3" */
                  .exit_code = -1, .text = "CreateContainerConfigError: configmap \"x\" not found" },
                { MAIN("'waiting': {'reason': 'CreateContainerConfigError', 'message': 'configmap \\\"x-t\\\" not "
                       "found'}"),
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "CreateContainerConfigError: configmap \"x-t\" not found" },
                { MAIN("'running': {'startedAt': '2024-01-01T00:00:00Z'}"), .started = true,
                  .exit_code = -1 },
                { MAIN("'terminated': {'exitCode': 0}"), .started = true, .ended = true,
                  .end = OBSERVED_EXITED },
                { MAIN("'terminated': {'exitCode': 3, 'reason': 'Error'}"), .started = true, .ended = true,
                  .end = OBSERVED_EXITED, .exit_code = 3 },
                { MAIN("'terminated': {'exitCode': 137, 'reason': 'OOMKilled'}"), .started = true,
                  .ended = true, .end = OBSERVED_EXITED, .exit_code = -1, .signal = 9, .oom = true },
                { MAIN("'terminated': {'exitCode': 128, 'reason': 'StartError', 'message': 'no such file'}"),
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "StartError: no such file" },
                /* started again: the first end counts, whatever it does now */
                { "{'phase': 'Running', 'containerStatuses': [{'name': 'main', 'restartCount': 1, 'ready': "
                  "true, "
                  "'state': {'running': {}}, 'lastState': {'terminated': {'exitCode': 4}}}]}",
                  .started = true, .ended = true, .end = OBSERVED_EXITED, .exit_code = 4 },
                { "{'phase': 'Running', 'containerStatuses': [{'name': 'main', 'restartCount': 1, 'state': "
                  "{'waiting': {'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': {'exitCode': "
                  "0}}}]}",
                  .started = true, .ended = true, .end = OBSERVED_EXITED },
                { MAIN("'terminated': {'exitCode': 137, 'reason': 'ContainerStatusUnknown', 'message': "
                       "'gone'}"),
                  .started = true, .ended = true, .end = OBSERVED_LOST, .exit_code = -1,
                  .text = "ContainerStatusUnknown: gone" },
                { MAIN("'terminated': {'exitCode': 127, 'reason': 'Error', 'message': 'paddle-gate: cannot "
                       "run x'}"),
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "Error: paddle-gate: cannot run x" },
                { "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'gate', 'state': {'running': "
                  "{}}}], "
                  "'containerStatuses': [{'name': 'main', 'state': {'waiting': {'reason': "
                  "'PodInitializing'}}}]}",
                  .exit_code = -1, .text = "waits until the members that it needs listen on their ports" },
                { "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'gate', 'state': {'waiting': "
                  "{'reason': "
                  "'ErrImageNeverPull'}}}], 'containerStatuses': [{'name': 'main', 'state': {'waiting': "
                  "{'reason': "
                  "'PodInitializing'}}}]}",
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "ErrImageNeverPull" },
                { "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'package', 'state': {'waiting': "
                  "{'reason': 'ImagePullBackOff'}}}, {'name': 'gate', 'state': {'waiting': {'reason': "
                  "'PodInitializing'}}}], 'containerStatuses': [{'name': 'main', 'state': {'waiting': "
                  "{'reason': 'PodInitializing'}}}]}",
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .text = "ImagePullBackOff" },
                { "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'requirements', 'state': "
                  "{'waiting': {'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': {'exitCode': 1, "
                  "'reason': 'Error', 'message': 'its image lacks six'}}}]}",
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "its image lacks six" },
                { "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'requirements', 'state': "
                  "{'terminated': {'exitCode': 128, 'reason': 'StartError', 'message': 'no python3'}}}]}",
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "looking at the Python packages of its image: StartError: no python3" },
                { "{'phase': 'Failed', 'initContainerStatuses': [{'name': 'gate', 'state': {'terminated': "
                  "{'exitCode': 2, 'reason': 'Error'}}}]}",
                  .ended = true, .end = OBSERVED_START_FAILED, .exit_code = -1, .permanent = true,
                  .text = "the gate before its program: Error" },
                { "{'phase': 'Failed', 'reason': 'Evicted', 'message': 'low on memory'}", .ended = true,
                  .end = OBSERVED_LOST, .exit_code = -1, .text = "Evicted: low on memory" },
                { "{'phase': 'Failed', 'conditions': [{'type': 'DisruptionTarget', 'status': 'True', "
                  "'reason': "
                  "'DeletionByTaintManager', 'message': 'taint'}], 'containerStatuses': [{'name': 'main', "
                  "'state': {'terminated': {'exitCode': 143}}}]}",
                  .started = true, .ended = true, .end = OBSERVED_LOST, .exit_code = 143,
                  .text = "DeletionByTaintManager: taint" },
        };

        for (gsize n = 0; n < 2 * G_N_ELEMENTS(cases); n++) { /* each as it comes, and as a cache keeps it */
                gsize i = n / 2;
                g_autoptr(json_t) pod = pod_with(cases[i].status);
                g_auto(MemberLook) look = { 0 };

                if (n % 2)
                        member_trim(pod);
                g_assert_true(member_look(pod, &look));
                g_assert_cmpstr(look.task, ==, "0123456789abcdef.2.trainer.3");
                g_assert_cmpint(look.started, ==, cases[i].started);
                g_assert_cmpint(look.ended, ==, cases[i].ended);
                if (look.ended)
                        g_assert_cmpint(look.end, ==, cases[i].end);
                g_assert_cmpint(look.exit_code, ==, cases[i].exit_code);
                g_assert_cmpint(look.signal, ==, cases[i].signal);
                g_assert_cmpint(look.oom, ==, cases[i].oom);
                g_assert_cmpint(look.permanent, ==, cases[i].permanent);
                g_assert_cmpstr(look.text, ==, cases[i].text);
        }
}

/* doc/reference/scheduling.md, "Labels and annotations" and "Handing a job to Volcano". */
static void test_preempted(void)
{
        static const struct {
                const char *annotations, *conditions, *says;
        } cases[] = {
                { "{}", "[]", NULL },
                { "{'jobStatus': 'preempting'}", "[]", "its annotation jobStatus is preempting" },
                { "{'jobStatus': 'preempting', 'paddleflow/job-status-message': 'for x'}", "[]", "for x" },
                { "{'jobStatus': 'running', 'paddleflow/job-status-message': 'for x'}", "[]", NULL },
                { "{'jobStatus': 7}", "[]", NULL },
                { "{}",
                  "[{'type': 'DisruptionTarget', 'status': 'True', 'reason': 'PreemptionByScheduler', "
                  "'message': 'x'}]",
                  "PreemptionByScheduler: x" },
                { "{}",
                  "[{'type': 'DisruptionTarget', 'status': 'False', 'reason': 'PreemptionByScheduler'}]",
                  NULL },
                { "{}", "[{'type': 'DisruptionTarget', 'status': 'True', 'reason': 'EvictionByEvictionAPI'}]",
                  NULL },
                { "{}", "[{'type': 'Ready', 'status': 'False', 'reason': 'Evict', 'message': 'reclaim'}]",
                  "Evict: reclaim" },
                { "{}", "[{'type': 'Ready', 'status': 'False', 'reason': 'ContainersNotReady'}]", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *status =
                        g_strdup_printf("{'phase': 'Running', 'conditions': %s}", cases[i].conditions);
                g_autoptr(json_t) pod = pod_with(status);
                g_auto(MemberLook) look = { 0 };

                json_object_set_new(json_object_get(pod, "metadata"), "annotations",
                                    json_of(cases[i].annotations));
                member_trim(pod);
                g_assert_true(member_look(pod, &look));
                g_assert_cmpstr(look.preempted, ==, cases[i].says);
        }
}

/* doc/reference/scheduling.md, "How long objects are kept". */
static void test_stuck(void)
{
        static const struct {
                const char *status;
                bool stuck;
        } cases[] = {
                { "{'phase': 'Pending'}", true },
                { "{'phase': 'Running'}", false },
                { "{'phase': 'Pending', 'containerStatuses': [{'name': 'main', 'state': {'waiting': "
                  "{'reason': "
                  "'ContainerCreating'}}}]}",
                  false },
                { "{'phase': 'Pending', 'initContainerStatuses': [{'name': 'x', 'state': {'running': {}}}], "
                  "'containerStatuses': [{'name': 'main', 'state': {'waiting': {'reason': "
                  "'PodInitializing'}}}]}",
                  false },
                { "{'phase': 'Pending', 'containerStatuses': [{'name': 'main', 'state': {'waiting': "
                  "{'reason': "
                  "'ErrImagePull'}}}]}",
                  true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) pod = pod_with(cases[i].status);

                json_object_set_new(json_object_get(pod, "metadata"), "creationTimestamp",
                                    json_string("1970-01-01T00:00:02Z"));
                g_assert_cmpint(member_stuck_since(pod), ==, cases[i].stuck ? 2000 : 0);
                member_trim(pod);
                g_assert_cmpint(member_stuck_since(pod), ==, cases[i].stuck ? 2000 : 0);
        }
}

static void test_others(void)
{
        static const char *const pods[] = {
                "{}",
                "{'metadata': {'labels': {'paddle-job-id': 'a', 'paddle-role': 'r', 'paddle-attempt': '1'}}}",
                "{'metadata': {'labels': {'paddle-job-id': 'a', 'paddle-role': 'r', 'paddle-attempt': '-1', "
                "'paddle-index': '0'}}}",
                "{'metadata': {'labels': {'paddle-job-id': 7, 'paddle-role': [], 'paddle-attempt': '1', "
                "'paddle-index': '0'}}}",
        };

        for (gsize i = 0; i < G_N_ELEMENTS(pods); i++) {
                g_autoptr(json_t) pod = json_of(pods[i]);
                g_auto(MemberLook) look = { 0 };

                g_assert_false(member_look(pod, &look));
                member_trim(pod);
                g_assert_false(member_look(pod, &look));
        }
}

/* What is not looked at goes; who it is, and what it asks for until it has a node, stays. */
static void test_trim(void)
{
        g_autoptr(json_t) waiting =
                json_of("{'kind': 'Pod', 'metadata': {'name': 'x', 'namespace': 'n', 'uid': 'u', "
                        "'resourceVersion': '7', "
                        "'generation': 1, 'annotations': {'a': 'b', 'jobStatus': 'preempting'}, 'labels': "
                        "{'l': 'v'}, "
                        "'ownerReferences': [{'kind': "
                        "'Job', 'name': 'j', 'uid': 'o', 'controller': true, 'apiVersion': 'batch/v1'}]}, "
                        "'spec': {'hostname': 'h', 'containers': [{'name': 'main', 'image': 'i', "
                        "'resources': {'limits': {}, "
                        "'requests': {'cpu': '1'}}}]}, 'status': {'phase': 'Pending', 'hostIP': '1.2.3.4', "
                        "'conditions': "
                        "[{'type': 'Initialized', 'status': 'False'}]}}");
        g_autoptr(json_t) placed = json_of("{'metadata': {'name': 'x', 'deletionTimestamp': 't'}, 'spec': "
                                           "{'nodeName': 'n', 'containers': []}}");
        g_autoptr(json_t) left = json_of(
                "{'metadata': {'name': 'x', 'namespace': 'n', 'uid': 'u', 'resourceVersion': '7', "
                "'annotations': {'jobStatus': 'preempting'}, 'labels': "
                "{'l': "
                "'v'}, 'ownerReferences': [{'kind': 'Job', 'name': 'j', 'uid': 'o', 'controller': true}]}, "
                "'spec': {'containers': [{'resources': {'requests': {'cpu': '1'}}}]}, 'status': {'phase': "
                "'Pending', 'conditions': [], 'containerStatuses': [], 'initContainerStatuses': []}}");

        member_trim(waiting);
        g_assert_true(json_equal(waiting, left));
        member_trim(waiting); /* once more is harmless */
        g_assert_true(json_equal(waiting, left));
        member_trim(placed);
        g_assert_true(kube_is_deleting(placed));
        g_assert_cmpstr(kube_get_text(placed, "spec.nodeName"), ==, "n");
        g_assert_null(kube_get(placed, "spec.containers"));
}

/* A pod gets what its job declares of any kind. */
static void test_devices(void)
{
        char *none[] = { NULL };
        TestAttempt test;
        TaskStart task = { .task = "0123456789abcdef.1.worker.0", .argv = none, .env = none };
        g_autoptr(json_t) expected = json_of("{'nvidia.com/gpu': '1', 'example.org/hca': '2'}");
        g_autoptr(json_t) pod = NULL;

        task.limits.gpus = 1;
        task.limits.storage = 1 << 30; /* is nothing that a container asks for */
        task.limits.amount[resource_intern("a test", "example.org/hca", NULL)] = 2;
        test_attempt_init(&test, "0123456789abcdef", 1);
        pod = member_pod(&home, &test.attempt, &task);
        g_assert_true(json_equal(kube_get(pod, "spec.containers[0].resources.limits"), expected));
}

static void test_pod(void)
{
        char *argv[] = { "sh", "-c", "echo $(HOME)", NULL },
             *env[] = { "A=1$2=3", "PADDLE_READY_FILE=/x", NULL };
        TestAttempt test;
        TaskStart task = { .task = "0123456789abcdef.2.trainer.3",
                           .argv = argv,
                           .env = env,
                           .limits.memory = 1024,
                           .cpu_weight_milli = 1500,
                           .grace_ms = 1500,
                           .ready_file = "/x" };
        g_autoptr(json_t) pod = NULL, service = member_service(&home, "0123456789abcdef", 2);
        g_autofree char *address = member_address(&home, "0123456789abcdef", 2, "trainer", 3);
        g_autofree char *host = NULL;
        g_auto(MemberLook) look = { 0 };

        test_attempt_init(&test, "0123456789abcdef", 2);
        pod = member_pod(&home, &test.attempt, &task);
        host = g_strdup_printf("%s.%s.jobs.svc", kube_get_text(pod, "spec.hostname"),
                               kube_get_text(pod, "spec.subdomain"));
        g_assert_cmpstr(address, ==, host);
        g_assert_cmpstr(kube_name(service), ==, kube_get_text(pod, "spec.subdomain"));
        g_assert_cmpstr(kube_name(pod), ==, "0123456789abcdef-2-trainer-3");
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].command[2]"), ==, "echo $$(HOME)");
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].env[0].value"), ==, "1$$2=3");
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].env[1].value"), ==, MEMBER_READY_FILE);
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].resources.requests.cpu"), ==, "1500m");
        g_assert_cmpstr(kube_get_text(pod, "spec.containers[0].resources.limits.memory"), ==, "1024");
        g_assert_null(kube_get(pod, "spec.containers[0].resources.limits.cpu"));
        g_assert_cmpint(kube_get_int(pod, "spec.terminationGracePeriodSeconds", 0), ==, 2);
        g_assert_true(member_look(pod, &look));
        g_assert_cmpstr(look.task, ==, task.task);
}

/* The name, "=" and the value are one word. */
static void test_too_long(void)
{
        g_autofree char *value = g_strnfill(131071 - strlen("ALL="), 'x');
        g_autofree char *longest = g_strconcat("ALL=", value, NULL),
                        *longer = g_strconcat(longest, "x", NULL);
        g_autofree char *why = member_too_long((char *[]){ "A=1", longer, NULL });

        g_assert_null(member_too_long((char *[]){ "A=1", longest, NULL }));
        g_assert_true(
                g_str_has_prefix(why,
                                 "the variable 'ALL' has 131072 bytes; a program can get at most 131071\n"));
}

/* Volcano names a gang after the attempt's service. */
static void test_index(void)
{
        g_autoptr(json_t) pod = pod_with("{}"), other = json_of("{'metadata': {'name': 'x', 'labels': {}}}");
        g_autofree char *service = member_service_name("0123456789abcdef", 2);
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

        member_index_by_attempt(other, names);
        g_assert_cmpuint(names->len, ==, 0);
        member_index_by_attempt(pod, names);
        g_assert_cmpuint(names->len, ==, 1);
        g_assert_cmpstr(names->pdata[0], ==, service);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/member/what a pod says", test_look);
        g_test_add_func("/member/who has to go for others", test_preempted);
        g_test_add_func("/member/one that waits too long", test_stuck);
        g_test_add_func("/member/pods that are no members", test_others);
        g_test_add_func("/member/what is kept of a pod", test_trim);
        g_test_add_func("/member/its devices", test_devices);
        g_test_add_func("/member/its pod", test_pod);
        g_test_add_func("/member/by its attempt", test_index);
        g_test_add_func("/member/more than a variable may have", test_too_long);
        return g_test_run();
}
