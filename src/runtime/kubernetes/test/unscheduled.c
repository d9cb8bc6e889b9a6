/* What the cluster's scheduler says, and what we make of it. */
#include "runtime/kubernetes/pod/unscheduled.h"

#include <string.h>

static void test_say(void)
{
        static const struct {
                const char *message, *said;
        } cases[] = {
                { "0/2 nodes are available: 2 Insufficient memory. preemption: 0/2 nodes are available: 2 No "
                  "preemption victims found for incoming pod.",
                  "2 nodes lack memory 8Gi" },
                { "0/4 nodes are available: 1 Insufficient cpu, 2 Insufficient memory, 1 node(s) were "
                  "unschedulable.",
                  "1 node lacks cpu 1.5, 2 nodes lack memory 8Gi, 1 node is cordoned" },
                { "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", "1 node lacks nvidia.com/gpu" },
                { "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: "
                  "}, "
                  "2 node(s) had untolerated taint {team: vision}.",
                  "1 node has the taint node.kubernetes.io/unreachable, 2 nodes have the taint team=vision" },
                { "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
                  "3 nodes lack the requested labels" },
                { "0/3 nodes are available: 3 Too many pods.", "3 nodes have as many pods as they may" },
                { "0/3 nodes are available: 3 something new.", "3 of the nodes: something new" },
                { "no nodes available to schedule pods", "the cluster has no nodes" },
                { "0/3 nodes are available: persistentvolumeclaim \"c\" not found.",
                  "0/3 nodes are available: persistentvolumeclaim \"c\" not found." },
                { "", "" },
                { "0/3 nodes are available: ", "0/3 nodes are available: " },
                { "something else", "something else" },
        };
        static const char spec[] = "{\"containers\": [{\"resources\": {\"requests\": {\"cpu\": \"1500m\", "
                                   "\"memory\": \"8589934592\"}}}]}";
        g_autoptr(json_t) pod = json_parse(spec, strlen(spec), NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *said = unscheduled_say(cases[i].message, pod);

                g_assert_cmpstr(said, ==, cases[i].said);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/unscheduled/say", test_say);
        return g_test_run();
}
