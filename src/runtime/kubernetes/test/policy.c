/* NetworkPolicies: expected values from networking.k8s.io/v1. */
#include "runtime/kubernetes/pod/policy.h"

#include "base/test/quoted.h"
#include "kube/kind.h"

#define OWN "{'matchLabels': {'paddle-server': 's3rv3r', 'paddle-job-id': 'j1', 'paddle-attempt': '2'}}"
#define NAMES                                                                                                \
        "{'to': [{'namespaceSelector': {'matchLabels': {'kubernetes.io/metadata.name': 'kube-system'}}}], "  \
        "'ports': [{'protocol': 'UDP', 'port': 53}, {'protocol': 'TCP', 'port': 53}]}"

static const MemberHome home = { "jobs", "s3rv3r" };

static void assert_spec(const json_t *policy, const char *wanted)
{
        g_autoptr(json_t) spec = json_of(wanted);
        g_autofree char *shown = json_format(policy);

        if (!json_equal(kube_get(policy, "spec"), spec))
                g_error("%s", shown);
}

static void test_none(void)
{
        g_autoptr(json_t) policy = policy_of_attempt(&home, "j1", 2, NULL);

        g_assert_cmpstr(kube_name(policy), ==, "j-j1-2");
        g_assert_cmpstr(kube_namespace(policy), ==, "jobs");
        g_assert_cmpstr(kube_label(policy, "paddle-job-id"), ==, "j1");
        g_assert_cmpstr(kube_get_text(policy, "apiVersion"), ==, "networking.k8s.io/v1");
        assert_spec(policy,
                    "{'podSelector': " OWN ", 'policyTypes': ['Egress', 'Ingress'], 'egress': [{'to': "
                    "[{'podSelector': " OWN "}]}, " NAMES "], 'ingress': [{'from': [{'podSelector': " OWN
                    "}]}]}");
}

static void test_list(void)
{
        char *egress[] = { (char *)"10.1.0.0/16:443", (char *)"2001:db8::/32", NULL };
        g_autoptr(json_t) policy = policy_of_attempt(&home, "j1", 2, egress);
        g_autoptr(json_t) builds = policy_of_builds(&home, egress);

#define ADDRESSES                                                                                            \
        "{'to': [{'ipBlock': {'cidr': '10.1.0.0/16'}}], 'ports': [{'protocol': 'TCP', 'port': 443}, "        \
        "{'protocol': 'UDP', 'port': 443}]}, {'to': [{'ipBlock': {'cidr': '2001:db8::/32'}}]}"
        assert_spec(policy, "{'podSelector': " OWN ", 'policyTypes': ['Egress'], 'egress': [{'to': "
                            "[{'podSelector': " OWN "}]}, " NAMES ", " ADDRESSES "]}");
        g_assert_cmpstr(kube_name(builds), ==, "paddle-builds-s3rv3r"); /* other servers have lists, too */
        g_assert_cmpstr(kube_namespace(builds), ==, "jobs");
        assert_spec(builds, "{'podSelector': {'matchLabels': {'paddle-image-server': 's3rv3r'}}, "
                            "'policyTypes': ['Egress'], 'egress': [" NAMES ", " ADDRESSES "]}");
}

static void test_check(void)
{
        static const char *const wrong[] = { "pypi.org", "pypi.org:443", "none",
                                             "",         "10.0.0.0/33",  "10.0.0.1,10.0.0.2" };

        g_assert_true(policy_check("10.0.0.0/8", NULL));
        g_assert_true(policy_check("[2001:db8::]/32:443", NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
                g_assert_false(policy_check(wrong[i], NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/policy/none", test_none);
        g_test_add_func("/policy/list", test_list);
        g_test_add_func("/policy/check", test_check);
        return g_test_run();
}
