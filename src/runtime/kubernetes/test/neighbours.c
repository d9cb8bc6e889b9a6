/* Nodes and the pods of others on them: tables of what the API server says. */
#include "runtime/kubernetes/cluster/neighbours.h"

#include <string.h>

#include "base/test/quoted.h"

static json_t *node_with(const char *spec, const char *ready)
{
        g_autofree char *text = g_strdup_printf(
                "{'metadata': {'name': 'n', 'labels': {'b': '2', 'a': '1'}}, 'spec': %s, 'status': "
                "{'allocatable': {'cpu': '1900m', 'memory': '2Ki', 'pods': '110', 'nvidia.com/gpu': '4'}, "
                "'conditions': [{'type': 'Ready', 'status': '%s', 'reason': 'R', 'message': 'm'}]}}",
                spec, ready);

        return json_of(text);
}

static void test_nodes(void)
{
        static const struct {
                const char *spec, *ready, *why;
                bool is_ready;
        } cases[] = {
                { "{}", "True", NULL, true },
                { "{}", "Unknown", "not ready: R: m", false },
                { "{'unschedulable': true}", "True", "cordoned", true },
                { "{'taints': [{'key': 'k', 'effect': 'NoSchedule'}]}", "True",
                  "taint k:NoSchedule is not tolerated", true },
                { "{'taints': [{'key': 'k', 'value': 'v', 'effect': 'NoExecute'}]}", "True",
                  "taint k=v:NoExecute is not tolerated", true },
                { "{'taints': [{'key': 'k', 'effect': 'PreferNoSchedule'}]}", "True", NULL, true },
                { "{'taints': [{'key': 'nvidia.com/gpu', 'value': 'present', 'effect': 'NoSchedule'}]}",
                  "True", NULL, true },
        };
        g_autoptr(Neighbours) none = neighbours_new();

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) json = node_with(cases[i].spec, cases[i].ready);
                RuntimeNode *node = neighbours_node(none, json);

                g_assert_cmpstr(node->name, ==, "n");
                g_assert_cmpstr(node->labels[0], ==, "a=1");
                g_assert_cmpstr(node->why, ==, cases[i].why);
                g_assert_cmpint(node->ready, ==, cases[i].is_ready);
                g_assert_cmpint(node->usable, ==, cases[i].why == NULL);
                g_assert_cmpint(node->allocatable.cpu_milli, ==, 1900);
                g_assert_cmpint(node->allocatable.memory, ==, 2048);
                g_assert_cmpint(node->allocatable.gpus, ==, 4);
                g_assert_true(resources_is_zero(&node->others));
                runtime_node_free(node);
        }
}

#define REQUESTS(cpu, memory) "'resources': {'requests': {'cpu': '" cpu "', 'memory': '" memory "'}}"

/* Kubernetes, "Sidecar containers: resource sharing within containers". */
static void test_requests(void)
{
        static const struct {
                const char *spec;
                gint64 cpu, memory;
        } cases[] = {
                { "'containers': [{}]", 0, 0 },
                { "'containers': [{" REQUESTS("1", "1Ki") "}, {" REQUESTS("500m", "1Ki") "}]", 1500, 2048 },
                { "'containers': [{'resources': {'requests': {'cpu': 'many', 'x.y/z': '1'}}}]", 0, 0 },
                { "'containers': [{" REQUESTS("1", "1Ki") "}], 'initContainers': [{" REQUESTS("3", "1") "}]",
                  3000, 1024 },
                { "'containers': [{" REQUESTS("1", "1Ki") "}], 'initContainers': [{" REQUESTS(
                          "1", "1Ki") ", 'restartPolicy': 'Always'}, {" REQUESTS("2", "1Ki") "}]",
                  3000, 2048 },
                { "'containers': [{" REQUESTS("1", "1Ki") "}], 'overhead': {'cpu': '100m', 'memory': '1Ki'}",
                  1100, 2048 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Neighbours) neighbours = neighbours_new();
                g_autofree char *text = g_strdup_printf(
                        "{'metadata': {'name': 'p', 'namespace': 's', 'annotations': {'a': "
                        "'b'}}, 'spec': {'nodeName': 'n', %s}, 'status': {'phase': 'Running'}}",
                        cases[i].spec);
                g_autoptr(json_t) pod = json_of(text), json = node_with("{}", "True");
                RuntimeNode *node;

                neighbours_trim(pod);
                g_assert_null(json_object_get(pod, "spec"));
                neighbours_change(neighbours, NULL, pod);
                neighbours_change(neighbours, pod, pod);
                node = neighbours_node(neighbours, json);
                g_assert_cmpint(node->others.cpu_milli, ==, cases[i].cpu);
                g_assert_cmpint(node->others.memory, ==, cases[i].memory);
                runtime_node_free(node);
                neighbours_change(neighbours, pod, NULL);
                node = neighbours_node(neighbours, json);
                g_assert_true(resources_is_zero(&node->others));
                runtime_node_free(node);
        }
}

/* Volcano's `conformance` names whom nobody preempts (doc/reference/scheduling.md, "Victims that are never
 * taken"): they never go. */
static void test_system(void)
{
        static const struct {
                const char *namespace, *spec;
                bool system;
        } cases[] = {
                { "jobs", "", false },
                { "jobs", "'priorityClassName': 'high', ", false },
                { "kube-system", "", true },
                { "jobs", "'priorityClassName': 'system-node-critical', ", true },
                { "jobs", "'priorityClassName': 'system-cluster-critical', ", true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Neighbours) neighbours = neighbours_new();
                g_autofree char *text = g_strdup_printf(
                        "{'metadata': {'name': 'p', 'namespace': '%s'}, 'spec': {%s'nodeName': 'n', "
                        "'containers': [{" REQUESTS("300m", "1Ki") "}]}}",
                        cases[i].namespace, cases[i].spec);
                g_autoptr(json_t) pod = json_of(text), json = node_with("{}", "True");
                RuntimeNode *node;

                neighbours_trim(pod);
                neighbours_change(neighbours, NULL, pod);
                node = neighbours_node(neighbours, json);
                g_assert_cmpint(node->others.cpu_milli, ==, 300);
                g_assert_cmpint(node->system.cpu_milli, ==, cases[i].system ? 300 : 0);
                runtime_node_free(node);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/neighbours/nodes", test_nodes);
        g_test_add_func("/neighbours/requests", test_requests);
        g_test_add_func("/neighbours/system", test_system);
        return g_test_run();
}
