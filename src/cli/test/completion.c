/* Completion scripts: the shells check their syntax, and bash their results. */
#include "cli/completion.h"

#include <string.h>

#include "cli/cli.h"

static char *bash(const char *script, const char *then)
{
        g_autofree char *text = g_strconcat(script, "\n", then, NULL);
        const char *argv[] = { "bash", "--norc", "-c", text, NULL };
        g_autoptr(GError) error = NULL;
        char *out = NULL;
        int status = 0;

        g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, &status, &error);
        g_assert_no_error(error);
        g_assert_cmpint(status, ==, 0);
        return out;
}

static void test_bash(void)
{
        static const struct {
                const char *words; /* the line so far; the last is completed */
                const char *out;
        } cases[] = {
                { "sub", "submit" },
                { "job ''", "submit" },
                { "token r", "revoke" },
                { "cancel --ser", "--server=" },
                { "submit --no-pa", "--no-package" },
                { "completion z", "zsh" },
                { "job submit --entry", "--entry-point=" },
                { "train --pser", "--pservers=" },
                { "queue cr", "create" },
                { "queue set --max-r", "--max-running-per-user=" },
                { "queue set --no-b", "--no-backfill" },
        };
        g_autofree char *script = completion_bash(cli_verbs);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *then = g_strdup_printf(
                        "compopt() { :; }\nCOMP_WORDS=(paddle %s)\n"
                        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_paddle\necho \"${COMPREPLY[*]}\"",
                        cases[i].words);
                g_autofree char *out = bash(script, then);

                g_assert_cmpstr(g_strchomp(out), ==, cases[i].out);
        }
}

/* A quote in a help text must not end the quotes around it. */
static void test_quotes(void)
{
        g_autofree char *fish = completion_fish(cli_verbs);
        g_autofree char *zsh = completion_zsh(cli_verbs);
        g_auto(GStrv) lines = g_strsplit(fish, "\n", -1);
        g_autofree char *out = bash("", "true");

        for (char **line = lines; *line; line++) {
                int quotes = 0;

                for (const char *c = *line; *c; c++)
                        quotes += *c == '\'' && (c == *line || c[-1] != '\\');
                g_assert_cmpint(quotes % 2, ==, 0);
        }
        g_assert_nonnull(strstr(zsh, "#compdef paddle"));
        g_assert_nonnull(strstr(zsh, "'--job-name=["));
        g_assert_cmpstr(out, ==, "");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/completion/bash", test_bash);
        g_test_add_func("/cli/completion/quotes", test_quotes);
        return g_test_run();
}
