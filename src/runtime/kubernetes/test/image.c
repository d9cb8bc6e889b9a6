/* Images of jobs: what references say, what keys are made from, what Jobs and pods are told. */
#include "runtime/kubernetes/image/image.h"

#include <string.h>

#include "base/err.h"
#include "kube/kind.h"
#include "runtime/kubernetes/image/registry.h"
#include "runtime/kubernetes/test/texts.h"

#define SHA "sha256:0123456789012345678901234567890123456789012345678901234567890123"

static void test_names(void)
{
        static const struct {
                const char *text, *host, *path, *tag, *digest;
        } cases[] = {
                { "paddle", "docker.io", "library/paddle", "latest", NULL },
                { "paddlepaddle/paddle:2.6.2", "docker.io", "paddlepaddle/paddle", "2.6.2", NULL },
                { "docker.io/a/b", "docker.io", "a/b", "latest", NULL },
                { "localhost/a", "localhost", "a", "latest", NULL },
                { "reg:5000/a/b/c:t", "reg:5000", "a/b/c", "t", NULL },
                { "reg.local/a@" SHA, "reg.local", "a", NULL, SHA },
                { "reg.local/a:t@" SHA, "reg.local", "a", "t", SHA },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(ImageName) name = { 0 };
                g_autoptr(GError) error = NULL;

                g_assert_true(image_name_parse(cases[i].text, &name, &error));
                g_assert_cmpstr(name.host, ==, cases[i].host);
                g_assert_cmpstr(name.path, ==, cases[i].path);
                g_assert_cmpstr(name.tag, ==, cases[i].tag);
                g_assert_cmpstr(name.digest, ==, cases[i].digest);
        }
}

static void test_names_refused(void)
{
        static const char *const cases[] = { "", "reg:5000/", "a:", "a@", "a@md5:1", "reg.local/:t" };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(ImageName) name = { 0 };
                g_autoptr(GError) error = NULL;

                g_assert_false(image_name_parse(cases[i], &name, &error));
                g_assert_nonnull(strstr(error->message, "is not an image reference"));
        }
}

/* Each part counts, and none runs into the next. */
static void test_keys(void)
{
        static const ImageRecipe recipes[] = {
                { "b", "p", "n", "r", "i" },       { "b2", "p", "n", "r", "i" },
                { "b", "p2", "n", "r", "i" },      { "b", "p", "n2", "r", "i" },
                { "b", "p", "n", "r2", "i" },      { "b", "p", "n", "r", "i2" },
                { "b", "p", "n", NULL, "i" },      { "b", NULL, NULL, "r", "i" },
                { "b", "pn", "", "r", "i" },       { "b", "p", NULL, "r", "i" },
                { "b", "p", "n", "r", "i", "s" },  { "b", "p", "n", "r", "i", "s2" },
                { "b", "p", "n", NULL, "i", "s" }, { "b", "p", "n", NULL, "i2", "s" },
        };
        ImageRecipe without = recipes[6];
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autofree char *key = NULL, *other = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(recipes); i++) {
                char *made = image_key(&recipes[i]);

                g_assert_true(g_str_has_prefix(made, "image-"));
                g_assert_cmpuint(strlen(made), ==, strlen("image-") + 32);
                g_assert_true(g_hash_table_add(seen, made));
        }
        without.pip = "another index"; /* without requirements nothing is asked of it */
        key = image_key(&recipes[6]);
        other = image_key(&without);
        g_assert_cmpstr(key, ==, other);
}

static void assert_json(const json_t *value, const char *expected)
{
        g_autoptr(json_t) wanted = json_of(expected);
        g_autofree char *shown = json_format(value);

        if (!json_equal(value, wanted))
                g_error("%s instead of %s", shown, expected);
}

static void test_credentials(void)
{
        SettingRegistry open = { .address = (char *)"reg:5000/team" };
        SettingRegistry shut = { .address = (char *)"reg:5000/team",
                                 .username = (char *)"u",
                                 .password = (char *)"p" };
        g_autofree char *none = image_credentials(&open), *some = image_credentials(&shut);
        g_autofree char *reference = image_reference(&shut, "image-1");
        g_autoptr(json_t) secret = image_pull_secret(&shut, "ns");
        g_autofree guchar *text = NULL;
        gsize len;

        g_assert_cmpstr(none, ==, "{\"auths\":{}}");
        g_assert_cmpstr(some, ==, "{\"auths\":{\"reg:5000\":{\"auth\":\"dTpw\"}}}");
        g_assert_cmpstr(reference, ==, "reg:5000/team/paddle-jobs:image-1");
        g_assert_null(image_pull_secret(&open, "ns"));
        g_assert_true(g_str_has_prefix(kube_name(secret), "paddle-registry-"));
        g_assert_cmpstr(kube_get_text(secret, "type"), ==, "kubernetes.io/dockerconfigjson");
        text = g_base64_decode(json_string_value(
                                       json_object_get(kube_get(secret, "data"), ".dockerconfigjson")),
                               &len);
        g_assert_cmpmem(text, len, some, strlen(some));
}

static const char *env_of(const json_t *container, const char *name)
{
        const json_t *entry;
        const char *value = NULL;
        gsize i;

        json_array_foreach(json_object_get(container, "env"), i, entry) {
                if (g_strcmp0(kube_get_text(entry, "name"), name) == 0)
                        value = kube_get_text(entry, "value");
        }
        return value;
}

/* No privilege, no secret in the object, and only what the cluster takes away is begun anew. */
static void test_job(void)
{
        static const char text[] =
                "{\"builder\": \"b:1\", \"registry\": {\"address\": \"reg:1/x\", \"username\": \"u\", "
                "\"password\": \"s3cret\", \"insecure\": true}}";
        g_autoptr(Setting) setting = setting_parse(text, NULL);
        ImageBuild build = { .setting = setting,
                             .namespace = "ns",
                             .server = "s3rv3r",
                             .key = "image-1",
                             .base = "reg:1/python@" SHA,
                             .package_name = "digits",
                             .pull_secret = "pull" };
        g_autoptr(json_t) job = image_job(&build);
        g_autofree char *shown = json_format(job);
        const json_t *spec = kube_get(job, "spec"), *pod = kube_get(spec, "template.spec");
        const json_t *container = kube_get(pod, "containers[0]");

        g_assert_cmpstr(kube_name(job), ==, "image-1");
        g_assert_cmpstr(kube_namespace(job), ==, "ns");
        g_assert_cmpstr(kube_label(kube_get(spec, "template"), "paddle-image"), ==, "image-1");
        g_assert_cmpstr(kube_label(kube_get(spec, "template"), "paddle-image-server"), ==, "s3rv3r");
        g_assert_cmpint(kube_get_int(spec, "backoffLimit", -1), ==, 0);
        g_assert_cmpint(kube_get_int(spec, "ttlSecondsAfterFinished", -1), ==, 600);
        g_assert_cmpstr(kube_get_text(spec, "podFailurePolicy.rules[0].onPodConditions[0].type"), ==,
                        "DisruptionTarget");
        g_assert_cmpstr(kube_get_text(pod, "restartPolicy"), ==, "Never");
        g_assert_cmpstr(kube_get_text(pod, "imagePullSecrets[0].name"), ==, "pull");
        g_assert_false(json_is_true(kube_get(pod, "automountServiceAccountToken")));
        g_assert_cmpstr(kube_get_text(container, "image"), ==, "b:1");
        g_assert_true(json_is_false(kube_get(container, "securityContext.allowPrivilegeEscalation")));
        g_assert_cmpstr(kube_get_text(container, "securityContext.capabilities.drop[0]"), ==, "ALL");
        g_assert_cmpstr(env_of(container, "BASE"), ==, "reg:1/python@" SHA);
        g_assert_cmpstr(env_of(container, "TARGET"), ==, "reg:1/x/paddle-jobs:image-1");
        g_assert_cmpstr(env_of(container, "TLS"), ==, "false");
        g_assert_cmpstr(env_of(container, "PACKAGE_NAME"), ==, "digits");
        g_assert_null(strstr(shown, "s3cret"));
        g_assert_null(strstr(shown, "privileged"));
}

static void test_job_limits(void)
{
        Setting setting = { .registry = { .address = (char *)"reg:1/x" }, .builder = (char *)"b:1" };
        static const struct {
                Resources limits;
                gint64 time_limit_ms;
                const char *cpu, *memory, *least_cpu, *least_memory;
                gint64 deadline_s;
        } cases[] = {
                { { { 0 } }, 0, NULL, NULL, NULL, NULL, 7200 },
                { { { .cpu_milli = 2000, .memory = 1 << 30 } }, 3600000, "2", "1Gi", "100m", "256Mi", 3600 },
                { { { .cpu_milli = 50 } }, 1, "50m", NULL, "50m", NULL, 1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                ImageBuild build = { .setting = &setting,
                                     .namespace = "ns",
                                     .server = "s3rv3r",
                                     .key = "image-1",
                                     .base = "b",
                                     .limits = cases[i].limits,
                                     .time_limit_ms = cases[i].time_limit_ms };
                g_autoptr(json_t) job = image_job(&build);
                const json_t *spec = kube_get(job, "spec");
                const json_t *resources = kube_get(spec, "template.spec.containers[0].resources");

                g_assert_cmpint(kube_get_int(spec, "activeDeadlineSeconds", 0), ==, cases[i].deadline_s);
                g_assert_cmpstr(kube_get_text(resources, "limits.cpu"), ==, cases[i].cpu);
                g_assert_cmpstr(kube_get_text(resources, "limits.memory"), ==, cases[i].memory);
                g_assert_cmpstr(kube_get_text(resources, "requests.cpu"), ==, cases[i].least_cpu);
                g_assert_cmpstr(kube_get_text(resources, "requests.memory"), ==, cases[i].least_memory);
        }
}

/* An evicted pod stays beside the one that its Job makes then; whichever comes first out of a cache. */
static void test_pods(void)
{
        static const struct {
                const char *wanted, *phase, *made;    /* of "a" */
                const char *other_phase, *other_made; /* of "b" */
        } cases[] = {
                { "b", "Failed", "10:00:00", "Running", "10:01:00" },
                { "b", "Failed", "10:01:00", "Running", "10:00:00" },
                { "b", "Failed", "10:00:00", "Pending", "10:00:00" },
                { "a", "Running", "10:00:00", "Failed", "10:00:00" },
                { "b", "Failed", "10:00:00", "Succeeded", "10:01:00" },
                { "a", "Failed", "10:01:00", "Failed", "10:00:00" },
                { "b", "Running", "10:00:00", "Running", "10:00:01" },
        };
        static const char form[] = "{`metadata`: {`name`: `%s`, `creationTimestamp`: `2026-01-02T%sZ`}, "
                                   "`status`: {`phase`: `%s`}}";

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *a = g_strdup_printf(form, "a", cases[i].made, cases[i].phase);
                g_autofree char *b = g_strdup_printf(form, "b", cases[i].other_made, cases[i].other_phase);
                g_autoptr(json_t) one = json_of(a), other = json_of(b);

                g_assert_cmpstr(kube_name(image_pod(one, other)), ==, cases[i].wanted);
                g_assert_cmpstr(kube_name(image_pod(other, one)), ==, cases[i].wanted);
                g_assert_true(image_pod(NULL, one) == one && image_pod(one, NULL) == one);
        }
        g_assert_null(image_pod(NULL, NULL));
}

static void test_pip(void)
{
        static const char *const trusted[] = { "h:80", "i", NULL };
        static const struct {
                SettingPip pip;
                const char *expected;
        } cases[] = {
                { { NULL, NULL }, "[global]\nindex-url = http://server/simple\ntrusted-host = server\n" },
                { { (char *)"http://h:80/s", NULL }, "[global]\nindex-url = http://h:80/s\n" },
                { { (char *)"http://h:80/s", (char **)trusted },
                  "[global]\nindex-url = http://h:80/s\ntrusted-host = h:80 i\n" },
                { { NULL, (char **)trusted },
                  "[global]\ntrusted-host = h:80 i\nindex-url = http://server/simple\n" },
        };
        g_autoptr(GHashTable) server = g_hash_table_new(g_str_hash, g_str_equal);

        g_hash_table_insert(server, (gpointer) "index-url", (gpointer) "http://server/simple");
        g_hash_table_insert(server, (gpointer) "trusted-host", (gpointer) "server");
        g_hash_table_insert(server, (gpointer) "cert", (gpointer) "/etc/cert.pem");
        g_hash_table_insert(server, (gpointer) "pre", (gpointer) "1\nindex-url = evil");
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = image_pip_config(&cases[i].pip, server);

                g_assert_cmpstr(text, ==, cases[i].expected);
        }
}

#define SPEC(rest)                                                                                           \
        "{`containers`: [{`name`: `main`, `image`: `base`" rest "}, {`name`: `side`, `image`: `s`}]}"

static void test_put(void)
{
        g_autoptr(json_t) bare = json_of(SPEC("")),
                          full = json_of(SPEC(", `env`: [{`name`: `PYTHONPATH`, `value`: "
                                              "`/mine`}]"));

        image_put(bare, "main", NULL, false, NULL);
        assert_json(bare, SPEC(""));
        image_put(bare, "main", "reg/x@" SHA, false, NULL);
        assert_json(kube_get(bare, "containers[0]"), "{`name`: `main`, `image`: `reg/x@" SHA "`}");
        image_put(full, "main", "reg/x@" SHA, true, "pull");
        assert_json(kube_get(full, "imagePullSecrets"), "[{`name`: `pull`}]");
        assert_json(kube_get(full, "containers[0]"),
                    "{`name`: `main`, `image`: `reg/x@" SHA "`, `workingDir`: `/paddle/work`, `env`: ["
                    "{`name`: `PYTHONPATH`, `value`: `/mine`},"
                    "{`name`: `TRAINER_PACKAGE`, `value`: `/paddle/work`},"
                    "{`name`: `PF_WORK_DIR`, `value`: `/paddle/work`},"
                    "{`name`: `PWD`, `value`: `/paddle/work`},"
                    "{`name`: `PYTHONPATH`, `value`: `/paddle/work:/paddle/path:/mine`}]}");
        assert_json(kube_get(full, "containers[1]"), "{`name`: `side`, `image`: `s`}");
}

static void test_challenges(void)
{
        static const SettingRegistry plain = { .address = (char *)"h:5000", .insecure = true },
                                     closed = { .address = (char *)"h:5000" };
        static const struct {
                const char *text;
                const SettingRegistry *registry; /* NULL: another's */
                const char *origin, *path;       /* NULL: it is refused */
        } cases[] = {
                { "Bearer "
                  "realm=\"https://auth.docker.io/"
                  "token\",service=\"registry.docker.io\",scope=\"repository:a/b:pull\"",
                  NULL, "https://auth.docker.io",
                  "/token?service=registry.docker.io&scope=repository%3Aa%2Fb%3Apull" },
                { "Bearer realm=\"https://h/t?a=b\",service=\"s\"", NULL, "https://h", "/t?a=b&service=s" },
                { "Bearer realm=\"https://h:5001/t\"", NULL, "https://h:5001", "/t" },
                { "Basic realm=\"x\"", NULL, NULL, NULL },
                { "Bearer service=\"s\"", NULL, NULL, NULL },
                { "Bearer realm=\"nowhere\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://h", NULL, NULL, NULL },
                { "", NULL, NULL, NULL },
                /* plain http is for a registry that is asked so itself */
                { "bearer realm=\"http://h:1\"", &plain, "http://h:1", "/" },
                { "Bearer realm=\"http://h:1\"", &closed, NULL, NULL },
                { "Bearer realm=\"http://auth.docker.io/t\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://10.0.0.5/t\"", &closed, "https://10.0.0.5", "/t" },
                /* no socket of this machine, whoever says so */
                { "Bearer realm=\"unix://x/y\"", NULL, NULL, NULL },
                { "Bearer realm=\"unix://x/y\"", &plain, NULL, NULL },
                { "Bearer realm=\"unix:/run/paddled.sock\"", &plain, NULL, NULL },
                { "Bearer realm=\"file:///etc/passwd\"", &plain, NULL, NULL },
                /* nor a host that only we can reach */
                { "Bearer realm=\"http://127.0.0.1/\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://127.0.0.1:8443/t\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://localhost/t\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://10.0.0.5/t\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://169.254.169.254/latest\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://[::1]/t\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://a.example@10.0.0.5/t\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://10.0.0.5?x\"", NULL, NULL, NULL },
                { "Bearer realm=\"https://9.9.9.9/t\"", NULL, "https://9.9.9.9", "/t" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *origin = NULL, *path = NULL;
                g_autoptr(GError) error = NULL;
                bool good = registry_challenge_parse(cases[i].text, cases[i].registry, "h:5000", &origin,
                                                     &path, &error);

                g_test_message("%zu: %s", i, cases[i].text);
                g_assert_true(good == (cases[i].origin != NULL));
                g_assert_true(good || err_is(error, ERR_INVALID));
                g_assert_cmpstr(origin, ==, cases[i].origin);
                g_assert_cmpstr(path, ==, cases[i].path);
        }
}

/* RFC 1918, 3927, 4193, 4291, 6598. */
static void test_inner_hosts(void)
{
        static const struct {
                const char *host;
                bool inner;
        } cases[] = {
                { "127.0.0.1", true },
                { "127.255.0.9", true },
                { "10.1.2.3", true },
                { "172.16.0.1", true },
                { "172.31.255.255", true },
                { "192.168.1.1", true },
                { "169.254.169.254", true },
                { "100.64.0.1", true },
                { "0.0.0.0", true },
                { "224.0.0.1", true },
                { "::1", true },
                { "::", true },
                { "fe80::1", true },
                { "fd00::1", true },
                { "::ffff:10.0.0.1", true },
                { "2130706433", true },
                { "0x7f.1", true },
                { "LOCALHOST", true },
                { "172.32.0.1", false },
                { "172.15.0.1", false },
                { "11.0.0.1", false },
                { "100.128.0.1", false },
                { "192.169.0.1", false },
                { "2606:4700::1", false },
                { "9.9.9.9", false },
                { "registry.example", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_test_message("%s", cases[i].host);
                g_assert_true(registry_is_inner(cases[i].host, false) == cases[i].inner);
        }
        g_assert_true(registry_is_inner("localhost", true)); /* by /etc/hosts, as any other name */
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/image/names", test_names);
        g_test_add_func("/image/names-refused", test_names_refused);
        g_test_add_func("/image/keys", test_keys);
        g_test_add_func("/image/credentials", test_credentials);
        g_test_add_func("/image/job", test_job);
        g_test_add_func("/image/job-limits", test_job_limits);
        g_test_add_func("/image/pods", test_pods);
        g_test_add_func("/image/pip", test_pip);
        g_test_add_func("/image/put", test_put);
        g_test_add_func("/image/challenges", test_challenges);
        g_test_add_func("/image/inner-hosts", test_inner_hosts);
        return g_test_run();
}
