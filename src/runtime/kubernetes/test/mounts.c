/* Mounts of a job in pods: volumes, sub-paths, and what the cluster's setting does not allow. */
#include "runtime/kubernetes/pod/mounts.h"

#include <string.h>

#include "runtime/kubernetes/test/texts.h"
#include "runtime/test/attempt.h"

#define HOMES "`volumes`: {`dc_1`: {`host_path`: `/mnt/home/%s`}}"
#define CLAIMED "`volumes`: {`dc_1`: {`claim`: `homes`, `sub_path`: `h/%s`}}"
#define PATHS "`mounts`: {`host_paths`: [`/data/%s`, `/sets/`], `claims`: [`shared`]}"

static const TaskMount
        home = { .fs = "home", .sub = "", .path = "/data" },
        home_in = { .fs = "home", .sub = "a/b", .path = "/in", .read_only = true },
        own = { .fs = "own", .root = "/data/ann/x", .sub = "y", .path = "/own" },
        whole = { .fs = "own", .root = "/data/ann", .sub = "", .path = "/own" },
        sets = { .fs = "sets", .root = "/sets/digits", .sub = "", .path = "/s", .read_only = true },
        claim = { .fs = "m", .root = "/x", .claim = "shared", .namespace = "lab", .sub = "q", .path = "/m" },
        other = { .fs = "o", .root = "/data/bob", .sub = "", .path = "/o" },
        alike = { .fs = "o", .root = "/data/annette", .sub = "", .path = "/o" },
        of_machine = { .fs = "etc", .root = "/etc", .sub = "", .path = "/o" },
        relative = { .fs = "home", .sub = "", .path = "data" };

static void test_problems(void)
{
        const struct {
                const char *setting, *namespace;
                const TaskMount *mount;
                const char *says; /* NULL: no problem */
        } cases[] = {
                { "{" HOMES "}", NULL, &home, NULL },
                { "{" CLAIMED "}", "lab", &home_in, NULL },
                { "{}", NULL, &home, "do not see the file system 'home'" },
                { "{" HOMES "}", NULL, &relative, "'data' is relative" },
                { "{" PATHS "}", NULL, &own, NULL },
                { "{" PATHS "}", NULL, &whole, NULL },
                { "{" PATHS "}", NULL, &sets, NULL },
                { "{" HOMES "}", NULL, &own, "does not let jobs mount the directory of file system 'own'" },
                { "{" PATHS "}", NULL, &other, "does not let jobs mount the directory" },
                { "{" PATHS "}", NULL, &alike, "does not let jobs mount the directory" },
                { "{" PATHS "}", NULL, &of_machine, "`mounts.host_paths`" },
                { "{" PATHS "}", NULL, &claim, NULL },
                { "{" PATHS "}", "lab", &claim, NULL },
                { "{" PATHS "}", "default", &claim,
                  "in namespace 'lab', and the job's pods are in 'default'" },
                { "{`mounts`: {`claims`: [`other`]}}", "lab", &claim,
                  "the claim 'shared' of file system 'm'" },
                { "{}", "lab", &claim, "`mounts.claims`" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Setting) setting = setting_of(cases[i].setting);
                const VolumeMap map = { setting, "dc_1" };
                g_autofree char *problem =
                        pod_mounts_problem(&map, "ann", cases[i].namespace, cases[i].mount, 1);

                if (cases[i].says)
                        g_assert_nonnull(strstr(problem ? problem : "none", cases[i].says));
                else
                        g_assert_cmpstr(problem, ==, NULL);
        }
}

#define NEVER "`securityContext`: {`allowPrivilegeEscalation`: false}"
#define POD(volumes, mounts)                                                                                 \
        "{`containers`: [{`name`: `main`, `volumeMounts`: [" mounts "], " NEVER                              \
        "}, {`name`: `side`}]" volumes "}"

static void test_put(void)
{
        const struct {
                const char *setting;
                TaskMount mount;
                const char *expected;
        } cases[] = {
                { "{" HOMES "}", home, POD("", "{`name`: `dc-1`, `mountPath`: `/data`, `readOnly`: false}") },
                { "{" HOMES "}", home_in,
                  POD("", "{`name`: `dc-1`, `mountPath`: `/in`, `readOnly`: true, `subPath`: `a/b`}") },
                { "{" CLAIMED "}", home_in,
                  POD("", "{`name`: `dc-1`, `mountPath`: `/in`, `readOnly`: true, `subPath`: `h/ann/a/b`}") },
                { "{" PATHS "}", own,
                  POD(", `volumes`: [{`name`: `paddle-mount-0`, `hostPath`: {`path`: `/data/ann`, `type`: "
                      "`Directory`}}]",
                      "{`name`: `paddle-mount-0`, `mountPath`: `/own`, `readOnly`: false, `subPath`: `x/y`}") },
                { "{" PATHS "}", whole,
                  POD(", `volumes`: [{`name`: `paddle-mount-0`, `hostPath`: {`path`: `/data/ann`, `type`: "
                      "`Directory`}}]",
                      "{`name`: `paddle-mount-0`, `mountPath`: `/own`, `readOnly`: false}") },
                { "{" PATHS "}", sets,
                  POD(", `volumes`: [{`name`: `paddle-mount-0`, `hostPath`: {`path`: `/sets/`, `type`: "
                      "`Directory`}}]",
                      "{`name`: `paddle-mount-0`, `mountPath`: `/s`, `readOnly`: true, `subPath`: `digits`}") },
                { "{" PATHS "}", claim,
                  POD(", `volumes`: [{`name`: `paddle-mount-0`, `persistentVolumeClaim`: {`claimName`: `shared`, "
                      "`readOnly`: false}}]",
                      "{`name`: `paddle-mount-0`, `mountPath`: `/m`, `readOnly`: false, `subPath`: `q`}") },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Setting) setting = setting_of(cases[i].setting);
                const VolumeMap map = { setting, "dc_1" };
                g_autoptr(json_t) pod = json_of("{`containers`: [{`name`: `main`}, {`name`: `side`}]}");
                g_autoptr(json_t) expected = json_of(cases[i].expected);
                g_autofree char *shown = NULL;

                pod_mounts_put(&map, "ann", &cases[i].mount, 1, pod);
                shown = json_format(pod);
                g_test_message("%s", shown);
                g_assert_true(json_equal(pod, expected));
        }
}

/* A user whose pods may gain rights elsewhere does not gain them with a mount; without mounts nothing changes. */
static void test_rights(void)
{
        g_autoptr(Setting) setting = setting_of("{" HOMES "}");
        const VolumeMap map = { setting, "dc_1" };
        g_autoptr(json_t) pod =
                json_of("{`containers`: [{`name`: `main`, `securityContext`: {`runAsUser`: 7, "
                        "`allowPrivilegeEscalation`: true}}]}");
        g_autoptr(json_t) before = json_deep_copy(pod);
        const json_t *context;

        pod_mounts_put(&map, "ann", NULL, 0, pod);
        g_assert_true(json_equal(pod, before));
        pod_mounts_put(&map, "ann", &home, 1, pod);
        context = json_object_get(json_array_get(json_object_get(pod, "containers"), 0), "securityContext");
        g_assert_true(json_is_false(json_object_get(context, "allowPrivilegeEscalation")));
        g_assert_cmpint(json_integer_value(json_object_get(context, "runAsUser")), ==, 7);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mounts/problems", test_problems);
        g_test_add_func("/mounts/put", test_put);
        g_test_add_func("/mounts/rights", test_rights);
        return g_test_run();
}
