/* The init container that waits for a role's names: its script is run by the shells that images have, with
 * commands that say for whom they were asked. */
#include "operator/members.h"

#include <string.h>

#include "operator/test/world.h"

#define POD "{\"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}"

enum { ARGUMENT_MAX = 128 << 10 }; /* of Linux (MAX_ARG_STRLEN) */

static const char found[] = "nslookup() { echo \"asked $1\"; }; sleep() { :; }; ";
static const char not_found[] = "nslookup() { return 1; }; getent() { return 2; }; ping() { return 1; }; "
                                "sleep() { :; }; ";

static json_t *pod_of(const char *spec, JobRole role)
{
        g_autoptr(World) world = world_new(spec);
        PaddleJob job;

        paddle_job_read(json_object_get(world->state, "job"), &job);
        return paddlejob_pod(&job, &world->rules, role, 0);
}

/* What the init container says when its script runs after `before`. */
static char *run(const char *shell, const char *before, const json_t *pod, int *ret_status)
{
        const char *script = kube_get_text(pod, "spec.initContainers[0].command[2]");
        g_autofree char *all = g_strconcat(before, script, NULL);
        g_auto(GStrv) words = g_strsplit(shell, " ", -1);
        const char *argv[] = { words[0], words[1] ? words[1] : "-c", words[1] ? "-c" : all,
                               words[1] ? all : NULL, NULL };
        g_autoptr(GError) error = NULL;
        char *out = NULL;

        g_assert_cmpstr(kube_get_text(pod, "spec.initContainers[0].command[0]"), ==, "sh");
        g_assert_cmpstr(kube_get_text(pod, "spec.initContainers[0].command[1]"), ==, "-c");
        g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, ret_status,
                     &error);
        g_assert_no_error(error);
        return out;
}

static const char *const shells[] = { "dash", "busybox sh", "bash" };

/* All pods of its own role, in order. */
static void test_names(void)
{
        static const struct {
                JobRole role;
                const char *asked;
        } cases[] = {
                { ROLE_PS, "asked j-ps-0\nasked j-ps-1\n" },
                { ROLE_WORKER, "asked j-worker-0\nasked j-worker-1\nasked j-worker-2\n" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) pod = pod_of("{\"ps\": {\"replicas\": 2, \"template\": " POD
                                               "}, \"worker\": {\"replicas\": 3, \"template\": " POD "}}",
                                               cases[i].role);

                for (gsize k = 0; k < G_N_ELEMENTS(shells); k++) {
                        int status;
                        g_autofree char *out = run(shells[k], found, pod, &status);

                        g_assert_cmpstr(out, ==, cases[i].asked);
                        g_assert_cmpint(status, ==, 0);
                }
        }
}

/* A thousand attempts, and it fails. */
static void test_no_address(void)
{
        g_autoptr(json_t) pod = pod_of("{\"worker\": {\"replicas\": 2, \"template\": " POD "}}", ROLE_WORKER);

        for (gsize k = 0; k < G_N_ELEMENTS(shells); k++) {
                int status;
                g_autofree char *out = run(shells[k], not_found, pod, &status);
                g_auto(GStrv) lines = g_strsplit(g_strchomp(out), "\n", -1);

                g_assert_cmpuint(g_strv_length(lines), ==, 1000);
                g_assert_cmpstr(lines[0], ==, "j-worker-0: attempt 1 of 1000");
                g_assert_cmpstr(lines[999], ==, "j-worker-0: attempt 1000 of 1000");
                g_assert_false(g_spawn_check_wait_status(status, NULL));
        }
}

/* The largest role: the script is one argument of sh, and it stands in every pod. */
static void test_largest(void)
{
        g_autoptr(json_t) pod =
                pod_of("{\"worker\": {\"replicas\": 10000, \"template\": " POD "}}", ROLE_WORKER);
        int status;
        g_autofree char *out = NULL;

        g_assert_cmpuint(strlen(kube_get_text(pod, "spec.initContainers[0].command[2]")), <, ARGUMENT_MAX);
        out = run(shells[0], found, pod, &status);
        g_assert_cmpint(status, ==, 0);
        g_assert_true(g_str_has_suffix(out, "asked j-worker-9998\nasked j-worker-9999\n"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/operator/members/names", test_names);
        g_test_add_func("/operator/members/no-address", test_no_address);
        g_test_add_func("/operator/members/largest", test_largest);
        return g_test_run();
}
