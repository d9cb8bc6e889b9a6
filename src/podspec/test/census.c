/* Nodes and pods as amounts: Kubernetes' rules for the requests of a pod. */
#include "podspec/census.h"

#include <string.h>

#include "kube/kind.h"
#include "base/test/quoted.h"

#define ASKS(amounts) "'resources': {'requests': {" amounts "}}"

static void test_asks(void)
{
        static const struct {
                const char *spec, *asks;
        } cases[] = {
                { "{}", "{}" },
                { "{'containers': [{}]}", "{}" },
                { "{'containers': [{" ASKS("'cpu': '500m', 'memory': '1Ki'") "}, {" ASKS("'cpu': '2'") "}]}",
                  "{'cpu': 2500, 'memory': 1024}" },
                /* a limit is not a request */
                { "{'containers': [{'resources': {'limits': {'cpu': '1'}}}]}", "{}" },
                /* the largest init container */
                { "{'containers': [{" ASKS("'cpu': '1'") "}], 'initContainers': [{" ASKS(
                          "'cpu': '3'") "}, {" ASKS("'cpu': '2', 'memory': '5'") "}]}",
                  "{'cpu': 3000, 'memory': 5}" },
                { "{'containers': [{" ASKS("'cpu': '4'") "}], 'initContainers': [{" ASKS("'cpu': '3'") "}]}",
                  "{'cpu': 4000}" },
                /* a sidecar counts beside the containers, and beside later init containers */
                { "{'containers': [{" ASKS("'cpu': '1'") "}], 'initContainers': [{'restartPolicy': "
                                                         "'Always', " ASKS("'cpu': '1'") "}]}",
                  "{'cpu': 2000}" },
                { "{'containers': [{" ASKS("'cpu': '1'") "}], 'initContainers': [{'restartPolicy': "
                                                         "'Always', " ASKS("'cpu': '1'") "}, {" ASKS(
                                                                 "'cpu': '4'") "}]}",
                  "{'cpu': 5000}" },
                { "{'containers': [{" ASKS("'cpu': '1'") "}], 'overhead': {'cpu': '250m'}}",
                  "{'cpu': 1250}" },
                { "{'containers': [{" ASKS("'cpu': 'much', 'nvidia.com/gpu': '2'") "}]}",
                  "{'cpu': 0, 'nvidia.com/gpu': 2}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{'spec': %s}", cases[i].spec);
                g_autoptr(json_t) pod = json_of(text), expected = json_of(cases[i].asks);
                g_autoptr(json_t) asks = census_pod_asks(pod);
                g_autofree char *shown = json_dumps(asks, JSON_COMPACT);

                g_test_message("%zu: %s: %s", i, cases[i].spec, shown);
                g_assert_true(json_equal(asks, expected));
        }
}

static void test_nodes(void)
{
        static const struct {
                const char *node;
                bool ready, schedulable;
                const char *ip;
        } cases[] = {
                { "{}", false, false, "" },
                { "{'status': {'conditions': [{'type': 'Ready', 'status': 'True'}]}}", true, true, "" },
                { "{'status': {'conditions': [{'type': 'Ready', 'status': 'Unknown'}]}}", false, false, "" },
                { "{'spec': {'unschedulable': true}, 'status': {'conditions': [{'type': 'Ready', 'status': "
                  "'True'}]}}",
                  true, false, "" },
                { "{'status': {'addresses': [{'type': 'Hostname', 'address': 'n'}, {'type': 'InternalIP', "
                  "'address': '10.0.0.1'}]}}",
                  false, false, "10.0.0.1" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) object = json_of(cases[i].node);
                g_autoptr(json_t) node = census_node(object);

                g_test_message("%zu: %s", i, cases[i].node);
                g_assert_nonnull(node);
                g_assert_true(json_is_true(json_object_get(node, "ready")) == cases[i].ready);
                g_assert_true(json_is_true(json_object_get(node, "schedulable")) == cases[i].schedulable);
                g_assert_cmpstr(kube_get_text(node, "ip"), ==, cases[i].ip);
        }
}

static void test_pods(void)
{
        static const struct {
                const char *pod;
                int status; /* -1: not counted */
        } cases[] = {
                { "{'metadata': {'name': 'p'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': 'Pending'}}",
                  CENSUS_CREATING },
                { "{'metadata': {'name': 'p'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': 'Running'}}",
                  CENSUS_RUNNING },
                { "{'metadata': {'name': 'p', 'deletionTimestamp': 'x'}, 'spec': {'nodeName': 'n'}, "
                  "'status': "
                  "{'phase': 'Running'}}",
                  CENSUS_TERMINATING },
                { "{'metadata': {'name': 'p'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': 'Succeeded'}}",
                  -1 },
                { "{'metadata': {'name': 'p'}, 'spec': {'nodeName': 'n'}, 'status': {'phase': 'Failed'}}",
                  -1 },
                { "{'metadata': {'name': 'p'}, 'spec': {}, 'status': {'phase': 'Pending'}}", -1 },
                { "{'metadata': {'name': 'p'}, 'spec': {'nodeName': 'other'}, 'status': {'phase': "
                  "'Running'}}",
                  -1 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) nodes = json_object(), pod = json_of(cases[i].pod);
                g_autoptr(json_t) node = json_of("{'metadata': {'name': 'n'}}");
                const json_t *list;

                json_object_set_new(nodes, "n", census_node(node));
                census_add_pod(nodes, pod);
                list = kube_get(nodes, "n.pods");
                g_test_message("%zu: %s", i, cases[i].pod);
                g_assert_cmpint(json_array_size(list), ==, cases[i].status >= 0 ? 1 : 0);
                if (cases[i].status >= 0)
                        g_assert_cmpint(kube_get_int(json_array_get(list, 0), "status", -1), ==,
                                        cases[i].status);
        }
}

/* A sum that would overflow is the largest number. */
static void test_overflow(void)
{
        g_autoptr(json_t) sum = json_of("{'a': 9223372036854775807}"), one = json_of("{'a': 1}");

        census_add(sum, one, 1);
        g_assert_cmpint(json_integer_value(json_object_get(sum, "a")), ==, G_MAXINT64);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/podspec/census/asks", test_asks);
        g_test_add_func("/podspec/census/nodes", test_nodes);
        g_test_add_func("/podspec/census/pods", test_pods);
        g_test_add_func("/podspec/census/overflow", test_overflow);
        return g_test_run();
}
