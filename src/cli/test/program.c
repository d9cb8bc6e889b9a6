/* Programs of commands among the files of a package. */
#include "cli/program.h"

#include <string.h>

#include "base/err.h"
#include "cli/measure.h"

static GHashTable *make_paths(void)
{
        static const struct {
                const char *path;
                Found found;
        } rows[] = {
                { "train.py", FOUND_FILE },        { "run.sh", FOUND_PROGRAM },
                { "start.sh", FOUND_FILE },        { "current", FOUND_LINK },
                { "sub", FOUND_DIRECTORY },        { "sub/eval.py", FOUND_FILE },
                { "app", FOUND_DIRECTORY },        { "app/__main__.py", FOUND_FILE },
                { "app/__init__.py", FOUND_FILE }, { "app/tool.py", FOUND_FILE },
                { "app/lib", FOUND_DIRECTORY },    { "app/lib/__init__.py", FOUND_FILE },
                { "loose", FOUND_DIRECTORY },      { "loose/x.py", FOUND_FILE },
        };
        GHashTable *paths = g_hash_table_new(g_str_hash, g_str_equal);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                g_hash_table_insert(paths, (gpointer)rows[i].path, GINT_TO_POINTER(rows[i].found));
        return paths;
}

static const struct {
        const char *command; /* JSON */
        ProgramFault fault;
        const char *path, *near;
} cases[] = {
        /* interpreters */
        { "\"pyhton train.py\"", PROGRAM_MISTYPED, "pyhton", "python" },
        { "[\"pyton3\",\"train.py\"]", PROGRAM_MISTYPED, "pyton3", "python3" },
        { "\"no-such-ipython x\"", PROGRAM_FINE, NULL, NULL },
        { "\"ipython train.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"pypy train.py\"", PROGRAM_FINE, NULL, NULL },

        /* it exists */
        { "\"python train.py\"", PROGRAM_FINE, NULL, NULL },
        { "[\"python3.11\",\"-u\",\"sub/eval.py\",\"--x\"]", PROGRAM_FINE, NULL, NULL },
        { "\"/usr/bin/python ./train.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"python sub/../train.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"python app\"", PROGRAM_FINE, NULL, NULL },
        { "[\"sh\",\"start.sh\"]", PROGRAM_FINE, NULL, NULL },
        { "\"./run.sh; python nosuch.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"python current/x.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"python current\"", PROGRAM_FINE, NULL, NULL },
        /* it does not */
        { "\"python trian.py\"", PROGRAM_MISSING, "trian.py", "train.py" },
        { "\"python eval.py\"", PROGRAM_MISSING, "eval.py", "sub/eval.py" },
        { "\"python -W ignore trian.py\"", PROGRAM_MISSING, "trian.py", "train.py" },
        { "[\"python\",\"-uWignore\",\"-X\",\"dev\",\"trian.py\"]", PROGRAM_MISSING, "trian.py", "train.py" },
        { "\"python trian.py && echo done\"", PROGRAM_MISSING, "trian.py", "train.py" },
        { "\"bash -o pipefail go.sh\"", PROGRAM_MISSING, "go.sh", NULL },
        { "\"bash -e nothing-like-it.sh\"", PROGRAM_MISSING, "nothing-like-it.sh", NULL },
        { "[\"./rum.sh\"]", PROGRAM_MISSING, "rum.sh", "run.sh" },
        { "\"python ../train.py\"", PROGRAM_OUTSIDE, "../train.py", NULL },
        { "[\"./start.sh\",\"a\"]", PROGRAM_NOT_EXECUTABLE, "start.sh", NULL },
        { "[\"./train.py\"]", PROGRAM_NOT_EXECUTABLE, "train.py", NULL },
        { "\"python sub\"", PROGRAM_NO_DIRECTORY, "sub", NULL },
        { "[\"./app\"]", PROGRAM_NO_DIRECTORY, "app", NULL },
        { "\"train.py\"", PROGRAM_ALONE, "train.py", NULL },
        { "[\"trian.py\",\"--x\"]", PROGRAM_MISSING, "trian.py", "train.py" },
        /* modules */
        { "[\"python\",\"-m\",\"app\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-mapp.tool\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-um\",\"train\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-m\",\"app.toll\"]", PROGRAM_NO_MODULE, "app.toll", "app.tool" },
        { "[\"python\",\"-m\",\"app.lib\"]", PROGRAM_NO_MODULE, "app.lib", "app.tool" },
        { "[\"python\",\"-m\",\"train.py\"]", PROGRAM_FILE_AS_MODULE, "train.py", "train" },
        { "[\"python\",\"-m\",\"pip\",\"list\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-m\",\"loose.y\"]", PROGRAM_FINE, NULL, NULL }, /* an installed `loose` wins */
        /* nothing is certain */
        { "[\"python\",\"-c\",\"print(1)\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-uc\",\"print(1)\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"sh\",\"-c\",\"x\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"sh\",\"-ec\",\"x\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"-W\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"true\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"/no/such/program\"]", PROGRAM_FINE, NULL, NULL },
        { "[\"python\",\"/abs/train.py\"]", PROGRAM_FINE, NULL, NULL },
        { "\"python $SCRIPT\"", PROGRAM_FINE, NULL, NULL },
        { "\"cd sub && python eval.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"python3-config nosuch.py\"", PROGRAM_FINE, NULL, NULL },
        { "\"unbalanced ' quote\"", PROGRAM_FINE, NULL, NULL },
        { "[]", PROGRAM_FINE, NULL, NULL },
        { "7", PROGRAM_FINE, NULL, NULL },
};

static void test_cases(void)
{
        g_autoptr(GHashTable) paths = make_paths();

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) command = json_parse(cases[i].command, strlen(cases[i].command), NULL);
                g_auto(ProgramVerdict) found = program_judge(command, paths);

                g_test_message("%s", cases[i].command);
                g_assert_cmpint(found.fault, ==, cases[i].fault);
                g_assert_cmpstr(found.path, ==, cases[i].path);
                g_assert_cmpstr(found.near, ==, cases[i].near);
        }
}

static void test_words(void)
{
        static const struct {
                const char *command, *says;
        } rows[] = {
                { "\"python trian.py\"", "'trian.py' is not in the package, so the job would fail\n"
                                         "Did you mean 'train.py'? --force submits it anyway." },
                { "\"./train.py\"",
                  "'./train.py' is not executable, so the job would fail\n"
                  "Make it so (chmod +x train.py), or name its interpreter: python train.py. "
                  "--force submits it anyway." },
                { "\"train.py\"",
                  "'train.py' without a directory is searched on PATH, not in the package, so the job would "
                  "fail\nWrite python train.py. --force submits it anyway." },
                { "\"python train.py\"", NULL },
        };
        g_autoptr(GHashTable) paths = make_paths();

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) command = json_parse(rows[i].command, strlen(rows[i].command), NULL);
                g_autoptr(GError) error = NULL;

                g_assert_cmpint(program_check(command, paths, "/nonexistent", &error), ==, !rows[i].says);
                g_assert_cmpstr(error ? error->message : NULL, ==, rows[i].says);
                g_assert_true(!error || err_is(error, ERR_USAGE));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/program/cases", test_cases);
        g_test_add_func("/program/words", test_words);
        return g_test_run();
}
