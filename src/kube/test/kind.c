/* Paths of the REST API, and walks through objects. */
#include "kube/kind.h"

#include "base/json.h"

static void test_path(void)
{
        static const struct {
                const KubeKind *kind;
                const char *namespace, *name, *subresource, *path;
        } cases[] = {
                { &kube_pods, NULL, NULL, NULL, "/api/v1/pods" },
                { &kube_pods, "", "", "", "/api/v1/pods" },
                { &kube_pods, "n", NULL, NULL, "/api/v1/namespaces/n/pods" },
                { &kube_pods, "n", "a", "status", "/api/v1/namespaces/n/pods/a/status" },
                { &kube_pods, "n", NULL, "status", "/api/v1/namespaces/n/pods" },
                { &kube_nodes, NULL, "a", NULL, "/api/v1/nodes/a" },
                { &kube_nodes, "ignored", "a", NULL, "/api/v1/nodes/a" },
                { &kube_namespaces, NULL, "a", "finalize", "/api/v1/namespaces/a/finalize" },
                { &kube_leases, "n", "l", NULL, "/apis/coordination.k8s.io/v1/namespaces/n/leases/l" },
                { &kube_pods, "../x", "a/b?c", NULL, "/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path =
                        kube_path(cases[i].kind, cases[i].namespace, cases[i].name, cases[i].subresource);

                g_assert_cmpstr(path, ==, cases[i].path);
        }
        g_autofree char *core = kube_api_version(&kube_pods), *group = kube_api_version(&kube_jobs);
        g_assert_cmpstr(core, ==, "v1");
        g_assert_cmpstr(group, ==, "batch/v1");
}

static const char pod[] =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\","
        "\"deletionTimestamp\":\"2024-01-01T00:00:00Z\",\"labels\":{\"a.b/c\":\"1\"},"
        "\"annotations\":{\"x\":\"y\"},\"ownerReferences\":[{\"uid\":\"1\"},{\"uid\":\"2\","
        "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"one\"},{\"name\":\"two\","
        "\"ports\":[[1,2]]}],\"n\":3}}";

static void test_object(void)
{
        g_autoptr(json_t) object = json_parse(pod, sizeof pod - 1, NULL), empty = json_object();

        g_assert_cmpstr(kube_name(object), ==, "p");
        g_assert_cmpstr(kube_namespace(object), ==, "n");
        g_assert_cmpstr(kube_uid(object), ==, "u");
        g_assert_cmpstr(kube_resource_version(object), ==, "7");
        g_assert_cmpstr(kube_label(object, "a.b/c"), ==, "1");
        g_assert_cmpstr(kube_annotation(object, "x"), ==, "y");
        g_assert_null(kube_annotation(object, "z"));
        g_assert_true(kube_is_deleting(object));
        g_assert_cmpstr(kube_get_text(kube_controller(object), "uid"), ==, "2");
        g_assert_cmpstr(kube_name(empty), ==, "");
        g_assert_cmpstr(kube_name(NULL), ==, "");
        g_assert_false(kube_is_deleting(empty));
        g_assert_null(kube_controller(empty));
}

static void test_walk(void)
{
        static const struct {
                const char *path, *text;
        } cases[] = {
                { "spec.containers[0].name", "\"one\"" },
                { "spec.containers[1].name", "\"two\"" },
                { "spec.containers[1].ports[0][1]", "2" },
                { "spec.containers[2].name", NULL },
                { "spec.containers[].name", NULL },
                { "spec.containers[-1].name", NULL },
                { "spec.containers[9999999999].name", NULL },
                { "spec.containers[0", NULL },
                { "spec.n.x", NULL },
                { "spec..n", NULL },
                { "nothing", NULL },
        };
        g_autoptr(json_t) object = json_parse(pod, sizeof pod - 1, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                json_t *value = kube_get(object, cases[i].path);
                g_autofree char *text = value ? json_format(value) : NULL;

                g_assert_cmpstr(text, ==, cases[i].text);
        }
        g_assert_cmpint(kube_get_int(object, "spec.n", 9), ==, 3);
        g_assert_cmpint(kube_get_int(object, "spec.containers", 9), ==, 9);
        g_assert_null(kube_get_text(object, "spec.n"));
}

static void test_time(void)
{
        static const struct {
                const char *text;
                gint64 ms;
        } cases[] = {
                { "1970-01-01T00:00:01Z", 1000 },
                { "2024-02-29T12:00:00Z", 1709208000000 },
                { "2024-02-29T12:00:00.123456Z", 1709208000123 },
                { "2024-02-29T13:30:00+01:30", 1709208000000 },
                { "2024-02-29", 0 },
                { "2024-02-29T12:00:00", 0 },
                { "2024-02-29 12:00:00Z", 0 },
                { "2024-02-30T12:00:00Z", 0 },
                { "20240229T120000Z", 0 },
                { "2024-02-29T12:00:00.Z", 0 },
                { "2024-02-29T12:00:00Zx", 0 },
                { "", 0 },
                { NULL, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(kube_time(cases[i].text), ==, cases[i].ms);
        g_autofree char *plain = kube_time_format(1709208000123, false),
                        *micro = kube_time_format(1709208000123, true);
        g_assert_cmpstr(plain, ==, "2024-02-29T12:00:00Z");
        g_assert_cmpstr(micro, ==, "2024-02-29T12:00:00.123000Z");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/kind/path", test_path);
        g_test_add_func("/kube/kind/object", test_object);
        g_test_add_func("/kube/kind/walk", test_walk);
        g_test_add_func("/kube/kind/time", test_time);
        return g_test_run();
}
