/* Roles as objects: what the pods of members become together, and what stays a pod. */
#include "runtime/kubernetes/pod/form.h"

#include <string.h>

#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"
#include "runtime/kubernetes/pod/member.h"
#include "runtime/test/attempt.h"

static const MemberHome home = { "jobs", "s3rv3r" };
static const FormWish none = { 0 };
static TestAttempt test; /* the second attempt of job 0123456789abcdef */

/* The pod of a member, told apart by the last of its variables. */
static json_t *pod_of(const char *role, int index, const char *own, const char *const *wait_for)
{
        g_autofree char *task = g_strdup_printf("0123456789abcdef.2.%s.%d", role, index);
        char *argv[] = { "python", "train.py", "$(HOME)", NULL };
        char *env[] = { "ALL=a$b", (char *)own, NULL };
        json_t *pod = member_pod(&home, &test.attempt,
                                 &(TaskStart){ .task = task, .argv = argv, .env = env, .grace_ms = 30000 });

        gate_wait(pod, wait_for);
        return pod;
}

static json_t *pods_of(const char *role, const char *first, const char *second)
{
        json_t *pods = json_array();

        json_array_append_new(pods, pod_of(role, 0, first, NULL));
        json_array_append_new(pods, pod_of(role, 1, second, NULL));
        return pods;
}

/* The kind that a role becomes. */
static void test_choice(void)
{
        static const struct {
                bool single, elastic, serves;
                const KubeKind *kind;
        } cases[] = {
                { false, false, true, &kube_stateful_sets },
                { false, false, false, &kube_jobs },
                { true, false, true, NULL },
                { true, false, false, NULL },
                { false, true, false, NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Framework framework = *test.spec.framework;
                TestAttempt other;
                FormRole role = { .elastic = cases[i].elastic, .serves = cases[i].serves };
                g_autoptr(json_t) pods = pods_of("pserver", "I=0", "I=1"), objects = NULL;
                const Form *form;

                framework.single = cases[i].single;
                test_attempt_init(&other, test.job.id, 2);
                other.spec.framework = &framework;
                form = form_of(&none, &other.attempt, &role);
                g_assert_true(!form == !cases[i].kind);
                if (!form)
                        continue;
                objects = form_objects(form, pods);
                g_assert_cmpstr(kube_get_text(json_array_get(objects, 1), "kind"), ==, cases[i].kind->kind);
        }
}

static const Form *serving(void)
{
        return form_of(&none, &test.attempt, &(FormRole){ .serves = true });
}

static const Form *ending(void)
{
        return form_of(&none, &test.attempt, &(FormRole){ 0 });
}

static void assert_words(const json_t *list, const char *wanted)
{
        g_autoptr(GString) text = g_string_new(NULL);
        const json_t *word;
        gsize i;

        json_array_foreach(list, i, word)
                g_string_append_printf(text, "%s%s", i ? " " : "", json_string_value(word));
        g_assert_cmpstr(text->str, ==, wanted);
}

static void test_stateful_set(void)
{
        g_autoptr(json_t) pods = pods_of("pserver", "I=0", "I=1"), objects = form_objects(serving(), pods);
        const json_t *map = json_array_get(objects, 0), *set = json_array_get(objects, 1);
        const json_t *spec = kube_get(set, "spec.template.spec");
        g_autofree char *host = member_address(&home, test.job.id, 2, "pserver", 1);
        g_autofree char *wanted =
                g_strdup_printf("%s-1.%s.jobs.svc", kube_name(set), kube_get_text(set, "spec.serviceName"));

        g_assert_cmpint(json_array_size(objects), ==, 2);
        g_assert_cmpstr(kube_name(set), ==, "0123456789abcdef-2-pserver");
        g_assert_cmpstr(host, ==, wanted); /* hosts are the same in all forms */
        g_assert_cmpint(kube_get_int(set, "spec.replicas", 0), ==, 2);
        g_assert_cmpstr(kube_get_text(set, "spec.podManagementPolicy"), ==, "Parallel");
        g_assert_cmpstr(kube_get_text(set, "spec.selector.matchLabels.paddle-role"), ==, "pserver");
        g_assert_cmpstr(kube_get_text(set, "spec.selector.matchLabels.paddle-attempt"), ==, "2");
        g_assert_cmpstr(kube_get_text(set, "spec.selector.matchLabels.paddle-server"), ==, "s3rv3r");
        g_assert_cmpstr(kube_label(set, "paddle-job-id"), ==, test.job.id);
        g_assert_null(kube_label(set, "paddle-index"));
        g_assert_null(kube_get(set, "spec.template.metadata.labels.paddle-index"));
        g_assert_cmpstr(kube_get_text(spec, "restartPolicy"), ==, "Always");
        g_assert_null(kube_get(spec, "hostname"));
        g_assert_null(kube_get(spec, "subdomain"));
        g_assert_cmpint(kube_get_int(spec, "terminationGracePeriodSeconds", 0), ==, 30);
        assert_words(kube_get(spec, "containers[0].command"),
                     "/.paddle/bin/paddle-gate run --once /.paddle/state/ran /.paddle/members/pserver -- "
                     "python train.py $$(HOME)");
        g_assert_cmpint(json_array_size(kube_get(spec, "containers[0].env")), ==, 2);
        g_assert_cmpstr(kube_get_text(spec, "containers[0].env[0].value"), ==, "a$$b");
        g_assert_cmpstr(kube_get_text(spec, "containers[0].env[1].valueFrom.fieldRef.fieldPath"), ==,
                        "metadata.name");
        g_assert_cmpstr(kube_name(map), ==, "j-0123456789abcdef-2-pserver");
        g_assert_cmpstr(json_string_value(json_object_get(json_object_get(map, "data"), "pserver-0")), ==,
                        "I=0\n");
        g_assert_cmpstr(json_string_value(json_object_get(json_object_get(map, "data"), "pserver-1")), ==,
                        "I=1\n");
        g_assert_true(gate_is_used(spec));
}

static void test_job(void)
{
        g_autoptr(json_t) pods = pods_of("trainer", "I=0", "J=$$x\ny\\"),
                          objects = form_objects(ending(), pods);
        const json_t *map = json_array_get(objects, 0), *made = json_array_get(objects, 1);
        const json_t *spec = kube_get(made, "spec.template.spec");

        g_assert_cmpstr(kube_name(made), ==, "0123456789abcdef-2-trainer");
        g_assert_cmpint(kube_get_int(made, "spec.completions", 0), ==, 2);
        g_assert_cmpint(kube_get_int(made, "spec.parallelism", 0), ==, 2);
        g_assert_cmpstr(kube_get_text(made, "spec.completionMode"), ==, "Indexed");
        g_assert_cmpint(kube_get_int(made, "spec.backoffLimitPerIndex", -1), ==, 0);
        g_assert_cmpstr(kube_get_text(made, "spec.podReplacementPolicy"), ==, "Failed");
        g_assert_cmpstr(kube_get_text(spec, "restartPolicy"), ==, "Never");
        g_assert_cmpstr(kube_get_text(spec, "subdomain"), ==, "j-0123456789abcdef-2");
        assert_words(kube_get(spec, "containers[0].command"),
                     "/.paddle/bin/paddle-gate run /.paddle/members/trainer -- python train.py $$(HOME)");
        g_assert_cmpstr(kube_get_text(spec, "containers[0].env[1].valueFrom.fieldRef.fieldPath"), ==,
                        "metadata.annotations['batch.kubernetes.io/job-completion-index']");
        /* as the program is to see it: dollars as they were, lines and backslashes told apart */
        g_assert_cmpstr(json_string_value(json_object_get(json_object_get(map, "data"), "trainer-1")), ==,
                        "J=$$x\\ny\\\\\n");
}

/* Which members are over, by batch/v1: "compressed ... 1,3-5,7". */
static void test_members_of_a_job_that_are_over(void)
{
        static const struct {
                const char *failed;
                int index;
                bool over;
        } cases[] = {
                { NULL, 0, false },     { "", 0, false },         { "0", 0, true },
                { "1", 0, false },      { "1,3-5,7", 3, true },   { "1,3-5,7", 4, true },
                { "1,3-5,7", 5, true }, { "1,3-5,7", 6, false },  { "1,3-5,7", 7, true },
                { "10-12", 1, false },  { "10-12,20", 20, true }, { "10-12,20", 2, false },
        };

        g_assert_true(form_ends_pods(ending()));
        g_assert_false(form_ends_pods(serving()));
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *task = g_strdup_printf("0123456789abcdef.2.trainer.%d", cases[i].index);
                g_autoptr(json_t) object =
                        json_pack("{s:{s:s*}}", "status", "failedIndexes", cases[i].failed);

                g_assert_cmpint(form_is_over(ending(), object, task), ==, cases[i].over);
        }
}

static void test_sets_that_are_being_deleted(void)
{
        static const struct {
                const char *reply;
                bool remakes;
        } cases[] = {
                { "{\"metadata\": {\"deletionTimestamp\": \"2026-01-02T03:04:05Z\", \"generation\": 2},"
                  " \"status\": {\"observedGeneration\": 1}}",
                  true },
                { "{\"metadata\": {\"deletionTimestamp\": \"2026-01-02T03:04:05Z\", \"generation\": 2},"
                  " \"status\": {\"replicas\": 0}}", /* it has not even seen that it was made */
                  true },
                { "{\"metadata\": {\"deletionTimestamp\": \"2026-01-02T03:04:05Z\", \"generation\": 2},"
                  " \"status\": {\"observedGeneration\": 2}}",
                  false },
                { "{\"kind\": \"Status\", \"status\": \"Success\"}", false }, /* it is gone */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) reply = json_loads(cases[i].reply, 0, NULL);

                g_assert_nonnull(reply);
                g_assert_cmpint(form_remakes(&kube_stateful_sets, reply), ==, cases[i].remakes);
                g_assert_false(form_remakes(&kube_jobs, reply));
        }
}

static void test_alike(void)
{
        g_autoptr(json_t) pods = pods_of("trainer", "I=0", "I=0"), objects = form_objects(ending(), pods);

        g_assert_cmpint(json_array_size(objects), ==, 1); /* nothing differs: no variables, no gate */
        assert_words(kube_get(json_array_get(objects, 0), "spec.template.spec.containers[0].command"),
                     "python train.py $$(HOME)");
        g_assert_false(gate_is_used(kube_get(json_array_get(objects, 0), "spec.template.spec")));
}

static void test_gaps(void)
{
        g_autoptr(json_t) pods = json_array();

        json_array_append_new(pods, pod_of("trainer", 0, "I=0", NULL));
        json_array_append_new(pods, pod_of("trainer", 2, "I=2", NULL));
        g_assert_null(form_objects(ending(), pods));
}

static void test_wait(void)
{
        static const char *const addresses[] = { "a.b:36000,36018", "c.d:36000", NULL };
        g_autoptr(json_t) pod = pod_of("trainer", 0, "I=0", addresses);
        g_autoptr(json_t) without = pod_of("trainer", 0, "I=0", NULL);
        const json_t *gate = kube_get(pod, "spec.initContainers[0]");
        g_autoptr(json_t) map = gate_config_map("jobs");
        g_autofree char *name = gate_config_map_name();

        g_assert_cmpstr(kube_get_text(gate, "image"), ==, "base:1"); /* no image of ours */
        assert_words(kube_get(gate, "command"), "/.paddle/bin/paddle-gate wait a.b:36000,36018 c.d:36000");
        g_assert_cmpstr(kube_get_text(pod, "spec.volumes[0].configMap.name"), ==, name);
        g_assert_cmpint(kube_get_int(pod, "spec.volumes[0].configMap.defaultMode", 0), ==, 0555);
        g_assert_cmpstr(kube_name(map), ==, name);
        g_assert_nonnull(kube_get_text(map, "binaryData.paddle-gate"));
        g_assert_cmpint((int)strlen(kube_get_text(map, "binaryData.paddle-gate")), <, 140000);
        g_assert_null(kube_get(without, "spec.initContainers"));
        g_assert_false(gate_is_used(json_object_get(without, "spec")));
}

/* A pod as the cluster shows it: whose it is, and which member. */
static void test_pods(void)
{
        static const struct {
                const char *owner, *name, *labels;
                int index; /* -1: no member */
                const KubeKind *kind;
        } cases[] = {
                { NULL, "x-2-trainer-3", "\"paddle-index\": \"3\"", 3, NULL },
                { "StatefulSet", "x-2-trainer-4", "\"apps.kubernetes.io/pod-index\": \"4\"", 4,
                  &kube_stateful_sets },
                { "StatefulSet", "x-2-trainer-5", "\"a\": \"b\"", 5, &kube_stateful_sets },
                { "StatefulSet", "x-2-trainer-x", "\"a\": \"b\"", -1, &kube_stateful_sets },
                { "Job", "x-2-trainer-6-abcde", "\"batch.kubernetes.io/job-completion-index\": \"6\"", 6,
                  &kube_jobs },
                { "Job", "x-2-trainer-6-12345", "\"a\": \"b\"", -1, &kube_jobs },
                { "ReplicaSet", "x-2-trainer-7", "\"a\": \"b\"", -1, NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *owner =
                        cases[i].owner ? g_strdup_printf("[{\"kind\": \"%s\", \"controller\": true}]",
                                                         cases[i].owner)
                                       : g_strdup("[]");
                g_autofree char *text = g_strdup_printf(
                        "{\"metadata\": {\"name\": \"%s\", \"ownerReferences\": %s, \"labels\": "
                        "{\"paddle-job-id\": \"0123456789abcdef\", \"paddle-attempt\": \"2\", "
                        "\"paddle-role\": \"trainer\", \"paddle-members\": \"8\", %s}}}",
                        cases[i].name, owner, cases[i].labels);
                g_autoptr(json_t) pod = json_parse(text, strlen(text), NULL);
                g_auto(MemberLook) look = { 0 };

                g_assert_cmpint(member_look(pod, &look), ==, cases[i].index >= 0);
                if (cases[i].index >= 0)
                        g_assert_cmpint(look.index, ==, cases[i].index);
                g_assert_true(form_kind_of(pod) == cases[i].kind);
                g_assert_cmpint(form_members(pod), ==, cases[i].kind ? 8 : 0);
        }
}

static const Form *as_paddle_job(const char *framework)
{
        TestAttempt other;

        test_attempt_init(&other, test.job.id, 2);
        other.spec.framework = framework_find(framework);
        return form_of(&(FormWish){ .preferred = "paddlejob" }, &other.attempt,
                       &(FormRole){ .serves = true });
}

/* All roles in one object. What the operator says (doc/reference/paddle-operator.md, "Environment of a pod")
 * is not said twice, what it does not say is put together from it. */
static void test_paddle_job(void)
{
        g_autoptr(json_t) pods = pods_of("pserver", "PADDLE_TRAINER_ID=0", "PADDLE_TRAINER_ID=1"),
                          trainers = pods_of("trainer", "PADDLE_TRAINER_ID=0", "PADDLE_TRAINER_ID=1"),
                          objects = NULL;
        const json_t *spec;

        json_array_extend(pods, trainers);
        objects = form_objects(as_paddle_job("paddle-ps"), pods);
        g_assert_cmpint(json_array_size(objects), ==, 1);
        g_assert_cmpstr(kube_name(json_array_get(objects, 0)), ==, "j-0123456789abcdef-2");
        spec = kube_get(json_array_get(objects, 0), "spec");
        g_assert_cmpint(kube_get_int(spec, "ps.replicas", 0), ==, 2);
        g_assert_cmpint(kube_get_int(spec, "worker.replicas", 0), ==, 2);
        g_assert_cmpstr(kube_get_text(spec, "cleanPodPolicy"), ==, "Never");
        g_assert_cmpstr(kube_get_text(spec, "worker.template.metadata.labels.paddle-role"), ==, "trainer");
        assert_words(kube_get(spec, "worker.template.spec.containers[0].command"),
                     "env PADDLE_CURRENT_ENDPOINT=$(POD_IP):$(PADDLE_PORT) PADDLE_INIT_PORT=$(PADDLE_PORT) "
                     "PADDLE_INIT_TRAINER_ID=$(PADDLE_TRAINER_ID) "
                     "PADDLE_INIT_PSERVERS=$(PADDLE_PSERVERS_IP_PORT_LIST) python train.py $$(HOME)");
        g_assert_cmpint(json_array_size(kube_get(spec, "ps.template.spec.containers[0].env")), ==, 1);
        g_assert_cmpstr(kube_get_text(spec, "ps.template.spec.containers[0].env[0].name"), ==, "ALL");
        g_assert_true(form_kind(as_paddle_job("plain")) == &kube_stateful_sets);
}

/* The gang that its operator is told (doc/reference/scheduling.md, "Gangs of operators"): all members, what
 * they ask for, queue and class. */
static void test_paddle_job_of_volcano(void)
{
        g_autoptr(json_t) pods = pods_of("trainer", "PADDLE_TRAINER_ID=0", "PADDLE_TRAINER_ID=1"),
                          objects = NULL;
        g_autoptr(json_t) without = NULL;
        const json_t *policy;
        json_t *pod;
        gsize i;

        without = form_objects(as_paddle_job("paddle-collective"), pods);
        g_assert_null(kube_get(json_array_get(without, 0), "spec.schedulingPolicy"));
        json_array_foreach(pods, i, pod) {
                json_object_set_new(json_object_get(pod, "spec"), "schedulerName", json_string("volcano"));
                json_object_set_new(json_object_get(pod, "spec"), "priorityClassName", json_string("high"));
                json_object_set_new(kube_get(pod, "spec.containers[0]"), "resources",
                                    json_pack("{s:{s:s}}", "requests", "cpu", "500m"));
                podspec_annotate(pod, "volcano.sh/queue-name", "vision");
        }
        objects = form_objects(as_paddle_job("paddle-collective"), pods);
        policy = kube_get(json_array_get(objects, 0), "spec.schedulingPolicy");
        g_assert_cmpint(kube_get_int(policy, "minAvailable", 0), ==, 2);
        g_assert_cmpstr(kube_get_text(policy, "minResources.cpu"), ==, "1");
        g_assert_cmpstr(kube_get_text(policy, "queue"), ==, "vision");
        g_assert_cmpstr(kube_get_text(policy, "priorityClass"), ==, "high");
}

/* What members need that call each other. */
static void test_lend(void)
{
        g_autoptr(json_t) pods = pods_of("worker", "A=0", "A=1"), secret = NULL, other = NULL;
        json_t *pod = json_array_get(pods, 0);
        const json_t *env;
        gsize n;

        gate_lend(pod, "j-x-1");
        g_assert_true(gate_is_used(json_object_get(pod, "spec")));
        env = kube_get(pod, "spec.containers[0].env");
        n = json_array_size(env);
        g_assert_cmpstr(kube_get_text(json_array_get(env, n - 3), "name"), ==, "PADDLE_GATE");
        g_assert_cmpstr(kube_get_text(json_array_get(env, n - 3), "value"), ==, "/.paddle/bin/paddle-gate");
        g_assert_cmpstr(kube_get_text(json_array_get(env, n - 2), "valueFrom.fieldRef.fieldPath"), ==,
                        "status.podIP");
        g_assert_cmpstr(kube_get_text(json_array_get(env, n - 1), "valueFrom.secretKeyRef.name"), ==,
                        "j-x-1");
        secret = gate_secret("jobs", "j-x-1");
        other = gate_secret("jobs", "j-x-1");
        g_assert_cmpstr(kube_get_text(secret, "kind"), ==, "Secret");
        g_assert_cmpstr(kube_name(secret), ==, "j-x-1");
        g_assert_cmpint((int)strlen(kube_get_text(secret, "stringData.secret")), ==, 32);
        g_assert_cmpstr(kube_get_text(secret, "stringData.secret"), !=,
                        kube_get_text(other, "stringData.secret"));
}

static void test_names(void)
{
        g_autofree char *name = form_object_name(&kube_jobs, "0123456789abcdef.12.pserver.10");

        g_assert_cmpstr(name, ==, "0123456789abcdef-12-pserver");
}

int main(int argc, char **argv)
{
        test_attempt_init(&test, "0123456789abcdef", 2);
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/form/choice", test_choice);
        g_test_add_func("/form/a StatefulSet", test_stateful_set);
        g_test_add_func("/form/a Job", test_job);
        g_test_add_func("/form/members of a Job that are over", test_members_of_a_job_that_are_over);
        g_test_add_func("/form/sets that are being deleted", test_sets_that_are_being_deleted);
        g_test_add_func("/form/members that are alike", test_alike);
        g_test_add_func("/form/members with gaps", test_gaps);
        g_test_add_func("/form/the gate before a pod", test_wait);
        g_test_add_func("/form/pods", test_pods);
        g_test_add_func("/form/a PaddleJob", test_paddle_job);
        g_test_add_func("/form/a PaddleJob of Volcano", test_paddle_job_of_volcano);
        g_test_add_func("/form/members that call each other", test_lend);
        g_test_add_func("/form/names", test_names);
        return g_test_run();
}
