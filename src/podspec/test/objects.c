/* The objects that the builders write. Expected values are those of Kubernetes (canonical quantities,
 * required fields) and of doc/guide/operator.md. */
#include "podspec/objects.h"

#include "base/err.h"

static json_t *parse(const char *text)
{
        json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

        g_assert_nonnull(value);
        return value;
}

static void assert_is(const json_t *value, const char *expected)
{
        g_autoptr(json_t) wanted = parse(expected);
        g_autofree char *text = json_format(value);

        g_test_message("%s", text);
        g_assert_true(json_equal(value, wanted));
}

/* The sum of two terms has the form of the first one that is not zero. */
static void test_sums(void)
{
        static const struct {
                const char *a, *b;
                gint64 n, m;
                const char *sum;
        } cases[] = {
                { "\"200m\"", "\"300m\"", 2, 2, "1" },
                { "\"1Gi\"", "\"0\"", 2, 1, "2Gi" },
                { "\"512Mi\"", "\"512Mi\"", 1, 1, "1Gi" },
                { "\"1.5Gi\"", "\"0\"", 1, 1, "1536Mi" },
                { "\"250m\"", "\"250m\"", 2, 2, "1" },
                { "\"100m\"", "\"50m\"", 1, 1, "150m" },
                { "1", "1", 1, 1, "2" },
                { "0.5", "\"1\"", 1, 1, "1500m" },
                { "\"1000\"", "\"1000\"", 1, 1, "2k" },
                { "\"1e3\"", "\"1\"", 2, 0, "2e3" },
                { "\"0\"", "\"1Ki\"", 1, 1, "1Ki" },
                { "\"1Ki\"", "\"1M\"", 1, 1, "1001024" },
                { "\"512\"", "\"512\"", 1, 1, "1024" },
                { "\"1Ei\"", "\"1Ei\"", 1, 100, "101Ei" },
                { "\"0\"", "\"0\"", 5, 5, "0" },
                /* a binary amount with a fraction is printed as a decimal one, without loss of precision */
                { "\"1.18Ti\"", "0", 1, 1, "1297423720775680m" },
                { "\"1.18Ti\"", "0", 2, 1, "2594847441551360m" },
                { "\"1.1Gi\"", "0", 1, 1, "1181116006400m" },
                { "\"1.1Gi\"", "0", 5, 1, "5632Mi" },
                { "\"1.1Gi\"", "0", 10, 1, "11Gi" },
                { "\"1Ki\"", "\"0.5\"", 1, 1, "1024500m" },
                { "\"1.0009765625Ki\"", "0", 1, 1, "1025" },
                { "\"7.9999999999999999Ei\"", "0", 1, 1, "9223372036854775692707849540n" },
                /* below 1024 units a binary amount is printed as decimal, below 1 unit it is also parsed as
                 * decimal */
                { "\"0.1Ki\"", "0", 1, 1, "102400m" },
                { "\"0.1Ki\"", "0", 20, 1, "2Ki" },
                { "\"0.5Ki\"", "\"2Ki\"", 1, 1, "2560" },
                { "\"0.00048828125Ki\"", "0", 4096, 1, "2048" },
                { "\"0.0001Ki\"", "0", 1, 1, "102400u" },
                /* billionths are counted, rounded up */
                { "\"100n\"", "0", 3, 1, "300n" },
                { "\"1500u\"", "\"1u\"", 1, 1, "1501u" },
                { "\"500u\"", "0", 2, 1, "1m" },
                { "\"0.1n\"", "0", 2, 1, "2n" },
                { "\"1.0001m\"", "0", 1, 1, "1000100n" },
                { "\"1e-10\"", "0", 2, 1, "2e-9" },
                { "\"1e-5\"", "0", 1, 1, "10e-6" },
                { "\"1.5e0\"", "0", 1, 1, "1500e-3" },
                { "\"1e18\"", "0", 1000, 1, "1e21" },
                { "\"12e17\"", "0", 1, 1, "1200e15" },
                { "\"9223372036854775807\"", "0", 2, 1, "18446744073709551614" },
                { "\"+1Gi\"", "\"+.5Gi\"", 1, 1, "1536Mi" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *a =
                        g_strdup_printf("{\"containers\": [{\"resources\": {\"requests\": {\"x/y\": %s}}}]}",
                                        cases[i].a);
                g_autofree char *b =
                        g_strdup_printf("{\"containers\": [{\"resources\": {\"requests\": {\"x/y\": %s}}}]}",
                                        cases[i].b);
                g_autoptr(json_t) first = parse(a), second = parse(b), sum = NULL;
                g_autoptr(PodspecSum) of = podspec_sum_new();

                g_assert_true(podspec_sum_add(of, first, cases[i].n, NULL));
                g_assert_true(podspec_sum_add(of, second, cases[i].m, NULL));
                sum = podspec_sum_format(of);
                g_assert_cmpstr(json_string_value(json_object_get(sum, "x/y")), ==, cases[i].sum);
        }
}

/* Limits count for a container that requests nothing; init containers do not count. */
static void test_requests_or_limits(void)
{
        g_autoptr(json_t) spec = parse(
                "{\"initContainers\": [{\"resources\": {\"requests\": {\"cpu\": \"9\"}}}], \"containers\": ["
                "{\"resources\": {\"requests\": {\"cpu\": \"1\"}, \"limits\": {\"cpu\": \"4\", \"memory\": "
                "\"1Gi\"}}},"
                "{\"resources\": {\"limits\": {\"nvidia.com/gpu\": 1, \"cpu\": \"500m\"}}}, {}]}");
        g_autoptr(PodspecSum) sum = podspec_sum_new();
        g_autoptr(json_t) list = NULL;

        g_assert_true(podspec_sum_add(sum, spec, 2, NULL));
        list = podspec_sum_format(sum);
        assert_is(list, "{\"cpu\": \"3\", \"nvidia.com/gpu\": \"2\"}");
}

static void test_no_quantity(void)
{
        static const char *const bad[] = { "\"many\"", "\"\"",  "\"-1\"",  "true",    "{}",
                                           "\"1KiB\"", "\"+\"", "\"+-1\"", "\"16Ei\"" };

        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *text =
                        g_strdup_printf("{\"containers\": [{\"resources\": {\"requests\": {\"cpu\": %s}}}]}",
                                        bad[i]);
                g_autoptr(json_t) spec = parse(text);
                g_autoptr(PodspecSum) sum = podspec_sum_new();
                g_autoptr(GError) error = NULL;

                g_test_message("%s", bad[i]);
                g_assert_false(podspec_sum_add(sum, spec, 1, &error));
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                g_assert_nonnull(strstr(error->message, "containers[0].resources: cpu:"));
        }
}

/* 2^63 - 1 units in each of 2^35 pods are more than 127 bits of billionths. */
static void test_too_large(void)
{
        g_autoptr(json_t) spec =
                parse("{\"containers\": [{\"resources\": {\"limits\": {\"a/b\": 9223372036854775807}}}]}");
        g_autoptr(PodspecSum) sum = podspec_sum_new();
        g_autoptr(GError) error = NULL;

        g_assert_false(podspec_sum_add(sum, spec, (gint64)1 << 35, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
        g_assert_cmpstr(error->message, ==,
                        "containers[0].resources: a/b: the sum is too large to be counted");
}

static void test_object(void)
{
        const PodspecOwner owner = { &kube_paddle_jobs, "j", "u-1" };
        g_autoptr(json_t) object = podspec_object(&kube_config_maps, "n", "c", &owner);

        podspec_label(object, "l", "1");
        podspec_annotate(object, "a", "2");
        assert_is(object,
                  "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\", "
                  "\"namespace\": \"n\", \"labels\": {\"l\": \"1\"}, \"annotations\": {\"a\": \"2\"}, "
                  "\"ownerReferences\": [{\"apiVersion\": \"batch.paddlepaddle.org/v1\", \"kind\": "
                  "\"PaddleJob\", \"name\": \"j\", \"uid\": \"u-1\", \"controller\": true, "
                  "\"blockOwnerDeletion\": true}]}}");
        g_assert_true(podspec_is_owned(object, "u-1"));
        g_assert_false(podspec_is_owned(object, "u-2"));
}

static void test_container(void)
{
        g_autoptr(json_t) container =
                parse("{\"env\": [{\"name\": \"A\", \"value\": \"0\"}], \"ports\": null, \"args\": null}");

        json_array_append_new(podspec_list(container, "args"), json_string("a"));
        json_array_append_new(podspec_list(container, "args"), json_string("b"));
        podspec_env(container, "A", "1");
        podspec_env_field(container, "IP", "status.podIP");
        podspec_env_from_config_map(container, "m");
        podspec_port(container, 36000);
        podspec_port(container, 36000);
        assert_is(container,
                  "{\"env\": [{\"name\": \"A\", \"value\": \"0\"}, {\"name\": \"A\", \"value\": \"1\"}, "
                  "{\"name\": \"IP\", \"valueFrom\": {\"fieldRef\": {\"fieldPath\": \"status.podIP\"}}}], "
                  "\"envFrom\": [{\"configMapRef\": {\"name\": \"m\"}}], \"ports\": [{\"containerPort\": "
                  "36000}], \"args\": [\"a\", \"b\"]}");
}

static void test_service(void)
{
        g_autoptr(json_t) service = podspec_service("n", "s", NULL, "paddle-res-name", "s", 36000, 2);

        assert_is(json_object_get(service, "spec"),
                  "{\"clusterIP\": \"None\", \"publishNotReadyAddresses\": true, \"selector\": "
                  "{\"paddle-res-name\": \"s\"}, \"ports\": [{\"name\": \"p-0\", \"protocol\": \"TCP\", "
                  "\"port\": 36000, \"targetPort\": 36000}, {\"name\": \"p-1\", \"protocol\": \"TCP\", "
                  "\"port\": 36001, \"targetPort\": 36001}]}");
}

static void test_pod_group(void)
{
        g_autoptr(json_t) none = json_object();
        g_autoptr(json_t) plain =
                podspec_pod_group("n", "g", NULL, &(PodspecGang){ .min_member = 4, .min_resources = none });
        g_autoptr(json_t) full = podspec_pod_group("n", "g", NULL,
                                                   &(PodspecGang){ .min_member = 2,
                                                                   .min_resources = none,
                                                                   .queue = "q",
                                                                   .priority_class = "p" });

        assert_is(json_object_get(plain, "spec"), "{\"minMember\": 4, \"minResources\": {}}");
        assert_is(json_object_get(full, "spec"), "{\"minMember\": 2, \"minResources\": {}, \"queue\": "
                                                 "\"q\", \"priorityClassName\": \"p\"}");
        g_assert_cmpstr(json_string_value(json_object_get(full, "apiVersion")), ==,
                        "scheduling.volcano.sh/v1beta1");
}

static void test_templates(void)
{
        static const struct {
                const char *template, *problem;
        } cases[] = {
                { "{\"spec\": {\"containers\": [{\"name\": \"a\"}]}}", NULL },
                { "{\"metadata\": null, \"spec\": {\"containers\": [{\"env\": null}]}}", NULL },
                { "null", "is missing" },
                { "{}", "spec is missing" },
                { "{\"spec\": {}}", "spec.containers is missing" },
                { "{\"spec\": {\"containers\": []}}", "spec.containers is empty" },
                { "{\"spec\": {\"containers\": \"x\"}}", "spec.containers is missing" },
                { "{\"spec\": {\"containers\": [1]}}", "spec.containers[0] is not an object" },
                { "{\"spec\": {\"containers\": [{\"env\": {}}]}}", "spec.containers[0].env is not a list" },
                { "{\"spec\": {\"containers\": [{\"ports\": 1}]}}",
                  "spec.containers[0].ports is not a list" },
                { "{\"spec\": {\"initContainers\": 1, \"containers\": [{}]}}",
                  "spec.initContainers is not a list" },
                { "{\"metadata\": {\"labels\": []}, \"spec\": {\"containers\": [{}]}}",
                  "metadata.labels is not an object" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) template = parse(cases[i].template);
                g_autofree char *problem = podspec_template_problem(template);

                g_test_message("%s", cases[i].template);
                g_assert_cmpstr(problem, ==, cases[i].problem);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/podspec/sums", test_sums);
        g_test_add_func("/podspec/too-large", test_too_large);
        g_test_add_func("/podspec/requests-or-limits", test_requests_or_limits);
        g_test_add_func("/podspec/no-quantity", test_no_quantity);
        g_test_add_func("/podspec/object", test_object);
        g_test_add_func("/podspec/container", test_container);
        g_test_add_func("/podspec/service", test_service);
        g_test_add_func("/podspec/pod-group", test_pod_group);
        g_test_add_func("/podspec/templates", test_templates);
        return g_test_run();
}
