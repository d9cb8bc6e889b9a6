/* The client configuration (doc/reference/paddle-cloud.md, "The first configuration file" to "The later
 * configuration file", and "Cases that a client passes"). */
#include "cli/config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json.h"

/* PaddlePaddle Cloud's own example, with its comment. */
#define SEED                                                                                                 \
        "apiVersion: v1\n"                                                                                   \
        "dockerRegistry:\n"                                                                                  \
        "  domain: domain.com //default is docker.io\n"                                                      \
        "  username: <username>\n"                                                                           \
        "  password: <password>\n"                                                                           \
        "paddleServer: http://<paddle server host>:<paddle server port>\n"

#define CENTERS                                                                                              \
        "datacenters:\n"                                                                                     \
        "- name: dc1\n  username: u@x.com\n  password: 1234\n  endpoint: http://one:8000/\n"                 \
        "- name: dc2\n  username: u@x.com\n  password: p\n  endpoint: http://two:8000\n  token: T2\n"

static const struct {
        const char *text;
        const char *server, *token, *domain; /* if it is accepted */
        const char *says;                    /* a part of the message if it is refused */
} cases[] = {
        { "", NULL, NULL, "docker.io", NULL },
        { "# nothing\n", NULL, NULL, "docker.io", NULL },
        { "paddleServer: http://h:1\n", "http://h:1", NULL, "docker.io", NULL },
        { "paddleServer: http://h:1///\n", "http://h:1", NULL, "docker.io", NULL },
        { "paddleServer: http://h:1\\\n", "http://h:1", NULL, "docker.io", NULL },
        { "paddleServer: https://h\n", "https://h", NULL, "docker.io", NULL },
        { "paddleServer: unix:/run/p.sock\n", "unix:/run/p.sock", NULL, "docker.io", NULL },
        { "paddleServer: http://h:1 //ours\n", "http://h:1", NULL, "docker.io", NULL },
        { "paddleServer: http://h:1\t//ours\n", "http://h:1", NULL, "docker.io", NULL },
        { "paddleServer: \"http://h:1\"\ntoken: abc //secret\n", "http://h:1", "abc", "docker.io", NULL },
        { "token: 1234\n", NULL, "1234", "docker.io", NULL },
        { "dockerRegistry:\n  domain: domain.com //default is docker.io\n", NULL, NULL, "domain.com", NULL },
        { "dockerRegistry:\n  domain: //default is docker.io\n", NULL, NULL, "docker.io", NULL },
        { "dockerRegistry:\n", NULL, NULL, "docker.io", NULL },
        { "editor: vim\nlist: [1, 2]\n", NULL, NULL, "docker.io", NULL },
        { CENTERS "current-datacenter: dc1\n", "http://one:8000", NULL, "docker.io", NULL },
        { CENTERS "current-datacenter: dc2\n", "http://two:8000", "T2", "docker.io", NULL },
        { CENTERS "current-datacenter: dc2 //the second\n", "http://two:8000", "T2", "docker.io", NULL },
        { CENTERS "current-datacenter: dc3\npaddleServer: http://h:1\n", "http://h:1", NULL, "docker.io",
          NULL },
        { CENTERS "current-datacenter: dc2\npaddleServer: http://h:1\n", "http://h:1", "T2", "docker.io",
          NULL },

        { SEED, NULL, NULL, NULL, "paddleServer: 'http://<paddle server host>:<paddle server port>'" },
        { CENTERS "current-datacenter: dc3\n", NULL, NULL, NULL,
          "current-datacenter 'dc3' is not one of datacenters\nThe list has: dc1, dc2." },
        { CENTERS, NULL, NULL, NULL, "current-datacenter '' is not one of datacenters" },
        { "datacenters: []\ncurrent-datacenter: a\n", NULL, NULL, NULL, "The list has: none." },
        { "datacenters: x\n", NULL, NULL, NULL, "datacenters must be a list" },
        { "datacenters: [x]\n", NULL, NULL, NULL, "datacenters[0] must hold name" },
        { "datacenters:\n- name: a\ncurrent-datacenter: a\n", NULL, NULL, NULL,
          "datacenters[0].endpoint is missing" },
        { "datacenters:\n- name: a\n  endpoint: not a url\ncurrent-datacenter: a\n", NULL, NULL, NULL,
          "datacenters[0].endpoint: 'not a url' is not a URL" },
        { "datacenters:\n- name: a\n  endpoint: http://a\n- name: b\n  endpoint: host:80\n"
          "current-datacenter: a\n",
          NULL, NULL, NULL, "datacenters[1].endpoint: 'host:80' is not a URL such as http://HOST:PORT" },
        { "paddleServer: host:8080\n", NULL, NULL, NULL, "paddleServer: 'host:8080' is not a URL" },
        { "paddleServer: http://\n", NULL, NULL, NULL, "is not a URL" },
        { "paddleServer: [a]\n", NULL, NULL, NULL, "paddleServer must be a text" },
        { "apiVersion: v2\n", NULL, NULL, NULL, "apiVersion: 'v2' is not known" },
        { "dockerRegistry: x\n", NULL, NULL, NULL, "dockerRegistry must hold" },
        { "- a\n", NULL, NULL, NULL, "not a list of 'key: value' lines" },
        { "just words\n", NULL, NULL, NULL, "not a list of 'key: value' lines" },
        { "a: [1\n", NULL, NULL, NULL, "line" },
        { "a: 1\na: 2\n", NULL, NULL, NULL, "line" },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(ClientConfig) config =
                        client_config_parse(cases[i].text, strlen(cases[i].text), "/h/config", &error);

                g_test_message("%s", cases[i].text);
                if (cases[i].says) {
                        g_assert_null(config);
                        g_assert_true(err_is(error, ERR_FAILED));
                        g_assert_cmpint(err_row(error)->exit, ==, 1);
                        g_assert_true(g_str_has_prefix(error->message, "configuration '/h/config': "));
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                g_assert_no_error(error);
                g_assert_cmpstr(config->server, ==, cases[i].server);
                g_assert_cmpstr(config->token, ==, cases[i].token);
                g_assert_cmpstr(config->registry_domain, ==, cases[i].domain);
        }
}

static void test_registry(void)
{
        static const char text[] = "dockerRegistry:\n  domain: d.com\n  username: ann\n  password: 0042\n";
        g_autoptr(GError) error = NULL;
        g_autoptr(ClientConfig) config = client_config_parse(text, strlen(text), "c", &error);

        g_assert_no_error(error);
        g_assert_cmpstr(config->registry_username, ==, "ann");
        g_assert_nonnull(config->registry_password);
}

static void test_files(void)
{
        g_autofree char *dir = g_dir_make_tmp("paddle-config-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(dir, "config", NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(ClientConfig) none = client_config_read(path, &error);
        g_autoptr(ClientConfig) is_dir = NULL;

        g_assert_no_error(error);
        g_assert_null(none->server);
        is_dir = client_config_read(dir, &error);
        g_assert_null(is_dir);
        g_assert_cmpint(err_row(error)->exit, ==, 1);
        g_rmdir(dir);
}

static void test_store(void)
{
        static const struct {
                const char *before; /* NULL: no file */
                const char *after;  /* NULL: refused, and the file is unchanged */
        } rows[] = {
                { NULL, "apiVersion: v1\npaddleServer: \"http://h:1\"\ntoken: \"t\"\n" },
                { "paddleServer: http://old:1\ntoken: x\n", "paddleServer: \"http://h:1\"\ntoken: \"t\"\n" },
                { "# mine\nother: [1, 2]\ntoken : x",
                  "# mine\nother: [1, 2]\ntoken: \"t\"\npaddleServer: \"http://h:1\"\n" },
                { "dockerRegistry:\n  token: keep\n",
                  "dockerRegistry:\n  token: keep\npaddleServer: \"http://h:1\"\ntoken: \"t\"\n" },
                { "{token: x}\n", NULL },
                { "apiVersion: v7\n", NULL },
        };
        g_autofree char *dir = g_dir_make_tmp("paddle-config-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(dir, "sub", "config", NULL);
        g_autofree char *sub = g_path_get_dirname(path);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GError) error = NULL;
                g_autofree char *text = NULL;
                struct stat info;
                bool ok;

                g_assert_true(g_mkdir_with_parents(sub, 0700) == 0);
                g_unlink(path);
                g_assert_true(!rows[i].before || g_file_set_contents(path, rows[i].before, -1, NULL));
                ok = client_config_store(path, "http://h:1", "t", &error);
                g_assert_cmpint(ok, ==, rows[i].after != NULL);
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                g_assert_cmpstr(text, ==, rows[i].after ? rows[i].after : rows[i].before);
                g_assert_true(!ok || (stat(path, &info) == 0 && (info.st_mode & 0777) == 0600));
        }
        g_unlink(path);
        g_rmdir(sub);
        g_rmdir(dir);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/config/cases", test_cases);
        g_test_add_func("/cli/config/registry", test_registry);
        g_test_add_func("/cli/config/files", test_files);
        g_test_add_func("/cli/config/store", test_store);
        return g_test_run();
}
