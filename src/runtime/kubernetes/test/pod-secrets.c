/* Secrets in pods: the object, what pods name of it, and that no value is in them in any form of a job. */
#include "runtime/kubernetes/pod/pod-secrets.h"

#include <string.h>

#include "base/test/quoted.h"
#include "model/baseline.h"
#include "runtime/kubernetes/pod/form.h"
#include "runtime/test/attempt.h"

static const MemberHome home = { "jobs", "s3rv3r" };
static TestAttempt test;
static const TaskSecret secrets[] = {
        { .variable = "TOKEN", .value = "needle", .len = 6 },
        { .file = "TOKEN", .value = "a\0\377", .len = 3 },
        { .variable = "KEY", .value = "line\n$(x)", .len = 9 },
};
enum { N = G_N_ELEMENTS(secrets) };

static json_t *pod_of(const char *role, int index)
{
        g_autofree char *task = g_strdup_printf("0123456789abcdef.2.%s.%d", role, index);
        g_autofree char *own = g_strdup_printf("INDEX=%d", index);
        char *argv[] = { (char *)"train", NULL };
        char *env[] = { (char *)"KEY=plain", (char *)"OTHER=b", own, NULL };

        return member_pod(&home, &test.attempt, &(TaskStart){ .task = task, .argv = argv, .env = env });
}

static void assert_json(const json_t *value, const char *wanted)
{
        g_autoptr(json_t) expected = json_of(wanted);
        g_autofree char *shown = json_format(value);

        if (!json_equal(value, expected))
                g_error("%s", shown);
}

static void test_object(void)
{
        g_autoptr(json_t) made = pod_secrets_object(&home, &test.attempt, secrets, N);

        assert_json(
                made,
                "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'j-0123456789abcdef-2-secrets', "
                "'namespace': 'jobs', 'labels': {'owner': 'paddleflow', 'paddle-server': 's3rv3r', "
                "'paddle-job-id': '0123456789abcdef', 'paddleflow-job-id': '0123456789abcdef', "
                "'paddle-attempt': '2'}}, 'type': 'Opaque', 'immutable': true, 'data': {'variable.TOKEN': "
                "'bmVlZGxl', 'file.TOKEN': 'YQD/', 'variable.KEY': 'bGluZQokKHgp'}}");
}

#define FROM(key) "{'secretKeyRef': {'name': 'j-0123456789abcdef-2-secrets', 'key': '" key "'}}"

static void test_pod(void)
{
        g_autoptr(json_t) pod = pod_of("trainer", 0);
        const json_t *spec;

        pod_secrets_put(pod, &test.attempt, secrets, N);
        spec = json_object_get(pod, "spec");
        assert_json(
                kube_get(spec, "containers[0].env"),
                "[{'name': 'OTHER', 'value': 'b'}, {'name': 'INDEX', 'value': '0'}, {'name': "
                "'PADDLE_SECRETS_DIR', 'value': '/run/paddle/secrets'}, {'name': 'TOKEN', 'valueFrom': " FROM(
                        "variable.TOKEN") "}, {'name': 'KEY', 'valueFrom': " FROM("variable.KEY") "}]");
        assert_json(kube_get(spec, "containers[0].volumeMounts"),
                    "[{'name': 'paddle-secrets', 'mountPath': '/run/paddle/secrets', 'readOnly': true}]");
        assert_json(kube_get(spec, "volumes"),
                    "[{'name': 'paddle-secrets', 'secret': {'secretName': 'j-0123456789abcdef-2-secrets', "
                    "'defaultMode': 292, 'items': [{'key': 'file.TOKEN', 'path': 'TOKEN'}]}}]");
        g_assert_nonnull(kube_label(pod, POD_SECRETS_LABEL));
}

static void test_none(void)
{
        g_autoptr(json_t) pod = pod_of("trainer", 0), same = pod_of("trainer", 0);

        pod_secrets_put(pod, &test.attempt, NULL, 0);
        g_assert_true(json_equal(pod, same));
}

/* Without a file there is no directory. */
static void test_variables_alone(void)
{
        g_autoptr(json_t) pod = pod_of("trainer", 0);

        pod_secrets_put(pod, &test.attempt, secrets, 1);
        g_assert_null(kube_get(pod, "spec.volumes"));
        g_assert_null(kube_get(pod, "spec.containers[0].volumeMounts"));
        g_assert_cmpint(json_array_size(kube_get(pod, "spec.containers[0].env")), ==, 4);
}

/* The container's user reads its files, with the least that this takes: modes of files of root, in decimal.
 */
static void test_modes(void)
{
        static const struct {
                const char *pod, *container;
                int mode;
        } cases[] = {
                { "{}", "{}", 0444 }, /* the image says who */
                { "{}", "{'runAsUser': 0}", 0400 },
                { "{'runAsUser': 0}", "{}", 0400 },
                { "{'runAsUser': 0}", "{'runAsUser': 1000}", 0444 },
                { "{'runAsUser': 1000}", "{}", 0444 },
                { "{'runAsUser': 1000}", "{'runAsUser': 0}", 0400 },
                { "{'fsGroup': 2000}", "{'runAsUser': 1000}", 0440 },
                { "{'fsGroup': 2000}", "{}", 0440 },
                { "{}", "{'runAsNonRoot': true}", 0444 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) pod = pod_of("trainer", 0);

                json_object_set_new(kube_get(pod, "spec"), "securityContext", json_of(cases[i].pod));
                json_object_set_new(kube_get(pod, "spec.containers[0]"), "securityContext",
                                    json_of(cases[i].container));
                pod_secrets_put(pod, &test.attempt, secrets, N);
                g_assert_cmpint(kube_get_int(pod, "spec.volumes[0].secret.defaultMode", -1), ==,
                                cases[i].mode);
        }
}

/* A template's mount in the same place, its volume and its variable of the same name would hide them. */
static void test_in_place_of_a_templates(void)
{
        g_autoptr(json_t) pod = json_of("{'spec': {'containers': [{'name': 'helper', 'env': [{'name': "
                                        "'TOKEN', 'value': 'its'}]}, {'name': "
                                        "'main', 'env': [{'name': 'TOKEN', 'value': 'x'}, {'name': "
                                        "'PADDLE_SECRETS_DIR', 'value': '/x'}], "
                                        "'volumeMounts': [{'name': 'a', 'mountPath': "
                                        "'//run/paddle/secrets/'}, {'name': 'a', 'mountPath': "
                                        "'/a'}]}], 'volumes': [{'name': 'paddle-secrets', 'emptyDir': {}}, "
                                        "{'name': 'a', 'emptyDir': {}}]}}");

        pod_secrets_put(pod, &test.attempt, secrets, 2);
        assert_json(kube_get(pod, "spec.containers[0]"),
                    "{'name': 'helper', 'env': [{'name': 'TOKEN', 'value': 'its'}]}");
        assert_json(kube_get(pod, "spec.containers[1].env"),
                    "[{'name': 'PADDLE_SECRETS_DIR', 'value': '/run/paddle/secrets'}, {'name': 'TOKEN', "
                    "'valueFrom': " FROM("variable.TOKEN") "}]");
        assert_json(kube_get(pod, "spec.containers[1].volumeMounts"),
                    "[{'name': 'a', 'mountPath': '/a'}, {'name': 'paddle-secrets', 'mountPath': "
                    "'/run/paddle/secrets', 'readOnly': true}]");
        g_assert_cmpint(json_array_size(kube_get(pod, "spec.volumes")), ==, 2);
        g_assert_cmpstr(kube_get_text(pod, "spec.volumes[1].secret.secretName"), ==,
                        "j-0123456789abcdef-2-secrets");
}

/* A Secret is named, wherever it is; and what is in it is nowhere else. */
static void assert_carried(const json_t *objects, int templates)
{
        g_autofree char *text = json_format(objects);
        int variables = 0, volumes = 0;

        for (const char *at = text; (at = strstr(at, "\"key\":\"variable.TOKEN\"")); at++)
                variables++;
        for (const char *at = text; (at = strstr(at, "\"path\":\"TOKEN\"")); at++)
                volumes++;
        g_assert_cmpint(variables, ==, templates);
        g_assert_cmpint(volumes, ==, templates);
        g_assert_null(strstr(text, "needle"));
        g_assert_null(strstr(text, "bmVlZGxl"));
        g_assert_nonnull(strstr(text, "\"" POD_SECRETS_LABEL "\""));
}

static void test_sets(void)
{
        static const FormWish none = { 0 };

        for (int serves = 0; serves < 2; serves++) {
                g_autoptr(json_t) pods = json_array(), objects = NULL;
                const Form *form = form_of(&none, &test.attempt, &(FormRole){ .serves = serves });

                for (int i = 0; i < 2; i++) {
                        json_t *pod = pod_of("worker", i);

                        pod_secrets_put(pod, &test.attempt, secrets, N);
                        json_array_append_new(pods, pod);
                }
                objects = form_objects(form, pods);
                g_assert_cmpint(json_array_size(objects), ==, 2);
                assert_carried(objects, 1);
        }
}

static void test_paddle_job(void)
{
        g_autoptr(json_t) pods = json_array(), objects = NULL;
        for (int i = 0; i < 4; i++) {
                json_t *pod = pod_of(i < 2 ? "pserver" : "trainer", i % 2);

                pod_secrets_put(pod, &test.attempt, secrets, N);
                json_array_append_new(pods, pod);
        }
        objects = form_objects(form_of(&(FormWish){ .preferred = "paddlejob" }, &test.attempt,
                                       &(FormRole){ 0 }),
                               pods);
        g_assert_cmpint(json_array_size(objects), ==, 1);
        g_assert_cmpstr(kube_get_text(json_array_get(objects, 0), "kind"), ==, "PaddleJob");
        assert_carried(objects, 2);
}

/* Whoever shares the namespace names no Secret of a job in a template. */
static void test_templates_may_not_name_it(void)
{
        static const char *const templates[] = {
                "{'spec': {'volumes': [{'name': 'a', 'secret': {'secretName': '%s'}}]}}",
                "{'spec': {'volumes': [{'name': 'a', 'projected': {'sources': [{'secret': {'name': "
                "'%s'}}]}}]}}",
                "{'spec': {'containers': [{'env': [{'name': 'A', 'valueFrom': {'secretKeyRef': {'name': "
                "'%s', "
                "'key': 'k'}}}]}]}}",
                "{'spec': {'initContainers': [{'name': 'a', 'env': [{'name': 'A', 'valueFrom': "
                "{'secretKeyRef': "
                "{'name': '%s', 'key': 'k'}}}]}]}}",
                "{'spec': {'containers': [{'envFrom': [{'secretRef': {'name': '%s'}}]}]}}",
                "{'spec': {'imagePullSecrets': [{'name': '%s'}]}}",
        };
        g_autoptr(json_t) secret = pod_secrets_object(&home, &test.attempt, secrets, N);

        for (gsize i = 0; i < G_N_ELEMENTS(templates); i++) {
                g_auto(GStrv) parts = g_strsplit(templates[i], "%s", 2);
                g_autofree char *ours = g_strjoin(kube_name(secret), parts[0], parts[1], NULL);
                g_autofree char *theirs = g_strjoin("mine", parts[0], parts[1], NULL);
                g_autoptr(json_t) bad = json_of(ours), good = json_of(theirs);
                g_autoptr(GError) error = NULL;

                g_assert_true(baseline_check(good, &(BaselinePlace){ .pods = true }, &error));
                g_assert_false(baseline_check(bad, &(BaselinePlace){ .pods = true }, &error));
                g_assert_nonnull(strstr(error->message, "a secret of the platform"));
        }
}

int main(int argc, char **argv)
{
        test_attempt_init(&test, "0123456789abcdef", 2);
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pod-secrets/object", test_object);
        g_test_add_func("/pod-secrets/pod", test_pod);
        g_test_add_func("/pod-secrets/none", test_none);
        g_test_add_func("/pod-secrets/variables-alone", test_variables_alone);
        g_test_add_func("/pod-secrets/modes", test_modes);
        g_test_add_func("/pod-secrets/in-place-of-a-templates", test_in_place_of_a_templates);
        g_test_add_func("/pod-secrets/sets", test_sets);
        g_test_add_func("/pod-secrets/paddle-job", test_paddle_job);
        g_test_add_func("/pod-secrets/templates-may-not-name-it", test_templates_may_not_name_it);
        return g_test_run();
}
