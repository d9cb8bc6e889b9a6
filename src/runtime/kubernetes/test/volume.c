/* Volumes of pods: what is mounted where, and which paths a job may not have. */
#include "runtime/kubernetes/pod/volume.h"

#include <string.h>

#include "runtime/kubernetes/test/texts.h"
#include "runtime/test/attempt.h"

/* Of ann's job "j". */
static void attempt_with(TestAttempt *test, const char *input, const char *output)
{
        test_attempt_init(test, "j", 0);
        test->job.user = (char *)"ann";
        test->spec.input = (char *)input;
        test->spec.output = (char *)output;
}

#define HOSTS "{`volumes`: {`dc_1`: {`host_path`: `/mnt/home/%s`}, `public`: {`host_path`: `/mnt/public`}}}"
#define CLAIM "{`volumes`: {`dc_1`: {`claim`: `homes`, `sub_path`: `h/%s`}}}"

static void test_problems(void)
{
        static const struct {
                const char *setting, *input, *output, *says;
        } cases[] = {
                { HOSTS, NULL, NULL, NULL },
                { "{}", NULL, NULL, NULL },
                { HOSTS, "/pfs/dc_1/home/ann", "/pfs/dc_1/home/ann/out", NULL },
                { HOSTS, "/pfs/dc_1/public/digits", NULL, NULL },
                { HOSTS, "/pfs/dc_1/home/annette/x", NULL,
                  "input: '/pfs/dc_1/home/annette/x' is neither in /pfs/dc_1/home/ann nor" },
                { HOSTS, NULL, "/pfs/dc_1/home/bob", "output: '/pfs/dc_1/home/bob' is neither" },
                { HOSTS, NULL, "/pfs/dc_1/public/x", "output: '/pfs/dc_1/public/x' cannot be written" },
                { "{}", "/pfs/dc_1/home/ann/x", NULL, "The entry 'dc_1' of `volumes`" },
                { CLAIM, "/pfs/dc_1/public/x", NULL, "The entry 'public' of `volumes`" },
                { "{`datacenter`: `other`}", NULL, "/pfs/dc_1/home/ann/x", "The entry 'other' of `volumes`" },
                { "{`datacenter`: `o`, `volumes`: {`o`: {`claim`: `%s`, `read_only`: true}}}", NULL,
                  "/pfs/dc_1/home/ann/x", "cannot be written" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Setting) setting = setting_of(cases[i].setting);
                VolumeMap map = { setting, "dc_1" };
                TestAttempt test;
                g_autofree char *problem = NULL;

                attempt_with(&test, cases[i].input, cases[i].output);
                problem = volume_problem(&map, &test.attempt);
                if (cases[i].says)
                        g_assert_nonnull(strstr(problem ? problem : "none", cases[i].says));
                else
                        g_assert_cmpstr(problem, ==, NULL);
        }
}

#define CONTAINER(rest) "{`containers`: [{`name`: `main`" rest "}, {`name`: `side`}]"

static void test_put(void)
{
        static const struct {
                const char *setting, *input, *output, *expected;
        } cases[] = {
                { "{}", NULL, NULL, CONTAINER() "}" },
                { HOSTS, NULL, NULL,
                  CONTAINER(
                          ", `volumeMounts`: ["
                          "{`name`: `dc-1`, `mountPath`: `/pfs/dc_1/home/ann`, `readOnly`: false},"
                          "{`name`: `public`, `mountPath`: `/pfs/dc_1/public`, `readOnly`: true}]") ", "
                                                                                                    "`volumes"
                                                                                                    "`: ["
                                                                                                    "{`name`:"
                                                                                                    " `dc-1`,"
                                                                                                    " `"
                                                                                                    "hostPath"
                                                                                                    "`: "
                                                                                                    "{`path`:"
                                                                                                    " `/mnt/"
                                                                                                    "home/"
                                                                                                    "ann`, "
                                                                                                    "`type`: "
                                                                                                    "`Directo"
                                                                                                    "ryOrCrea"
                                                                                                    "te`}},"
                                                                                                    "{`name`:"
                                                                                                    " `"
                                                                                                    "public`,"
                                                                                                    " `"
                                                                                                    "hostPath"
                                                                                                    "`: "
                                                                                                    "{`path`:"
                                                                                                    " `/mnt/"
                                                                                                    "public`,"
                                                                                                    " `type`:"
                                                                                                    " `"
                                                                                                    "Director"
                                                                                                    "yOrCreat"
                                                                                                    "e`}}]"
                                                                                                    "}" },
                { CLAIM, "/pfs/dc_1/home/ann", "/pfs/dc_1/home/ann/a/$o",
                  CONTAINER(
                          ", `volumeMounts`: [{`name`: `dc-1`, `mountPath`: `/pfs/dc_1/home/ann`, "
                          "`readOnly`: "
                          "false, `subPath`: `h/ann`}, {`name`: `dc-1`, `mountPath`: "
                          "`/pfs/dc_1/home/ann/a/$o`, `readOnly`: false, `subPath`: `h/ann/a/$o`}],"
                          "`env`: [{`name`: `PADDLE_INPUT`, `value`: `/pfs/dc_1/home/ann`},"
                          "{`name`: `INPUT`, `value`: `/pfs/dc_1/home/ann`},"
                          "{`name`: `PADDLE_OUTPUT`, `value`: `/pfs/dc_1/home/ann/a/$$o`},"
                          "{`name`: `OUTPUT`, `value`: `/pfs/dc_1/home/ann/a/$$o`}]") ", `volumes`: "
                                                                                      "[{`name`: `dc-1`, "
                                                                                      "`persistentVolumeClaim"
                                                                                      "`: {`claimName`: "
                                                                                      "`homes`, `readOnly`: "
                                                                                      "false}}]}" },
                { "{`datacenter`: `Ceph.x`, `volumes`: {`Ceph.x`: {`monitors_addr`: [`a:1`, `b:1`], `user`: "
                  "`admin`, "
                  "`secret`: `s`, `cephfs_path`: `/h/%s`}}}",
                  NULL, NULL,
                  CONTAINER(", `volumeMounts`: [{`name`: `ceph-x`, `mountPath`: `/pfs/dc_1/home/ann`, "
                            "`readOnly`: false}]") ", `volumes`: [{`name`: `ceph-x`, `cephfs`: {`monitors`: "
                                                   "[`a:1`, `b:1`], `path`: `/h/ann`, "
                                                   "`user`: `admin`, `secretRef`: {`name`: `s`}, `readOnly`: "
                                                   "false}}]}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Setting) setting = setting_of(cases[i].setting);
                VolumeMap map = { setting, "dc_1" };
                TestAttempt test;
                g_autoptr(json_t) spec = json_of(CONTAINER() "}"), expected = json_of(cases[i].expected);
                g_autofree char *shown = NULL;

                attempt_with(&test, cases[i].input, cases[i].output);
                volume_put(&map, &test.attempt, spec, "main");
                shown = json_format(spec);
                if (!json_equal(spec, expected))
                        g_error("%s: %s", cases[i].setting, shown);
        }
}

/* All containers, when none is named. */
static void test_all_containers(void)
{
        g_autoptr(Setting) setting = setting_of(HOSTS);
        VolumeMap map = { setting, "dc_1" };
        TestAttempt test;
        g_autoptr(json_t) spec = json_of(CONTAINER() "}");
        const json_t *container;
        gsize i;

        attempt_with(&test, NULL, NULL);
        volume_put(&map, &test.attempt, spec, NULL);
        json_array_foreach(json_object_get(spec, "containers"), i, container) {
                g_assert_cmpuint(json_array_size(json_object_get(container, "volumeMounts")), ==, 2);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/volume/problems", test_problems);
        g_test_add_func("/volume/put", test_put);
        g_test_add_func("/volume/all-containers", test_all_containers);
        return g_test_run();
}
