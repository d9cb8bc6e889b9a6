/* kubeconfig: what is read, what is refused and how it is said, how several files merge. */
#include "kube/config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"

#define CERT "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define KEY "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
/* base64 of CERT and KEY, and of "x" */
#define CERT64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="
#define KEY64 "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCkFBQUEKLS0tLS1FTkQgRUMgUFJJVkFURSBLRVktLS0tLQo="

#define CONTEXT "contexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n"
#define WITH(cluster, user)                                                                                  \
        CONTEXT "clusters: [{name: k, cluster: {" cluster "}}]\nusers: [{name: u, user: {" user "}}]\n"
#define SERVER "server: 'https://h:6443/'"

static KubeConfig *parse(const char *text, const char *dir, GError **error)
{
        return kube_config_parse(text, strlen(text), dir, NULL, error);
}

static void test_whole(void)
{
        static const char text[] =
                "apiVersion: v1\nkind: Config\npreferences: {}\n"
                "clusters:\n- name: k\n  cluster:\n    server: https://h:6443/base/\n"
                "    certificate-authority-data: " CERT64 "\n    tls-server-name: other\n"
                "    proxy-url: http://p:3128\n"
                "- name: broken\n  cluster: {}\n"
                "contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: n}\n"
                "- name: d\n  context: {cluster: k}\n"
                "users:\n- name: u\n  user:\n    client-certificate-data: " CERT64
                "\n    client-key-data: " KEY64 "\n    token: t\n    as: root\n    as-groups: [a, b]\n"
                "current-context: c\n";
        g_autoptr(GError) error = NULL;
        g_autoptr(KubeConfig) first = parse(text, NULL, &error);
        g_assert_no_error(error);
        g_autoptr(KubeConfig) config = kube_config_copy(first);

        g_clear_pointer(&first, kube_config_free);
        g_assert_cmpstr(config->context, ==, "c");
        g_assert_cmpstr(config->cluster, ==, "k");
        g_assert_cmpstr(config->user, ==, "u");
        g_assert_cmpstr(config->namespace, ==, "n");
        g_assert_cmpstr(config->server, ==, "https://h:6443/base");
        g_assert_cmpstr(config->ca, ==, CERT);
        g_assert_cmpstr(config->certificate, ==, CERT);
        g_assert_cmpstr(config->key, ==, KEY);
        g_assert_cmpstr(config->token, ==, "t");
        g_assert_cmpstr(config->tls_server_name, ==, "other");
        g_assert_cmpstr(config->proxy_url, ==, "http://p:3128");
        g_assert_cmpstr(config->as_user, ==, "root");
        g_assert_cmpstr(config->as_groups[1], ==, "b");
        g_assert_false(config->insecure);
        g_autoptr(KubeConfig) other = kube_config_parse(text, sizeof text - 1, NULL, "d", &error);
        g_assert_no_error(error);
        g_assert_cmpstr(other->namespace, ==, "default");
        g_assert_cmpstr(other->user, ==, "");
        g_assert_null(other->token);
}

static void test_plugin(void)
{
        static const char text[] =
                CONTEXT "clusters: [{name: k, cluster: {" SERVER
                        ", extensions: [{name: client.authentication.k8s.io/exec, extension: {a: 1}}]}}]\n"
                        "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
                        "command: ./bin/x, args: [a, 'b c'], env: [{name: E, value: v}], "
                        "provideClusterInfo: true, interactiveMode: IfAvailable, installHint: get it}}}]\n";
        g_autoptr(GError) error = NULL;
        g_autoptr(KubeConfig) config = parse(text, "/etc/k", &error);

        g_assert_no_error(error);
        g_autofree char *argv = g_strjoinv("|", config->exec->argv);
        g_assert_cmpstr(argv, ==, "/etc/k/./bin/x|a|b c");
        g_assert_cmpstr(config->exec->env[0], ==, "E=v");
        g_assert_cmpstr(config->exec->install_hint, ==, "get it");
        g_assert_cmpstr(config->exec->cluster_config, ==, "{\"a\":1}");
        g_assert_true(config->exec->provide_cluster_info);
}

static const struct {
        const char *text;
        ErrCode code;
        const char *says; /* a part of the message */
} refused[] = {
        { "", ERR_INVALID, "no current-context" },
        { "[]", ERR_INVALID, "must be an object" },
        { "a: [", ERR_INVALID, "kubeconfig: line " },
        { "kind: Pod", ERR_INVALID, "its kind is 'Pod'" },
        { "clusters: {}", ERR_INVALID, "kubeconfig: clusters must be a list" },
        { "clusters: [1]", ERR_INVALID, "clusters[0] must be an object" },
        { "clusters: [{cluster: {}}]", ERR_INVALID, "clusters[0].name is missing" },
        { "current-context: x\n", ERR_NOT_FOUND, "no context 'x'" },
        { "current-context: c\ncontexts: [{name: c, context: {cluster: z, user: u}}]\n", ERR_NOT_FOUND,
          "no cluster 'z'" },
        { "current-context: c\ncontexts: [{name: c, context: {user: u}}]\n", ERR_INVALID,
          "context 'c': cluster is missing" },
        { "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: z}}]\nclusters: [{name: k, "
          "cluster: {" SERVER "}}]",
          ERR_NOT_FOUND, "no user 'z'" },
        { WITH("", ""), ERR_INVALID, "cluster 'k': server is missing" },
        { WITH("server: h", ""), ERR_INVALID, "server 'h' is not https://" },
        { WITH("server: 'https://'", ""), ERR_INVALID, "is not https://" },
        { WITH("server: 'https://a b'", ""), ERR_INVALID, "is not https://" },
        { WITH("server: 5", ""), ERR_INVALID, "server must be a string" },
        { WITH(SERVER ", insecure-skip-tls-verify: 'yes'", ""), ERR_INVALID, "must be true or false" },
        { WITH(SERVER ", insecure-skip-tls-verify: true, certificate-authority-data: " CERT64, ""),
          ERR_INVALID, "exclude each other" },
        { WITH(SERVER ", certificate-authority-data: '%%'", ""), ERR_INVALID, "is not base64" },
        { WITH(SERVER ", certificate-authority-data: eA==", ""), ERR_INVALID, "holds no PEM block" },
        { WITH(SERVER ", certificate-authority: ca.crt", ""), ERR_INVALID, "Send a kubeconfig" },
        { WITH(SERVER, "client-certificate-data: " CERT64), ERR_INVALID, "need each other" },
        { WITH(SERVER, "client-certificate-data: " CERT64 ", client-key-data: " CERT64), ERR_INVALID,
          "client-key-data holds no PEM block" },
        { WITH(SERVER, "token: 12"), ERR_INVALID, "user 'u': token must be a string" },
        { WITH(SERVER, "token: \"a\\nb\""), ERR_INVALID, "token has a blank" },
        { WITH(SERVER, "tokenFile: /t"), ERR_INVALID, "Send a kubeconfig" },
        { WITH(SERVER, "exec: {command: x}"), ERR_INVALID, "Send a kubeconfig" },
        { WITH(SERVER, "auth-provider: {name: gcp}"), ERR_INVALID, "exec plug-in" },
        { WITH(SERVER, "as-groups: [a]"), ERR_INVALID, "need 'as'" },
};

static void test_refused(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
                g_autoptr(GError) error = NULL;
                KubeConfig *config = parse(refused[i].text, NULL, &error);

                g_assert_null(config);
                g_assert_error(error, ERR_DOMAIN, (int)refused[i].code);
                if (!strstr(error->message, refused[i].says))
                        g_error("%" G_GSIZE_FORMAT ": '%s' is not in '%s'", i, refused[i].says,
                                error->message);
        }
}

static void test_refused_plugin(void)
{
        static const struct {
                const char *plugin, *says;
        } cases[] = {
                { "command: x", "apiVersion '' is not one of" },
                { "apiVersion: client.authentication.k8s.io/v1", "exec.command is missing" },
                { "apiVersion: client.authentication.k8s.io/v1alpha1, command: x", "v1alpha1' is not" },
                { "apiVersion: client.authentication.k8s.io/v1, command: x, args: [1]", "exec.args[0] must" },
                { "apiVersion: client.authentication.k8s.io/v1, command: x, env: [{name: a}]",
                  "exec.env[0]" },
                { "apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always",
                  "terminal" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf(WITH(SERVER, "exec: {%s}"), cases[i].plugin);
                g_autoptr(GError) error = NULL;

                g_assert_null(parse(text, "/", &error));
                g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
                g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

/* ---- Files ---- */

static void write_file(const char *dir, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_assert_true(file_replace(path, text, strlen(text), 0600, false, NULL));
}

static void test_merge(void)
{
        g_autofree char *dir = g_dir_make_tmp("kube-config-XXXXXX", NULL),
                        *sub = g_build_filename(dir, "b", NULL);
        g_autoptr(GError) error = NULL;

        g_mkdir(sub, 0700);
        write_file(dir, "a", "users: [{name: u, user: {token: first}}]\n");
        write_file(sub, "b",
                   WITH("server: 'https://b', certificate-authority: ca.crt",
                        "token: second, username: x, password: y"));
        write_file(sub, "ca.crt", CERT);
        write_file(dir, "c",
                   "current-context: other\nclusters: [{name: k, cluster: {server: 'https://c'}}]\n");
        g_autofree char *list = g_strdup_printf("%s/none:%s/a::%s/b/b:%s/c", dir, dir, dir, dir);
        g_setenv("KUBECONFIG", list, true);
        g_autoptr(KubeConfig) config = kube_config_load(NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(config->context, ==, "c");
        g_assert_cmpstr(config->server, ==, "https://b");
        g_assert_cmpstr(config->token, ==, "first");
        g_assert_null(config->user_name);
        g_assert_cmpstr(config->ca, ==, CERT);

        g_autofree char *absent = g_strdup_printf("%s/none", dir);
        g_setenv("KUBECONFIG", absent, true);
        g_assert_null(kube_config_load(NULL, NULL, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        g_clear_error(&error);
        g_assert_null(kube_config_load(absent, NULL, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        g_clear_error(&error);

        g_unsetenv("KUBECONFIG");
        g_unsetenv("KUBERNETES_SERVICE_HOST");
        g_setenv("HOME", dir, true);
        g_assert_null(kube_config_load(NULL, NULL, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        g_assert_nonnull(strstr(error->message, "KUBECONFIG is not set"));
        g_assert_nonnull(strstr(error->message, ".kube/config"));
        g_clear_error(&error);
        g_autofree char *home = g_build_filename(dir, ".kube", NULL);
        g_mkdir(home, 0700);
        write_file(home, "config", WITH(SERVER, "token: home"));
        g_autoptr(KubeConfig) mine = kube_config_load(NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(mine->token, ==, "home");
        g_assert_true(file_remove_tree(dir, NULL));
}

static void test_in_cluster(void)
{
        g_autofree char *dir = g_dir_make_tmp("kube-account-XXXXXX", NULL);
        g_autoptr(GError) error = NULL;

        g_unsetenv("KUBERNETES_SERVICE_HOST");
        g_assert_null(kube_config_in_cluster_at(dir, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        g_clear_error(&error);
        g_setenv("KUBERNETES_SERVICE_HOST", "fd00::1", true);
        g_setenv("KUBERNETES_SERVICE_PORT", "443", true);
        g_assert_null(kube_config_in_cluster_at(dir, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_NOT_FOUND);
        g_clear_error(&error);
        write_file(dir, "token", "t\n");
        write_file(dir, "ca.crt", CERT);
        write_file(dir, "namespace", "mine");
        g_autoptr(KubeConfig) config = kube_config_in_cluster_at(dir, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(config->server, ==, "https://[fd00::1]:443");
        g_assert_cmpstr(config->namespace, ==, "mine");
        g_assert_true(g_str_has_suffix(config->token_file, "/token"));
        g_assert_true(file_remove_tree(dir, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/config/whole", test_whole);
        g_test_add_func("/kube/config/plugin", test_plugin);
        g_test_add_func("/kube/config/refused", test_refused);
        g_test_add_func("/kube/config/refused-plugin", test_refused_plugin);
        g_test_add_func("/kube/config/merge", test_merge);
        g_test_add_func("/kube/config/in-cluster", test_in_cluster);
        return g_test_run();
}
