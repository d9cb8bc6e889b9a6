/* What a kubelet says that a pod uses. */
#include "runtime/kubernetes/cluster/pod-usage.h"

#include <string.h>

static void test_usage(void)
{
        static const struct {
                const char *stats;
                bool known;
                gint64 cpu_us, memory, processes;
        } cases[] = {
                { "{\"podRef\": {}, \"containers\": [{\"name\": \"main\", \"cpu\": {\"usageNanoCores\": 5, "
                  "\"usageCoreNanoSeconds\": 2500000}, \"memory\": {\"workingSetBytes\": 4096, "
                  "\"rssBytes\": 1}}], \"process_stats\": {\"process_count\": 3}}",
                  true, 2500, 4096, 3 },
                { "{\"containers\": [{\"cpu\": {\"usageCoreNanoSeconds\": 1000}, \"memory\": "
                  "{\"workingSetBytes\": 1}}, {\"cpu\": {\"usageCoreNanoSeconds\": 2000}, \"memory\": "
                  "{\"workingSetBytes\": 2}}]}",
                  true, 3, 3, 0 },
                { "{\"containers\": [{\"cpu\": {\"usageCoreNanoSeconds\": -5}, \"memory\": "
                  "{\"workingSetBytes\": \"x\"}}]}",
                  false, 0, 0, 0 },
                { "{\"containers\": []}", false, 0, 0, 0 },
                { "{}", false, 0, 0, 0 },
                { "[]", false, 0, 0, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) stats = json_loads(cases[i].stats, 0, NULL);
                TaskUsage usage;

                g_assert_cmpint(usage_of(stats, &usage), ==, cases[i].known);
                g_assert_cmpint(usage.cpu_us, ==, cases[i].cpu_us);
                g_assert_cmpint(usage.memory, ==, cases[i].memory);
                g_assert_cmpint(usage.processes, ==, cases[i].processes);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/usage/of a pod", test_usage);
        return g_test_run();
}
