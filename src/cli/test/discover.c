/* The choice of the server (option, variable, file, embedded) and of the token. */
#include "cli/discover.h"

#include <glib/gstdio.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/embedded.h"

static char *home;

typedef struct {
        const char *option, *token_option, *variable, *token_variable, *file;
        const char *url, *token, *source; /* url NULL: an error */
} Case;

static const Case cases[] = {
        { "http://o:1", NULL, "http://v:1", NULL, "paddleServer: http://f:1\n", "http://o:1", NULL,
          "--server" },
        { "http://o:1/", NULL, NULL, NULL, NULL, "http://o:1", NULL, "--server" },
        { "http://o:1", NULL, NULL, NULL, "token: F\n", "http://o:1", "F", "--server" },
        { "http://o:1", "O", NULL, "V", "token: F\n", "http://o:1", "O", "--server" },
        { NULL, NULL, "http://v:1", "V", "token: F\n", "http://v:1", "V", "PADDLE_SERVER" },
        { NULL, NULL, "", "", "paddleServer: http://f:1\ntoken: F\n", "http://f:1", "F", "configuration" },
        { NULL, NULL, NULL, NULL, NULL, "embedded", NULL, "embedded" },
        { NULL, NULL, NULL, NULL, "token: F\n", "embedded", "F", "embedded" },
        { NULL, NULL, NULL, NULL, "paddleServer: nonsense\n", NULL, NULL, NULL },
        { "unix:/x.sock", NULL, NULL, NULL, "paddleServer: nonsense\n", "unix:/x.sock", NULL, "--server" },
        { "http://o:1", "O", NULL, NULL, "paddleServer: nonsense\n", "http://o:1", "O", "--server" },
};

static void set_variable(const char *name, const char *value)
{
        if (value)
                g_setenv(name, value, TRUE);
        else
                g_unsetenv(name);
}

static void check(const Case *c)
{
        g_autofree char *path = g_build_filename(home, "config", NULL);
        g_autofree char *embedded = embedded_url();
        g_autoptr(GError) error = NULL;
        g_autoptr(Discovery) found = NULL;

        set_variable("PADDLE_SERVER", c->variable);
        set_variable("PADDLE_TOKEN", c->token_variable);
        g_unlink(path);
        if (c->file)
                g_assert_true(g_file_set_contents(path, c->file, -1, NULL));
        found = discover(c->option, c->token_option, DISCOVER_ONLY, &error);
        if (!c->url) {
                g_assert_null(found);
                g_assert_cmpint(err_row(error)->exit, ==, 1);
                return;
        }
        g_assert_no_error(error);
        g_assert_cmpstr(found->url, ==, strcmp(c->url, "embedded") == 0 ? embedded : c->url);
        g_assert_cmpstr(found->token, ==, c->token);
        g_assert_cmpstr(found->source, ==, c->source);
}

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                check(&cases[i]);
}

static void test_moved_config(void)
{
        g_autofree char *other = g_build_filename(home, "other", NULL);
        g_autofree char *path = NULL;

        g_setenv("PADDLE_CONFIG", other, TRUE);
        path = client_config_path();
        g_assert_cmpstr(path, ==, other);
        g_unsetenv("PADDLE_CONFIG");
}

/* A path that is too long for a Unix socket has its own error, not "not found". */
static void test_long_home(void)
{
        g_autofree char *name = g_strnfill(120, 'x');
        g_autofree char *deep = g_build_filename(home, name, NULL);
        g_autoptr(GError) error = NULL;

        g_setenv("PADDLE_HOME", deep, TRUE);
        g_assert_false(embedded_ensure(NULL, NULL, &error));
        g_assert_nonnull(strstr(error->message, "PADDLE_HOME to a shorter directory"));
        g_assert_cmpint(embedded_pid(), ==, 0);
        g_setenv("PADDLE_HOME", home, TRUE);
}

/* If HOME is empty or unset, the account's home is used, not "/". */
static void test_no_home(void)
{
        static const char *const values[] = { "", NULL };
        const struct passwd *account = getpwuid(geteuid());
        g_autofree char *before = g_strdup(g_getenv("HOME"));
        g_autofree char *wanted = g_build_filename(account ? account->pw_dir : "/", ".paddle", NULL);

        g_unsetenv("PADDLE_HOME");
        for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
                g_autofree char *found = NULL;

                set_variable("HOME", values[i]);
                found = embedded_home();
                g_assert_cmpstr(found, ==, wanted);
        }
        set_variable("HOME", before);
        g_setenv("PADDLE_HOME", home, TRUE);
}

int main(int argc, char **argv)
{
        g_autofree char *config = NULL;
        int status;

        json_init();
        g_test_init(&argc, &argv, NULL);
        home = g_dir_make_tmp("paddle-discover-XXXXXX", NULL);
        config = g_build_filename(home, "config", NULL);
        g_setenv("PADDLE_HOME", home, TRUE);
        g_unsetenv("PADDLE_CONFIG");
        g_test_add_func("/cli/discover/cases", test_cases);
        g_test_add_func("/cli/discover/moved-config", test_moved_config);
        g_test_add_func("/cli/discover/long-home", test_long_home);
        g_test_add_func("/cli/discover/no-home", test_no_home);
        status = g_test_run();
        g_unlink(config);
        g_rmdir(home);
        g_free(home);
        return status;
}
