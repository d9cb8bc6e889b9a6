/* The frame: exit statuses and messages of whole command lines, without a server. Each line runs in its own
 * process. */
#include "cli/cli.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/listing.h"

#define NOBODY "--server http://127.0.0.1:1 "

static const struct {
        const char *line;
        int status;
        const char *out, *err; /* patterns of g_pattern_match, or NULL: nothing */
} cases[] = {
        { "", 2, NULL, "Usage: paddle VERB*job submit*download*" },
        { "--help", 0, "Usage: paddle VERB*", NULL },
        { "help", 0, "Usage: paddle VERB*", NULL },
        { "help job submit", 0, "Usage: paddle job submit *--base-image IMAGE*", NULL },
        { "job submit --help", 0, "Usage: paddle job submit *--trainer-gpu-num N*", NULL },
        { "help --man", 0, ".TH \"PADDLE\" 1*EXIT STATUS*", NULL },
        { "help --man token create", 0, ".TH \"PADDLE-TOKEN-CREATE\" 1*", NULL },
        { "help nosuch", 2, NULL, "paddle: there is no verb 'nosuch'*" },
        { "nosuch", 2, NULL, "paddle: there is no verb 'nosuch'\n`paddle help` lists the verbs.\n" },
        { "sbmit", 2, NULL, "*Did you mean 'paddle submit'?\n" },
        { "ps", 2, NULL, "*Did you mean 'paddle list'?\n" },
        { "kill x", 2, NULL, "*Did you mean 'paddle cancel'?\n" },
        { "describe x", 2, NULL, "*Did you mean 'paddle status'?\n" },
        { "help sbatch", 2, NULL, "*Did you mean 'paddle submit'?\n" },
        { "help run", 0, "*paddle run create *", NULL },
        { "run python x.py", 2, NULL, "paddle: 'run' has no verb 'python'\nDid you mean 'paddle submit'? *" },
        { "run p.yaml", 2, NULL, "*Did you mean 'paddle run create -f FILE'? *" },
        { "run start", 2, NULL, "*Did you mean 'paddle run create'?\n" },
        { "pipeline run p.yaml", 2, NULL, "*Did you mean 'paddle run create'?\n" },
        { "run creat", 2, NULL, "*Did you mean 'paddle run create'?\n" },
        { "run explain x", 2, NULL, "*Did you mean 'paddle run explain-cache'?\n" },
        { "run rerun x", 2, NULL, "*Did you mean 'paddle run retry'?\n" },
        { "run watch x", 2, NULL, "*Did you mean 'paddle run show --watch'?\n" },
        { "rn list", 2, NULL, "*Did you mean 'paddle run'?\n" },
        { "pipelin show x", 2, NULL, "*Did you mean 'paddle pipeline'?\n" },
        { "run create --params a=1", 2, NULL, "*Did you mean --parameter?\n" },
        { "run show x -svg y.svg", 2, NULL, "*no option '-s'\nDid you mean --svg?\n" },
        { "run show x --svg y", 2, NULL, "*'y' is not the name of a picture*" },
        { "run show x --svg=y.svg z.svg", 2, NULL,
          "*'z.svg' is one word too many\n--svg has a file already.\n" },
        { "pipeline show --svg y.svg p.yaml", 2, NULL, "*'p.yaml' is not the name of a picture*" },
        { "submit --gpu 1 -- true", 2, NULL, "*Did you mean --gpus?\n" },
        { "job", 2, NULL, "paddle: 'job' needs one more word\n  paddle job submit *" },
        { "token", 2, NULL, "*paddle token create *paddle token list *paddle token revoke *" },
        { "queue", 2, NULL, "*paddle queue list *paddle queue set *" },
        { "queue --help", 0, "  paddle queue list *", NULL },
        { "queue crate", 2, NULL,
          "paddle: there is no verb 'queue crate'\nDid you mean 'paddle queue create'?\n" },
        { "help queue", 0, "  paddle queue list *", NULL },
        { "queue show", 2, NULL, "paddle: 'paddle queue show' needs NAME\n*" },
        { "grant create ann", 2, NULL, "paddle: 'paddle grant create' needs USER QUEUE\n*" },
        { "queue set a b --max cpu=1", 2, NULL, "*does not take 'b'\n*" },
        { "queue set a", 2, NULL, "paddle: nothing to change\n*paddle queue set --help*" },
        { "queue set a --max cpu", 2, NULL, "paddle: --max: 'cpu' is not NAME=AMOUNT*" },
        { "queue set a --max cpu=-1", 2, NULL, "paddle: --max: cpu: '-1' *" },
        { "queue create a --weight many", 2, NULL, "paddle: --weight: 'many' is not a whole number\n" },
        { "queue create ''", 2, NULL, "paddle: a name is empty\n" },
        { "queue create a --location rack", 2, NULL, "paddle: --location: 'rack' is not KEY=VALUE\n" },
        { "cluster set a --credential @/nonexistent", 2, NULL, "paddle: --credential: *'/nonexistent'*" },
        { NOBODY "queue list", 4, NULL, "paddle: cannot reach*" },
        { NOBODY "queue create a --max cpu=1,gpu=8 --no-backfill", 4, NULL, "paddle: cannot reach*" },
        { NOBODY "grant delete ann a", 4, NULL, "paddle: cannot reach*" },
        { NOBODY "whoami", 4, NULL, "paddle: cannot reach*" },
        { "--server unix:/x login", 2, NULL, "paddle: the server is on a Unix socket*--server http*" },
        { "list --label a", 2, NULL, "paddle: --label: 'a' is not KEY=VALUE\n" },
        { "list --bogus", 2, NULL, "paddle: list: there is no option '--bogus'\n" },
        { "list --limt 3", 2, NULL, "*Did you mean --limit?\n" },
        { "list x", 2, NULL, "paddle: 'paddle list' does not take 'x'\n*" },
        { "list -o xml", 2, NULL,
          "paddle: -o: 'xml' is not a form of output of 'paddle list'\nForms are table, wide, json, yaml and name.\n" },
        { "pipeline lint -o wide x.yaml", 2, NULL,
          "paddle: -o: 'wide' is not a form of output of 'paddle pipeline lint'\nForms are table, json and yaml.\n" },
        { "pipeline render -o table x.yaml", 2, NULL,
          "*'paddle pipeline render'\nForms are yaml and json.\n" },
        { "run show x -o name", 2, NULL, "*'paddle run show'\nForms are table, json and yaml.\n" },
        { "list --limit 0", 2, NULL, "*--limit: '0' is not a whole number*" },
        { "status", 2, NULL, "paddle: 'paddle status' needs JOB\nUsage: paddle status [OPTIONS] JOB\n" },
        { "status a b", 2, NULL, "paddle: 'paddle status' does not take 'b'*" },
        { "logs a --tail x", 2, NULL, "*--tail: 'x' is not a whole number*" },
        { "logs a --attempt 0", 2, NULL, "*--attempt: '0'*" },
        { "events a --since -1", 2, NULL, "*--since*" },
        { "upload a", 2, NULL, "paddle: 'paddle upload' needs LOCAL... REMOTE*" },
        { "upload /nonexistent x", 2, NULL, "paddle: '/nonexistent' does not exist here\n" },
        { "completion tcsh", 2, NULL, "*it is one of bash, zsh, fish\n" },
        { "version --client", 0, "client: " PADDLE_VERSION "\n", NULL },
        { "version", 0, "client: " PADDLE_VERSION "\nserver: none is running\n", NULL },
        { "--server ftp://x list", 2, NULL, "paddle: server 'ftp://x' is neither*" },
        { NOBODY "list", 4, NULL, "paddle: cannot reach*http://127.0.0.1:1*" },
        { "list " NOBODY, 4, NULL, "paddle: cannot reach*" },
        { NOBODY "status a", 4, NULL, "paddle: cannot reach*" },
        { NOBODY "cancel a b", 4, "", "paddle: cannot reach*" },
        { NOBODY "up", 2, NULL, "*names a server, and 'up' starts the embedded one\n" },
        { "down", 0, NULL, "the embedded server was not up\n" },
        { "submit", 2, NULL, "paddle: a command is missing\n*" },
        { NOBODY "submit --no-package true", 4, NULL, "paddle: cannot reach*" },
        { "submit --package-path / true", 2, NULL,
          "paddle: '/' is the root of the file system*--no-package.\n" },
        { "submit --use-gpu true", 2, NULL, "paddle: --use-gpu=true needs --trainer-gpu-num\n*" },
        { "submit -f /nonexistent", 2, NULL, "paddle: --file: cannot open '/nonexistent'*" },
};

/* The text of -o in help says what is taken, and the refusal names the same. */
static void test_forms(void)
{
        static const char *const forms[] = { "table", "wide", "json", "yaml", "name",
                                             "csv",   "xml",  "",     "or",   "json, yaml" };
        guint n = 0;

        for (const Verb *const *verb = cli_verbs; *verb; verb++) {
                const Cli cli = { .verb = *verb };
                const Option *option = (*verb)->options;

                while (option->name && strcmp(option->name, "format") != 0)
                        option++;
                for (gsize i = 0; option->name && i < G_N_ELEMENTS(forms); i++) {
                        g_autofree char *pattern = g_strdup_printf("\\b%s\\b", forms[i]);
                        bool offered = i < 6 && g_regex_match_simple(pattern, option->help, 0, 0);
                        g_autoptr(GError) error = NULL;
                        Format format;

                        g_test_message("%s -o %s", (*verb)->name, forms[i]);
                        g_assert_true(format_parse(&cli, forms[i], &format, &error) == offered);
                        if (offered)
                                g_assert_cmpint(format, ==, i);
                        else
                                g_assert_nonnull(strstr(error->message, (*verb)->name));
                        n += offered;
                }
        }
        g_assert_cmpuint(n, >, 100);
}

static void run_line(gconstpointer data)
{
        const char *line = cases[GPOINTER_TO_SIZE(data)].line;
        g_auto(GStrv) argv = NULL;
        int argc = 0;

        g_assert_true(!*line || g_shell_parse_argv(line, &argc, &argv, NULL));
        exit(cli_run(argc, argv));
}

static bool matches(const char *pattern, const char *text)
{
        return pattern && *pattern ? g_pattern_match_simple(pattern, text) : *text == '\0';
}

static void test_line(gconstpointer data)
{
        gsize i = GPOINTER_TO_SIZE(data);
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
        g_autofree char *number = g_strdup_printf("%" G_GSIZE_FORMAT, i);
        const char *argv[] = { self, "--line", number, NULL };
        g_autofree char *out = NULL, *err = NULL;
        g_autoptr(GError) error = NULL;
        int status = 0;

        g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status, &error);
        g_assert_no_error(error);
        g_test_message("paddle %s: %d\n%s", cases[i].line, WEXITSTATUS(status), err);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, cases[i].status);
        g_assert_true(matches(cases[i].out, out));
        g_assert_true(matches(cases[i].err, err));
}

int main(int argc, char **argv)
{
        g_autofree char *home = NULL;
        int status;

        json_init();
        if (argc == 3 && strcmp(argv[1], "--line") == 0)
                run_line(GSIZE_TO_POINTER(g_ascii_strtoull(argv[2], NULL, 10)));
        g_test_init(&argc, &argv, NULL);
        home = g_dir_make_tmp("paddle-cli-XXXXXX", NULL);
        g_setenv("PADDLE_HOME", home, TRUE);
        g_setenv("PATH", "/nonexistent", TRUE); /* no paddled is started from here */
        g_unsetenv("PADDLE_SERVER");
        g_unsetenv("PADDLE_TOKEN");
        g_unsetenv("PADDLE_CONFIG");
        g_test_add_func("/cli/forms", test_forms);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/cli/line/%" G_GSIZE_FORMAT, i);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_line);
        }
        status = g_test_run();
        g_rmdir(home);
        g_free(g_steal_pointer(&home));
        return status;
}
