/* Measuring a directory before it is packed. */
#include "cli/measure.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"

static char *make_tree(void)
{
        static const struct {
                const char *path;
                gsize size;
        } files[] = {
                { "a", 10 },         { "b", 50 },          { "sub/c", 40 },           { "sub/deep/d", 30 },
                { "e", 20 },         { "f", 5 },           { "skip.log", 1000 },      { "data/x", 5000 },
                { "sub/own", 2000 }, { ".git/big", 9000 }, { "__pycache__/p", 9000 },
        };
        char *dir = g_dir_make_tmp("paddle-measure-XXXXXX", NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = g_build_filename(dir, files[i].path, NULL);
                g_autofree char *parent = g_path_get_dirname(path);
                g_autofree char *text = g_strnfill(files[i].size, 'x');

                g_assert_true(file_mkdirs(parent, 0755, NULL));
                g_assert_true(g_file_set_contents(path, text, -1, NULL));
        }
        return dir;
}

static void put_rules(const char *dir, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void test_tree(void)
{
        g_autofree char *dir = make_tree();
        g_autoptr(IgnoreRules) rules = ignore_new();
        g_auto(Measure) measure = { 0 };
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        put_rules(dir, ".gitignore", "*.log\n");    /* 6 bytes */
        put_rules(dir, ".paddleignore", "data/\n"); /* 6 bytes */
        put_rules(dir, "sub/.gitignore", "own\n");  /* 4 bytes */
        g_assert_true(measure_directory(dir, rules, 1000, &measure, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(measure.files, ==, 9);
        g_assert_cmpuint(measure.bytes, ==, 10 + 50 + 40 + 30 + 20 + 5 + 6 + 6 + 4);
        g_assert_false(measure.cut);
        text = measure_format(&measure);
        g_assert_cmpstr(text, ==,
                        "171 B in 9 files\n"
                        "        50 B  b\n"
                        "        40 B  sub/c\n"
                        "        30 B  sub/deep/d\n"
                        "        20 B  e\n"
                        "        10 B  a");
        g_assert_true(file_remove_tree(dir, NULL));
}

static void test_limit(void)
{
        g_autofree char *dir = make_tree();
        g_autoptr(IgnoreRules) rules = ignore_new();
        g_auto(Measure) measure = { 0 };
        g_autofree char *text = NULL;

        g_assert_true(measure_directory(dir, rules, 3, &measure, NULL));
        g_assert_true(measure.cut);
        text = measure_format(&measure);
        g_assert_true(g_str_has_prefix(text, "more than "));
        g_assert_nonnull(strstr(text, " in 3 files"));
        g_assert_true(file_remove_tree(dir, NULL));
}

static void test_absent(void)
{
        g_autoptr(IgnoreRules) rules = ignore_new();
        g_auto(Measure) measure = { 0 };
        g_autoptr(GError) error = NULL;

        g_assert_false(measure_directory("/nonexistent/x", rules, 3, &measure, &error));
        g_assert_nonnull(strstr(error->message, "cannot open directory '/nonexistent/x'"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/measure/tree", test_tree);
        g_test_add_func("/cli/measure/limit", test_limit);
        g_test_add_func("/cli/measure/absent", test_absent);
        return g_test_run();
}
