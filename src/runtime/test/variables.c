/* The environment of a member: what wins over what. */
#include "runtime/local/variables.h"

#include <stdbool.h>

static const char *const server[] = { "PATH=/s/bin",
                                      "TMPDIR=/root/tmp",
                                      "HOME=/root",
                                      "SECRET=1",
                                      "PADDLE_TOKEN=2",
                                      "https_proxy=p",
                                      "CUDA_VISIBLE_DEVICES=3",
                                      "PYTHONPATH=/server",
                                      "LANG=",
                                      "PIP_INDEX_URL=http://u:p@h",
                                      NULL };

static void expect(char **env, const char *name, const char *value)
{
        int count = 0;

        g_test_message("%s", name);
        for (char **entry = env; *entry; entry++)
                count += g_str_has_prefix(*entry, name) && (*entry)[strlen(name)] == '=';
        g_assert_cmpint(count, ==, value ? 1 : 0);
        g_assert_cmpstr(g_environ_getenv(env, name), ==, value);
}

static char **complete(const MemberPlace *place, const char *const *task)
{
        g_auto(GStrv) inherited = variables_inherit((char *const *)server);

        return variables_complete(inherited, place, (char *const *)task);
}

static void test_plain(void)
{
        MemberPlace place = { .user = "ada", .work = "/w" };
        const char *const task[] = { "A=1", "A=2", "WITH=a=b", "EMPTY=", "nonsense", "=x", NULL };
        g_auto(GStrv) env = complete(&place, task);

        expect(env, "PATH", "/s/bin");
        expect(env, "HOME", "/root");
        expect(env, "TMPDIR", "/root/tmp");
        expect(env, "USER", "ada");
        expect(env, "LANG", "C.UTF-8"); /* an empty one counts as none */
        expect(env, "https_proxy", "p");
        expect(env, "A", "2");
        expect(env, "WITH", "a=b");
        expect(env, "EMPTY", "");
        expect(env, "PWD", "/w");
        expect(env, "TRAINER_PACKAGE", "/w");
        expect(env, "PF_WORK_DIR", "/w");
        expect(env, "PYTHONUNBUFFERED", "1");
        static const char *const absent[] = { "SECRET",
                                              "PADDLE_TOKEN",
                                              "CUDA_VISIBLE_DEVICES",
                                              "PYTHONPATH",
                                              "PIP_INDEX_URL",
                                              "VIRTUAL_ENV",
                                              "PADDLE_INPUT",
                                              "PADDLE_OUTPUT",
                                              "INPUT",
                                              "OUTPUT",
                                              "PADDLE_READY_FILE",
                                              "nonsense",
                                              NULL };
        for (const char *const *name = absent; *name; name++)
                expect(env, *name, NULL);
}

static void test_full(void)
{
        MemberPlace place = { .user = "ada",
                              .work = "/w",
                              .by_name = "/p",
                              .environment = "/e",
                              .input = "/i",
                              .output = "/o",
                              .ready_file = "/r",
                              .fallback_path = "/f",
                              .sdk = "/sdk" };
        const char *const task[] = { "PATH=/mine",
                                     "PYTHONPATH=/lib",
                                     "LANG=de_DE.UTF-8",
                                     "HOME=/h",
                                     "PADDLE_OUTPUT=/elsewhere",
                                     "TRAINER_PACKAGE=/x",
                                     "PYTHONUNBUFFERED=0",
                                     "CUDA_VISIBLE_DEVICES=1",
                                     NULL };
        g_auto(GStrv) env = complete(&place, task);

        expect(env, "PATH", "/e/bin:/mine:/f");
        expect(env, "PYTHONPATH", "/w:/p:/lib:/sdk");
        expect(env, "VIRTUAL_ENV", "/e");
        expect(env, "LANG", "de_DE.UTF-8");
        expect(env, "HOME", "/h");
        expect(env, "PYTHONUNBUFFERED", "0");
        expect(env, "CUDA_VISIBLE_DEVICES", "1");
        expect(env, "PADDLE_INPUT", "/i");
        expect(env, "INPUT", "/i");
        expect(env, "PADDLE_OUTPUT", "/o"); /* only the runtime knows directories */
        expect(env, "OUTPUT", "/o");
        expect(env, "TRAINER_PACKAGE", "/w");
        expect(env, "PADDLE_READY_FILE", "/r");
}

/* CUDA counts what a program can open from 0; a user's own choice stays. */
static void test_gpus(void)
{
        static const struct {
                const char *variable, *gpus, *seen, *want;
        } cases[] = {
                { "CUDA_VISIBLE_DEVICES=2,3", "2,3", "0,1", "0,1" },
                { "CUDA_VISIBLE_DEVICES=2,3", NULL, NULL, "2,3" },
                { "CUDA_VISIBLE_DEVICES=1", "2,3", "0,1", "1" },
                { "CUDA_VISIBLE_DEVICES=", "2,3", "0,1", "" },
                { "OTHER=1", "2,3", "0,1", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                MemberPlace place = {
                        .user = "ada", .work = "/w", .gpus = cases[i].gpus, .gpus_seen = cases[i].seen
                };
                const char *const task[] = { cases[i].variable, NULL };
                g_auto(GStrv) env = complete(&place, task);

                expect(env, "CUDA_VISIBLE_DEVICES", cases[i].want);
        }
}

static void test_bare_server(void)
{
        const char *const nothing[] = { NULL };
        g_auto(GStrv) inherited = variables_inherit((char *const *)nothing);
        MemberPlace place = { .user = "ada", .work = "/w" };
        g_auto(GStrv) env = variables_complete(inherited, &place, NULL);

        expect(env, "PATH", "/usr/local/bin:/usr/bin:/bin");
        expect(env, "HOME", "/");
}

/* A member that is somebody else does not look for its things where the server keeps its own. */
static void test_somebody_else(void)
{
        MemberPlace place = { .user = "ada", .home = "/home/ada", .work = "/w" };
        const char *const task[] = { "A=1", NULL }, *const own[] = { "HOME=/mine", "TMPDIR=/t", NULL };
        g_auto(GStrv) env = complete(&place, task), chosen = complete(&place, own);

        expect(env, "HOME", "/home/ada");
        expect(env, "TMPDIR", NULL);
        expect(env, "PATH", "/s/bin");
        expect(chosen, "HOME", "/mine");
        expect(chosen, "TMPDIR", "/t");
}

/* doc/internals/runtime.md, "Variables". */
static void test_inherited(void)
{
        static const char *const names[] = {
                "PATH",
                "LANG",
                "LC_ALL",
                "LC_CTYPE",
                "TZ",
                "TMPDIR",
                "HOME",
                "http_proxy",
                "https_proxy",
                "no_proxy",
                "all_proxy",
                "HTTP_PROXY",
                "HTTPS_PROXY",
                "NO_PROXY",
                "ALL_PROXY",
                "SSL_CERT_FILE",
                "SSL_CERT_DIR",
                "LD_LIBRARY_PATH",
                "CUDA_HOME",
                "CUDA_PATH",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
                "NVIDIA_DRIVER_CAPABILITIES",
        };
        static const char *const others[] = {
                "USER", "CC", "CFLAGS", "UV_INDEX", "PIP_CERT", "XDG_CACHE_HOME"
        };
        g_auto(GStrv) env = g_new0(char *, 1), inherited = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                env = g_environ_setenv(env, names[i], "/x", TRUE);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                env = g_environ_setenv(env, others[i], "/x", TRUE);
        inherited = variables_inherit(env);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                expect(inherited, names[i], "/x");
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                expect(inherited, others[i], NULL);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/variables/plain", test_plain);
        g_test_add_func("/variables/full", test_full);
        g_test_add_func("/variables/gpus", test_gpus);
        g_test_add_func("/variables/bare-server", test_bare_server);
        g_test_add_func("/variables/somebody-else", test_somebody_else);
        g_test_add_func("/variables/inherited", test_inherited);
        return g_test_run();
}
