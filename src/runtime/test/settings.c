/* pip's settings, and the names uv reads them under. */
#include "runtime/environment/settings.h"

#include "base/file.h"
#include "base/inherited.h"

static char *home;

static void write_home(const char *path, const char *text)
{
        g_autofree char *full = g_build_filename(home, path, NULL);
        g_autofree char *dir = g_path_get_dirname(full);

        g_assert_true(file_mkdirs(dir, 0755, NULL));
        g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void test_file(void)
{
        static const struct {
                const char *text, *key, *value;
        } cases[] = {
                { "[global]\nindex-url = http://a/simple\n", "index-url", "http://a/simple" },
                { "[global]\nindex_url: http://a/simple\n", "index-url", "http://a/simple" },
                { "[install]\nindex-url = b\n[global]\nindex-url = a\n", "index-url", "b" },
                { "[global]\nfind-links =\n    /one\n    # not this\n    /two\n[freeze]\ntimeout = 10\n",
                  "find-links", "/one /two" },
                { "[global]\nextra-index-url = x   y\n", "extra-index-url", "x y" },
                { "[freeze]\nindex-url = a\n", "index-url", NULL },
                { "index-url = before any section\n", "index-url", NULL },
                { "[global]\n; index-url = a\n# index-url = b\nnonsense\n", "index-url", NULL },
                { "[global]\r\ncert = /c.pem\r\n", "cert", "/c.pem" },
                { "", "cert", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GHashTable) settings =
                        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

                g_test_message("%s", cases[i].text);
                settings_add_pip_file(settings, cases[i].text);
                g_assert_cmpstr(g_hash_table_lookup(settings, cases[i].key), ==, cases[i].value);
        }
}

/* The environment of a server whose home is ours; the rest as rows say. The machine's own /etc/pip.conf stays
 * out by PIP_CONFIG_FILE in those tests that do not look at files. */
static char **env_with(const char *const *more)
{
        GPtrArray *env = g_ptr_array_new();

        g_ptr_array_add(env, g_strconcat("HOME=", home, NULL));
        for (; more && *more; more++)
                g_ptr_array_add(env, g_strdup(*more));
        g_ptr_array_add(env, NULL);
        return (char **)g_ptr_array_free(env, FALSE);
}

static void test_order(void)
{
        g_auto(GStrv) plain = env_with(NULL);
        const char *const over[] = { "PIP_INDEX_URL=from-env", NULL };
        g_auto(GStrv) with_env = env_with(over);
        const char *const off[] = { "PIP_CONFIG_FILE=/dev/null", NULL };
        g_auto(GStrv) without = env_with(off);

        write_home(".pip/pip.conf", "[global]\nindex-url = legacy\nfind-links = /legacy\n");
        write_home(".config/pip/pip.conf", "[global]\nindex-url = user\n");
        g_autoptr(GHashTable) files = settings_read_pip(plain);
        g_assert_cmpstr(g_hash_table_lookup(files, "index-url"), ==, "user");
        g_assert_cmpstr(g_hash_table_lookup(files, "find-links"), ==, "/legacy");
        g_autoptr(GHashTable) variables = settings_read_pip(with_env);
        g_assert_cmpstr(g_hash_table_lookup(variables, "index-url"), ==, "from-env");
        g_autoptr(GHashTable) none = settings_read_pip(without);
        g_assert_null(g_hash_table_lookup(none, "index-url"));
        g_assert_null(g_hash_table_lookup(none, "cert"));
        g_assert_true(file_remove_tree(home, NULL));
        g_assert_true(file_mkdirs(home, 0700, NULL));
}

static void test_translation(void)
{
        static const struct {
                const char *set[3];
                const char *name, *value;
        } cases[] = {
                { { "PIP_INDEX_URL=http://a" }, "UV_DEFAULT_INDEX", "http://a" },
                { { "PIP_EXTRA_INDEX_URL=http://a http://b" }, "UV_EXTRA_INDEX_URL", "http://a http://b" },
                { { "PIP_FIND_LINKS=/a /b" }, "UV_FIND_LINKS", "/a,/b" },
                { { "PIP_CERT=/c.pem" }, "SSL_CERT_FILE", "/c.pem" },
                { { "PIP_CERT=/c.pem", "SSL_CERT_FILE=/mine" }, "SSL_CERT_FILE", "/mine" },
                { { "PIP_TRUSTED_HOST=h" }, "UV_INSECURE_HOST", "h" },
                { { "PIP_DEFAULT_TIMEOUT=180" }, "UV_HTTP_TIMEOUT", "180" },
                { { "PIP_INDEX_URL=a", "UV_INDEX_URL=b" }, "UV_DEFAULT_INDEX", NULL },
                { { "PIP_INDEX_URL=a", "UV_DEFAULT_INDEX=b" }, "UV_DEFAULT_INDEX", "b" },
                { { "PIP_EXTRA_INDEX_URL=a", "UV_INDEX=b" }, "UV_EXTRA_INDEX_URL", NULL },
                { { "UV_LINK_MODE=copy" }, "UV_LINK_MODE", "copy" },
                { { "https_proxy=p" }, "https_proxy", "p" },
                { { "PADDLE_SECRET=x" }, "PADDLE_SECRET", NULL },
                { { "PYTHONPATH=/x" }, "PYTHONPATH", NULL },
                { { NULL }, "UV_NO_CONFIG", "1" },
                { { "UV_CONFIG_FILE=/u" }, "UV_NO_CONFIG", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *const more[] = { "PIP_CONFIG_FILE=/dev/null", cases[i].set[0], cases[i].set[1],
                                             NULL };
                g_auto(GStrv) env = env_with(more);
                g_auto(GStrv) got = settings_variables(env);

                g_test_message("%s, %s", cases[i].set[0], cases[i].name);
                g_assert_cmpstr(g_environ_getenv(got, cases[i].name), ==, cases[i].value);
        }
}

/* A build reaches the network and finds its programs as a member does. */
static void test_inherited(void)
{
        for (const char *const *name = inherited_variables; *name; name++) {
                g_autofree char *entry = g_strconcat(*name, "=x", NULL);
                const char *const more[] = { "PIP_CONFIG_FILE=/dev/null", entry, NULL };
                g_auto(GStrv) env = env_with(more);
                g_auto(GStrv) got = settings_variables(env);

                g_assert_true(g_strv_contains((const char *const *)got, entry));
        }
}

static void test_uv_config(void)
{
        const char *const more[] = { "PIP_CONFIG_FILE=/dev/null", NULL };
        g_auto(GStrv) env = env_with(more);
        g_autofree char *path = g_build_filename(home, ".config/uv/uv.toml", NULL);
        g_autofree char *before = settings_fingerprint(env), *after = NULL;

        write_home(".config/uv/uv.toml", "offline = true\n");
        g_auto(GStrv) got = settings_variables(env);
        g_assert_cmpstr(g_environ_getenv(got, "UV_CONFIG_FILE"), ==, path);
        after = settings_fingerprint(env);
        g_assert_cmpstr(before, !=, after);
}

static void test_fingerprint(void)
{
        static const struct {
                const char *more;
                bool differs;
        } cases[] = {
                { "PIP_INDEX_URL=http://other", true },
                { "PIP_FIND_LINKS=/x", true },
                { "PIP_NO_INDEX=1", true },
                { "PIP_PRE=1", true },
                { "UV_EXTRA_INDEX_URL=x", true },
                { "UV_RESOLUTION=lowest", true },
                { "PIP_DEFAULT_TIMEOUT=3", false },
                { "UV_CACHE_DIR=/c", false },
                { "UV_HTTP_TIMEOUT=9", false },
                { "https_proxy=p", false },
        };
        const char *const base[] = { "PIP_CONFIG_FILE=/dev/null", NULL };
        g_auto(GStrv) env = env_with(base);
        g_autofree char *plain = settings_fingerprint(env);

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *const more[] = { "PIP_CONFIG_FILE=/dev/null", cases[i].more, NULL };
                g_auto(GStrv) changed = env_with(more);
                g_autofree char *got = settings_fingerprint(changed);

                g_test_message("%s", cases[i].more);
                g_assert_true((strcmp(plain, got) != 0) == cases[i].differs);
        }
}

#define PYPI "pypi.org:443"
#define PYPI_FILES "files.pythonhosted.org:443"

static void test_addresses(void)
{
        static const struct {
                const char *set[2], *uv;
                const char *want;
        } cases[] = {
                { { NULL }, NULL, PYPI "," PYPI_FILES },
                { { "PIP_INDEX_URL=https://i.org/simple" }, NULL, "i.org:443" },
                { { "PIP_INDEX_URL=http://u:p@I.org:81/simple" }, NULL, "i.org:81" },
                { { "PIP_INDEX_URL=https://pypi.org/simple" }, NULL, PYPI "," PYPI_FILES },
                { { "PIP_EXTRA_INDEX_URL=http://a https://b/x" }, NULL, "a:80,b:443," PYPI "," PYPI_FILES },
                { { "PIP_FIND_LINKS=/opt/wheels http://a:1/x" }, NULL, "a:1," PYPI "," PYPI_FILES },
                { { "UV_DEFAULT_INDEX=http://[::1]:3141/x" }, NULL, "[::1]:3141" },
                { { "UV_INDEX=name=https://a/x" }, NULL, "a:443," PYPI "," PYPI_FILES },
                { { "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu", "PIP_INDEX_URL=http://i" },
                  NULL,
                  "i:80,download.pytorch.org:443,download-r2.pytorch.org:443" },
                { { NULL }, "index-url = \"https://i/simple\"\n# https://no\n", "i:443" },
                { { NULL }, "[[index]]\nurl = 'http://i:8/s'\ndefault = true\n", "i:8" },
                { { NULL }, "[[index]]\nurl = \"http://i:8/s\"\n", "i:8," PYPI "," PYPI_FILES },
        };
        g_autofree char *path = g_build_filename(home, "other.toml", NULL);
        g_autofree char *file = g_strconcat("UV_CONFIG_FILE=", path, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *const more[] = { "PIP_CONFIG_FILE=/dev/null", file, cases[i].set[0],
                                             cases[i].set[1], NULL };
                g_auto(GStrv) env = env_with(more);
                g_autofree char *got = NULL;

                write_home("other.toml", cases[i].uv ? cases[i].uv : "");
                got = settings_addresses(env);
                g_test_message("%s %s", cases[i].set[0], cases[i].uv);
                g_assert_cmpstr(got, ==, cases[i].want);
        }
}

static void test_addresses_in(void)
{
        g_autofree char *some = settings_addresses_in("a @ https://h/x.whl\nb @ git+http://g:1/b");
        g_autofree char *none = settings_addresses_in(NULL);

        g_assert_cmpstr(some, ==, "g:1,h:443");
        g_assert_cmpstr(none, ==, "");
}

static void test_proxies(void)
{
        static const struct {
                const char *set[2];
                const char *want; /* NULL: refused */
        } cases[] = {
                { { NULL }, "" },
                { { "https_proxy=http://p:1", "NO_PROXY=a,b" }, "https_proxy=http://p:1 no_proxy=a,b" },
                { { "HTTP_PROXY=p:1", "http_proxy=q:1" }, "http_proxy=q:1" },
                { { "PIP_PROXY=http://p" }, "all_proxy=http://p" },
                { { "PIP_PROXY=http://p", "ALL_PROXY=http://q" }, "all_proxy=http://q" },
                { { "all_proxy=socks5://p" }, NULL },
                { { "https_proxy=https://p" }, NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const char *const more[] = { "PIP_CONFIG_FILE=/dev/null", cases[i].set[0], cases[i].set[1],
                                             NULL };
                g_auto(GStrv) env = env_with(more);
                g_auto(GStrv) got = settings_proxies(env, NULL);
                g_autofree char *words = got ? g_strjoinv(" ", got) : NULL;

                g_test_message("%s", cases[i].set[0]);
                g_assert_cmpstr(words, ==, cases[i].want);
        }
}

int main(int argc, char **argv)
{
        int status;

        g_test_init(&argc, &argv, NULL);
        home = g_dir_make_tmp("test-settings-XXXXXX", NULL);
        g_test_add_func("/settings/file", test_file);
        g_test_add_func("/settings/order", test_order);
        g_test_add_func("/settings/translation", test_translation);
        g_test_add_func("/settings/inherited", test_inherited);
        g_test_add_func("/settings/fingerprint", test_fingerprint);
        g_test_add_func("/settings/uv-config", test_uv_config);
        g_test_add_func("/settings/addresses", test_addresses);
        g_test_add_func("/settings/addresses-in", test_addresses_in);
        g_test_add_func("/settings/proxies", test_proxies);
        status = g_test_run();
        g_assert_true(file_remove_tree(home, NULL));
        g_free(home);
        return status;
}
