/* What controllers say of pods that they may not make. The messages are Kubernetes 1.33's. */
#include "runtime/kubernetes/cluster/refusals.h"

static void test_words(void)
{
        static const struct {
                const char *message, *words;
                bool lasts;
        } cases[] = {
                { "create Pod j-1-pserver-0 in StatefulSet j-1-pserver failed error: pods \"j-1-pserver-0\" "
                  "is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1",
                  "pods \"j-1-pserver-0\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, "
                  "limited: pods=1",
                  false },
                { "Error creating: pods \"t-0-x\" is forbidden: violates PodSecurity \"restricted:latest\": "
                  "allowPrivilegeEscalation != false",
                  "pods \"t-0-x\" is forbidden: violates PodSecurity \"restricted:latest\": "
                  "allowPrivilegeEscalation != false",
                  true },
                { "Error creating: pods \"t-0-x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding "
                  "'b' "
                  "denied request: not here",
                  "pods \"t-0-x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
                  "request: not here",
                  true },
                { "Error creating: admission webhook \"w.test\" denied the request: no",
                  "admission webhook \"w.test\" denied the request: no", true },
                { "Error creating: Internal error occurred: failed calling webhook \"w.test\": timed out",
                  "Internal error occurred: failed calling webhook \"w.test\": timed out", false },
                { "Error creating: pods \"t-0-x\" is forbidden: error looking up service account ns/default: "
                  "serviceaccount \"default\" not found",
                  "pods \"t-0-x\" is forbidden: error looking up service account ns/default: "
                  "serviceaccount \"default\" not found",
                  false },
                { "something else", "something else", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_assert_cmpstr(refusal_words(cases[i].message), ==, cases[i].words);
                g_assert_cmpint(refusal_lasts(cases[i].words), ==, cases[i].lasts);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/refusals/words", test_words);
        return g_test_run();
}
