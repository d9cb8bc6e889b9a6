/* Texts from the table of verbs, and the look-up of a verb. */
#include "base/text-cut.h"
#include "cli/help.h"

#include <string.h>

#include "cli/table.h"

static void test_find(void)
{
        static const struct {
                const char *line, *name;
                int used;
        } cases[] = {
                { "list", "list", 1 },
                { "list -a", "list", 1 },
                { "job submit", "job submit", 2 },
                { "job submit x", "job submit", 2 },
                { "job", NULL, 0 },
                { "job list", NULL, 0 },
                { "submit job", "submit", 1 },
                { "token", NULL, 0 },
                { "LIST", NULL, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) words = g_strsplit(cases[i].line, " ", -1);
                int used = 0;
                const Verb *verb = verb_find(cli_verbs, (int)g_strv_length(words), words, &used);

                g_assert_cmpstr(verb ? verb->name : NULL, ==, cases[i].name);
                g_assert_cmpint(used, ==, cases[i].used);
        }
}

static void test_nearest(void)
{
        static const struct {
                const char *word, *name;
        } cases[] = {
                { "sbmit", "submit" },  { "lsit", "list" },         { "statsu", "status" },
                { "cancle", "cancel" }, { "log", "logs" },          { "revoke", "token revoke" },
                { "x", NULL },          { "kubernetes", NULL },     { "donwload", "download" },
                { "runs", "run list" }, { "queues", "queue list" }, { "s", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpstr(verb_nearest(cli_verbs, cases[i].word), ==, cases[i].name);
}

static void test_nearest_of_a_family(void)
{
        static const struct {
                const char *family, *word, *name;
        } cases[] = {
                { "queue", "ls", "queue list" },
                { "queue", "delte", "queue delete" },
                { "user", "rm", "user delete" },
                { "cluster", "describe", "cluster show" },
                { "token", "delete", "token revoke" },
                { "storage", "list", "storage ls" },
                { "storage", "move", "storage mv" },
                { "queue", "x", NULL },
                { "secret", "kubernetes", NULL },
                { "storage", "rename", "storage mv" },
                { "flavour", "add", "flavour create" },
                { "storage", "vision", NULL },
                { "run", "start", "run create" },
                { "run", "cancel", "run stop" },
                { "pipeline", "validate", "pipeline lint" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpstr(verb_nearest_of(cli_verbs, cases[i].family, cases[i].word), ==,
                                cases[i].name);
}

static void check_widths(const char *text, int width)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line; line++)
                g_assert_cmpint(text_columns(*line), <=, width);
}

/* The overview has a verb with its summary, or its second word in the line of its family. */
static void check_overview(const char *overview, const Verb *verb)
{
        const char *second = strchr(verb->name, ' ');
        g_autofree char *first = g_strdup_printf("\n  %.*s ", (int)strcspn(verb->name, " "), verb->name);
        const char *line = strstr(overview, first);
        g_autofree char *rest = line ? g_strndup(line + 1, strcspn(line + 1, "\n")) : NULL;

        g_assert_nonnull(rest);
        if (strstr(overview, verb->summary))
                return;
        g_assert_nonnull(second);
        g_assert_nonnull(strstr(rest, second));
}

/* Every verb is complete, and every row of every table is in its help and its page. */
static void test_every_verb(void)
{
        g_autofree char *overview = help_overview(cli_verbs, cli_groups);

        for (const Verb *const *at = cli_verbs; *at; at++) {
                const Verb *verb = *at;
                g_autofree char *help = help_verb(verb, 80);
                g_autofree char *page = help_man_verb(verb);

                g_test_message("%s", verb->name);
                g_assert_nonnull(verb->run);
                g_assert_true(g_str_has_prefix(page, ".TH \"PADDLE-"));
                check_overview(overview, verb);
                g_assert_false(g_str_has_suffix(verb->summary, "."));
                g_assert_cmpint(verb->size, >=, sizeof(Common));
                for (const Option *option = verb->options; option->name; option++) {
                        g_autofree char *name = g_strconcat(option->type == OPTION_SWITCH ? "--[no-]" : "--",
                                                            option->name, NULL);

                        g_assert_cmpint(option->offset, <, verb->size);
                        if (option->help)
                                g_assert_nonnull(strstr(help, name));
                }
                if (verb->about) {
                        g_autofree char *about = text_wrap(verb->about, 0, 80);

                        check_widths(about, 80);
                }
        }
}

static void test_family(void)
{
        g_autofree char *token = help_family(cli_verbs, "token"), *none = help_family(cli_verbs, "list");

        g_assert_nonnull(strstr(token, "paddle token create "));
        g_assert_null(strstr(token, "queue"));
        g_assert_null(none);
}

static void test_wrap(void)
{
        g_autofree char *text = text_wrap("one two three four\n\nfive", 2, 11);

        g_assert_cmpstr(text, ==, "  one two\n  three\n  four\n\n  five\n");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/help/find", test_find);
        g_test_add_func("/cli/help/nearest", test_nearest);
        g_test_add_func("/cli/help/nearest-of-a-family", test_nearest_of_a_family);
        g_test_add_func("/cli/help/every-verb", test_every_verb);
        g_test_add_func("/cli/help/family", test_family);
        g_test_add_func("/cli/help/wrap", test_wrap);
        return g_test_run();
}
