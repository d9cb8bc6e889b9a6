/* Options: every accepted form, every error message, and the help from the table. */
#include "base/option.h"

#include <string.h>

#include "base/err.h"

typedef struct {
        char *name;
        gint64 trainers;
        bool gpu, follow;
        gint64 limit;
        GPtrArray *env;
} Submit;

static const Option options[] = {
        { "job-name", 0, OPTION_STRING, offsetof(Submit, name), "NAME", "name of the job" },
        { "trainers", 'n', OPTION_INT, offsetof(Submit, trainers), "N", "number of trainer processes",
          .fallback = "1", .max = 10000 },
        { "use-gpu", 0, OPTION_BOOL, offsetof(Submit, gpu), NULL, "train on GPUs", .fallback = "false" },
        { "follow", 'f', OPTION_BOOL, offsetof(Submit, follow), NULL, "show the log as it grows" },
        { "time-limit", 't', OPTION_DURATION, offsetof(Submit, limit), "TIME", "stop the job after this time",
          .alias = "timeout" },
        { "env", 'e', OPTION_LIST, offsetof(Submit, env), "K=V", "variable for every process" },
        { 0 },
};

/* A line and the state after it: name|trainers|gpu|follow|limit|env,..|rest,.. */
static const struct {
        const char *line;
        const char *state;
        const char *error;
} cases[] = {
        { "", "-|1|0|0|0||", NULL },
        { "--trainers 4", "-|4|0|0|0||", NULL },
        { "--trainers=4", "-|4|0|0|0||", NULL },
        { "--trainers:4", "-|4|0|0|0||", NULL },
        { "-n 4", "-|4|0|0|0||", NULL },
        { "-n4", "-|4|0|0|0||", NULL },
        { "-n=4", "-|4|0|0|0||", NULL },
        { "--use-gpu", "-|1|1|0|0||", NULL },
        { "--use-gpu=true", "-|1|1|0|0||", NULL },
        { "--use-gpu:no --use-gpu", "-|1|1|0|0||", NULL },
        { "--use-gpu --use-gpu=false", "-|1|0|0|0||", NULL },
        { "--use-gpu false", "-|1|1|0|0||false", NULL },
        { "-fn2", "-|2|0|1|0||", NULL },
        { "-f=false", "-|1|0|0|0||", NULL },
        { "--time-limit 2h", "-|1|0|0|7200000||", NULL },
        { "--timeout 5s", "-|1|0|0|5000||", NULL },
        { "-e A=1 --env B=x=y --env:C=2", "-|1|0|0|0|A=1,B=x=y,C=2|", NULL },
        { "--job-name a --job-name=b", "b|1|0|0|0||", NULL },
        { "--job-name=", "|1|0|0|0||", NULL },
        { "--job-name=a:b", "a:b|1|0|0|0||", NULL },
        { "one --trainers 2 two", "-|2|0|0|0||one,two", NULL },
        { "one -- --trainers 2", "-|1|0|0|0||one,--trainers,2", NULL },
        { "-", "-|1|0|0|0||-", NULL },
        { "--trainers", NULL, "--trainers needs a value: --trainers N" },
        { "-n", NULL, "-n needs a value: -n N" },
        { "--trainers -1", NULL, "--trainers: '-1' is not a whole number from 0 to 10000" },
        { "--trainers=10001", NULL, "--trainers: '10001' is not a whole number from 0 to 10000" },
        { "--trainers=1000000000", NULL, "--trainers: '1000000000' is not a whole number from 0 to 10000" },
        { "-nx", NULL, "-n: 'x' is not a whole number from 0 to 10000" },
        { "--use-gpu=maybe", NULL, "--use-gpu: 'maybe' is not true or false" },
        { "--timeout never", NULL,
          "--timeout: 'never' is not a duration such as 90s, 15m, 1h30m, 1:30:00 or 2d" },
        { "--timeout 5", NULL, "--timeout: '5' has no unit\nSay 5s, 5m, 5h or 5d." },
        { "--timeo 2", NULL, "there is no option '--timeo'\nDid you mean --timeout?" },
        { "--trainer 2", NULL, "there is no option '--trainer'\nDid you mean --trainers?" },
        { "--time-out 2", NULL, "there is no option '--time-out'\nDid you mean --timeout?" },
        { "--elephants", NULL, "there is no option '--elephants'" },
        { "-x", NULL, "there is no option '-x'" },
};

static char *joined(GPtrArray *list)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; list && i < list->len; i++)
                g_string_append_printf(text, "%s%s", i ? "," : "", (char *)list->pdata[i]);
        return g_strdup(text->str);
}

static char *state_of(const Submit *s, char **rest)
{
        g_autofree char *env = joined(s->env), *words = g_strjoinv(",", rest);

        return g_strdup_printf("%s|%d|%d|%d|%d|%s|%s", s->name ? s->name : "-", (int)s->trainers, s->gpu,
                               s->follow, (int)s->limit, env, words);
}

static void test_lines(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) argv = g_strsplit(cases[i].line, " ", -1), rest = NULL;
                g_autofree char *state = NULL;
                g_autoptr(GError) error = NULL;
                Submit s = { 0 };
                bool ok;

                g_test_message("%s", cases[i].line);
                options_set_defaults(options, &s);
                ok = options_parse(options, &s, cases[i].line[0] ? (int)g_strv_length(argv) : 0, argv, false,
                                   &rest, &error);
                g_assert_cmpint(ok, ==, cases[i].state != NULL);
                g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].error);
                if (!ok)
                        g_assert_true(err_is(error, ERR_USAGE));
                state = ok ? state_of(&s, rest) : NULL;
                g_assert_cmpstr(state, ==, cases[i].state);
                options_clear(options, &s);
                g_assert_true(!s.name && !s.env && s.trainers == 0);
        }
}

/* paddle submit -n 2 python -u x.py: the first word ends the options. */
static void test_stop_at_word(void)
{
        static const struct {
                const char *line, *rest;
        } lines[] = {
                { "-n 2 python -u x.py --trainers 9", "python,-u,x.py,--trainers,9" },
                { "-n 2 -- -odd name", "-odd,name" },
                { "-n 2 python -- x", "python,--,x" },
                { "-n 2", "" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_auto(GStrv) argv = g_strsplit(lines[i].line, " ", -1), rest = NULL;
                g_autofree char *words = NULL;
                g_autoptr(GError) error = NULL;
                Submit s = { 0 };

                g_assert_true(
                        options_parse(options, &s, (int)g_strv_length(argv), argv, true, &rest, &error));
                words = g_strjoinv(",", rest);
                g_assert_cmpstr(words, ==, lines[i].rest);
                g_assert_cmpint(s.trainers, ==, 2);
                options_clear(options, &s);
        }
}

static void test_set(void)
{
        g_autoptr(GError) error = NULL, unknown = NULL;
        Submit s = { 0 };

        g_assert_true(options_set(options, &s, "time-limit", "90s", &error) && s.limit == 90000);
        g_assert_true(options_set(options, &s, "job-name", "a", &error) && strcmp(s.name, "a") == 0);
        g_assert_false(options_set(options, &s, "trainers", "many", &error));
        g_assert_cmpstr(error->message, ==, "trainers: 'many' is not a whole number from 0 to 10000");
        g_assert_true(err_is(error, ERR_INVALID));
        g_assert_false(options_set(options, &s, "treiners", "1", &unknown));
        g_assert_cmpstr(unknown->message, ==, "there is no option 'treiners'\nDid you mean trainers?");
        options_clear(options, &s);
}

/* Setting a default again replaces the value, also of lists. */
static void test_defaults_again(void)
{
        static const Option listed[] = {
                { "env", 0, OPTION_LIST, offsetof(Submit, env), "K=V", "x", .fallback = "A=1" },
                { "job-name", 0, OPTION_STRING, offsetof(Submit, name), "NAME", "x", .fallback = "n" },
                { 0 },
        };
        Submit s = { 0 };

        options_set_defaults(listed, &s);
        options_set_defaults(listed, &s);
        g_assert_cmpint(s.env->len, ==, 1);
        g_assert_cmpstr(s.name, ==, "n");
        options_clear(listed, &s);
}

/* A switch distinguishes "absent" from "no", which a bool cannot. */
static void test_switch(void)
{
        static const Option rows[] = {
                { "backfill", 'b', OPTION_SWITCH, 0, NULL, "let later jobs pass" },
                { "no-wait", 0, OPTION_BOOL, sizeof(int), NULL, "a name that begins so by itself" },
                { 0 },
        };
        static const struct {
                const char *line;
                int value; /* 9: refused */
        } lines[] = {
                { "x", 0 },
                { "--backfill", 1 },
                { "--no-backfill", -1 },
                { "--backfill=false", -1 },
                { "--backfill:on", 1 },
                { "-b", 1 },
                { "-b=0", -1 },
                { "--backfill --no-backfill", -1 },
                { "--no-wait", 0 },
                { "--no-backfill=yes", 9 },
                { "--no-fill", 9 },
                { "--backfill=maybe", 9 },
        };
        g_autofree char *help = options_help(rows, 60), *man = options_man(rows);

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_auto(GStrv) argv = g_strsplit(lines[i].line, " ", -1), rest = NULL;
                struct {
                        int backfill;
                        bool no_wait;
                } target = { 0 };
                bool ok = options_parse(rows, &target, (int)g_strv_length(argv), argv, false, &rest, NULL);

                g_test_message("%s", lines[i].line);
                g_assert_cmpint(ok ? target.backfill : 9, ==, lines[i].value);
                options_clear(rows, &target);
                g_assert_cmpint(target.backfill, ==, 0);
        }
        g_assert_nonnull(strstr(help, "-b, --[no-]backfill  let later"));
        g_assert_nonnull(strstr(man, "\\fB\\-\\-[no\\-]backfill\\fR"));
}

static void test_help(void)
{
        g_autofree char *help = options_help(options, 60), *man = options_man(options);

        g_assert_cmpstr(help, ==,
                        "      --job-name NAME    name of the job\n"
                        "  -n, --trainers N       number of trainer processes\n"
                        "                         (default 1)\n"
                        "      --use-gpu          train on GPUs\n"
                        "  -f, --follow           show the log as it grows\n"
                        "  -t, --time-limit TIME  stop the job after this time\n"
                        "  -e, --env K=V          variable for every process\n"
                        "                         (repeatable)\n");
        g_assert_nonnull(strstr(man, ".TP\n\\fB\\-n\\fR, \\fB\\-\\-trainers\\fR \\fIN\\fR\nnumber of trainer "
                                     "processes (default 1).\n"));
        g_assert_nonnull(strstr(man, "\\fB\\-\\-use\\-gpu\\fR\n"));
}

static void test_groups(void)
{
        static const Option rows[] = {
                { "state", 's', OPTION_STRING, 0, "DIR", "directory", .group = "General" },
                { "level", 0, OPTION_STRING, 8, "LEVEL", "what is logged" },
                { "cert", 0, OPTION_STRING, 16, "FILE", "certificate", .group = "Addresses and TLS" },
                { 0 }
        };
        g_autofree char *help = options_help(rows, 60), *man = options_man(rows);

        g_assert_cmpstr(help, ==,
                        "General:\n"
                        "  -s, --state DIR    directory\n"
                        "      --level LEVEL  what is logged\n"
                        "\n"
                        "Addresses and TLS:\n"
                        "      --cert FILE    certificate\n");
        g_assert_true(g_str_has_prefix(man, ".SS General\n.TP\n\\fB\\-s\\fR"));
        g_assert_nonnull(strstr(man, ".\n.SS Addresses and TLS\n.TP\n\\fB\\-\\-cert\\fR"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/option/lines", test_lines);
        g_test_add_func("/option/stop-at-word", test_stop_at_word);
        g_test_add_func("/option/set", test_set);
        g_test_add_func("/option/defaults-again", test_defaults_again);
        g_test_add_func("/option/help", test_help);
        g_test_add_func("/option/switch", test_switch);
        g_test_add_func("/option/groups", test_groups);
        return g_test_run();
}
