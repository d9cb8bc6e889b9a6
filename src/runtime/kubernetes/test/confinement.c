/* Security contexts of pods: expected values from Pod Security Standards, level "Restricted", and from the
 * API server's validation of containers. */
#include "runtime/kubernetes/pod/confinement.h"

#include "base/test/quoted.h"

#define PROFILE "'securityContext': {'seccompProfile': {'type': 'RuntimeDefault'}}"
#define SHUT "'securityContext': {'allowPrivilegeEscalation': false, 'capabilities': {'drop': ['ALL']}}"
#define POD(rest) "{'containers': [{'name': 'a'" rest "}]}"
#define SECURITY(rest) POD(", 'securityContext': {" rest "}")

static void test_pods(void)
{
        static const Confinement usual = { 0 }, files = { .files = true }, lifted = { .lifted = true },
                                 non_root = { .non_root = true, .files = true },
                                 both = { .lifted = true, .non_root = true };
        static const struct {
                const char *name;
                const Confinement *confinement;
                const char *pod, *made;
        } cases[] = {
                { "nothing is said", &usual, POD(""),
                  "{'containers': [{'name': 'a', " SHUT "}], " PROFILE "}" },
                { "containers that come first, too", &usual, "{'initContainers': [{}], 'containers': []}",
                  "{'initContainers': [{" SHUT "}], 'containers': [], " PROFILE "}" },
                { "a home", &files, POD(""),
                  "{'containers': [{'name': 'a', 'securityContext': {'allowPrivilegeEscalation': false, "
                  "'capabilities': {'drop': ['ALL'], 'add': ['DAC_OVERRIDE']}}}], " PROFILE "}" },
                { "lifted", &lifted, POD(""), POD("") },
                { "no root", &non_root, POD(""),
                  "{'containers': [{'name': 'a', 'securityContext': {'allowPrivilegeEscalation': false, "
                  "'capabilities': {'drop': ['ALL']}, 'runAsNonRoot': true}}], " PROFILE "}" },
                { "no root, whatever else is lifted", &both, SECURITY("'runAsNonRoot': false"),
                  SECURITY("'runAsNonRoot': true") },
                { "what a template adds is all there is", &files,
                  SECURITY("'capabilities': {'add': ['CHOWN']}"),
                  "{'containers': [{'name': 'a', 'securityContext': {'allowPrivilegeEscalation': false, "
                  "'capabilities': {'add': ['CHOWN', 'DAC_OVERRIDE'], 'drop': ['ALL']}}}], " PROFILE "}" },
                { "what a template drops is all that goes", &usual,
                  SECURITY("'capabilities': {'drop': ['KILL']}"),
                  "{'containers': [{'name': 'a', 'securityContext': {'allowPrivilegeEscalation': false, "
                  "'capabilities': {'drop': ['KILL']}}}], " PROFILE "}" },
                { "what a template says", &usual,
                  "{'securityContext': {'seccompProfile': {'type': 'Localhost'}, 'runAsUser': 7}, "
                  "'containers': [{'securityContext': {'allowPrivilegeEscalation': true}}]}",
                  "{'securityContext': {'seccompProfile': {'type': 'Localhost'}, 'runAsUser': 7}, "
                  "'containers': [{'securityContext': {'allowPrivilegeEscalation': true, "
                  "'capabilities': {'drop': ['ALL']}}}]}" },
                { "a privileged one", &usual, SECURITY("'privileged': true"),
                  "{'containers': [{'name': 'a', 'securityContext': {'privileged': true}}], " PROFILE "}" },
                { "a mighty one", &usual, SECURITY("'capabilities': {'add': ['CAP_SYS_ADMIN']}"),
                  "{'containers': [{'name': 'a', 'securityContext': {'capabilities': {'add': "
                  "['CAP_SYS_ADMIN'], 'drop': ['ALL']}}}], " PROFILE "}" },
                { "Windows", &usual, "{'os': {'name': 'windows'}, 'containers': [{}]}",
                  "{'os': {'name': 'windows'}, 'containers': [{}]}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) pod = json_of(cases[i].pod), made = json_of(cases[i].made);

                confine_pod(pod, cases[i].confinement);
                if (!json_equal(pod, made)) {
                        g_autofree char *shown = json_format(pod);

                        g_error("%s: %s", cases[i].name, shown);
                }
        }
}

static void test_builder(void)
{
        static const char *const keep[] = { "CHOWN", "SYS_CHROOT", NULL };
        g_autoptr(json_t) container = json_of("{'name': 'build'}");
        g_autoptr(json_t) made =
                json_of("{'name': 'build', 'securityContext': {'allowPrivilegeEscalation': false, "
                        "'capabilities': {'drop': ['ALL'], 'add': ['CHOWN', 'SYS_CHROOT']}}}");

        confine_container(container, keep);
        g_assert_true(json_equal(container, made));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/confinement/pods", test_pods);
        g_test_add_func("/confinement/builder", test_builder);
        return g_test_run();
}
