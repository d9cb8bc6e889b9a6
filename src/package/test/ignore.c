/* Ignore rules: the cases of gitignore(5), also run through git itself. */
#include "package/ignore.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
        const char *rules, *path;
        bool is_dir, out;
} Case;

static const Case cases[] = {
        { "*.pyc", "a.pyc", false, true },
        { "*.pyc", "x/y/a.pyc", false, true },
        { "*.pyc", "a.py", false, false },
        { "/a", "a", false, true },
        { "/a", "b/a", false, false },
        { "a/b", "a/b", false, true },
        { "a/b", "x/a/b", false, false },
        { "data/", "data", true, true },
        { "data/", "data", false, false },
        { "data/", "x/data", true, true },
        { "data/", "data/file", false, true },
        { "**/a", "a", false, true },
        { "**/a", "x/y/a", false, true },
        { "a/**", "a", true, false },
        { "a/**", "a/b", false, true },
        { "a/**", "a/b/c", false, true },
        { "a/**/b", "a/b", false, true },
        { "a/**/b", "a/x/y/b", false, true },
        { "a/**/b", "a/x/y/c", false, false },
        { "a/**/b/**/c", "a/b/x/b/c", false, true },
        { "a**b", "axxb", false, true },
        { "a**b", "ax/b", false, false },
        { "/*.c", "a.c", false, true },
        { "/*.c", "x/a.c", false, false },
        { "*.log\n!keep.log", "keep.log", false, false },
        { "*.log\n!keep.log", "other.log", false, true },
        { "!keep.log\n*.log", "keep.log", false, true },
        { "out/\n!out/keep", "out/keep", false, true },
        { "out/*\n!out/keep", "out/keep", false, false },
        { "# comment", "# comment", false, false },
        { "\\#file", "#file", false, true },
        { "\\!file", "!file", false, true },
        { "file   ", "file", false, true },
        { "file\\ ", "file ", false, true },
        { "file\\ ", "file", false, false },
        { "file\r\nb", "file", false, true },
        { "a?c", "abc", false, true },
        { "a?c", "a/c", false, false },
        { "[a-c]x", "bx", false, true },
        { "[a-c]x", "dx", false, false },
        { "[!a-c]x", "dx", false, true },
        { "[^a-c]x", "ax", false, false },
        { "[]-]x", "]x", false, true },
        { "[]-]x", "-x", false, true },
        { "[[:digit:]]x", "7x", false, true },
        { "[[:digit:]]x", "ax", false, false },
        { "[ab", "[ab", false, false },
        { "a\\*b", "a*b", false, true },
        { "a\\*b", "axb", false, false },
        { "foo\\", "foo", false, false },
        { "*", "anything", false, true },
        { "**", "a/b", false, true },
        { "*/b", "a/b", false, true },
        { "*/b", "x/a/b", false, false },
        { "*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false },
        { "\n\n  \n/", "x", false, false },
        { "dir/sub/", "dir/sub/file", false, true },
        { "\xef\xbb\xbf*.o", "a.o", false, true },
        { "/**", "a/b", false, true },
        { "a/**/**/b", "a/b", false, true },
};

static void test_table(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(IgnoreRules) rules = ignore_new();

                ignore_add(rules, "", cases[i].rules);
                if (ignore_matches(rules, cases[i].path, cases[i].is_dir) != cases[i].out)
                        g_error("rules '%s': '%s' should be %s", cases[i].rules, cases[i].path,
                                cases[i].out ? "out" : "in");
        }
}

/* Only ours: git does not have them. */
static void test_defaults(void)
{
        static const Case ours[] = {
                { "", ".tox", true, true },
                { "", "a/node_modules", true, true },
                { "", "a/node_modules/x.js", false, true },
                { "", "node_modules", false, false }, /* a file */
                { "", ".DS_Store", false, true },
                { "", "a/.ipynb_checkpoints", true, true },
                { "!node_modules/", "node_modules", true, false },
                { "!node_modules", "a/node_modules/x.js", false, false },
                { "!/a/.vscode/", "a/.vscode", true, false },
                { "!/a/.vscode/", ".vscode", true, true },
                { "!__pycache__\n!.git", ".git", true, true },
                { "", "venv", true, false }, /* the walk finds the marker file */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(ours); i++) {
                g_autoptr(IgnoreRules) rules = ignore_new();

                ignore_add(rules, "", ours[i].rules);
                if (ignore_matches(rules, ours[i].path, ours[i].is_dir) != ours[i].out)
                        g_error("rules '%s': '%s' should be %s", ours[i].rules, ours[i].path,
                                ours[i].out ? "out" : "in");
        }
}

static void test_taken_back(void)
{
        g_autoptr(IgnoreRules) rules = ignore_new();

        g_assert_false(ignore_takes_back(rules, "venv", true));
        ignore_add(rules, "", "!venv/\nother/\n");
        g_assert_true(ignore_takes_back(rules, "venv", true));
        g_assert_true(ignore_takes_back(rules, "a/venv", true));
        g_assert_false(ignore_takes_back(rules, "other", true));
        ignore_add(rules, "a", "venv\n");
        g_assert_false(ignore_takes_back(rules, "a/venv", true));
}

/* The answer of git: exit status 0 if the path is ignored. */
static bool git_ignores(const char *dir, const char *path)
{
        const char *argv[] = { "git", "-C", dir, "check-ignore", "-q", "--no-index", "--", path, NULL };
        int status = -1;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL,
                                   G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL,
                                   &status, NULL));
        return g_spawn_check_wait_status(status, NULL);
}

static void remove_tree(const char *dir)
{
        const char *argv[] = { "rm", "-rf", dir, NULL };

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                                   NULL, NULL));
}

static void test_git(void)
{
        g_autofree char *git = g_find_program_in_path("git");
        g_autofree char *dir = g_dir_make_tmp("fs-ignore-XXXXXX", NULL);
        const char *init[] = { "git", "init", "-q", dir, NULL };
        g_autofree char *file = g_build_filename(dir, ".gitignore", NULL);

        if (!git) {
                remove_tree(dir);
                g_test_skip("git is not installed");
                return;
        }
        g_assert_true(g_spawn_sync(NULL, (char **)init, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                                   NULL, NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_build_filename(dir, cases[i].path, NULL);

                g_assert_true(g_file_set_contents(file, cases[i].rules, -1, NULL));
                if (cases[i].is_dir) /* git checks the type */
                        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
                if (git_ignores(dir, cases[i].path) != cases[i].out)
                        g_error("git says otherwise: rules '%s', path '%s'", cases[i].rules, cases[i].path);
                if (cases[i].is_dir)
                        g_assert_cmpint(g_rmdir(path), ==, 0);
        }
        remove_tree(dir);
}

static void test_nested(void)
{
        g_autoptr(IgnoreRules) rules = ignore_new();
        guint outer;

        ignore_add(rules, "", "*.bin\n");
        outer = ignore_count(rules);
        ignore_add(rules, "keep", "!*.bin\n/top\n");
        g_assert_true(ignore_matches(rules, "a.bin", false));
        g_assert_false(ignore_matches(rules, "keep/a.bin", false));
        g_assert_false(ignore_matches(rules, "keep/x/a.bin", false));
        g_assert_true(ignore_matches(rules, "keeper/a.bin", false));
        g_assert_true(ignore_matches(rules, "keep/top", false));
        g_assert_false(ignore_matches(rules, "keep/x/top", false));
        g_assert_false(ignore_matches(rules, "top", false));
        ignore_truncate(rules, outer);
        g_assert_true(ignore_matches(rules, "keep/a.bin", false));
}

static void test_always_out(void)
{
        g_autoptr(IgnoreRules) rules = ignore_new();

        ignore_add(rules, "", "!.git\n!__pycache__\n");
        g_assert_true(ignore_matches(rules, ".git", true));
        g_assert_true(ignore_matches(rules, "x/__pycache__/a.pyc", false));
        g_assert_false(ignore_matches(rules, ".gitignore", false));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/package/ignore/table", test_table);
        g_test_add_func("/package/ignore/defaults", test_defaults);
        g_test_add_func("/package/ignore/taken-back", test_taken_back);
        g_test_add_func("/package/ignore/git", test_git);
        g_test_add_func("/package/ignore/nested", test_nested);
        g_test_add_func("/package/ignore/always-out", test_always_out);
        return g_test_run();
}
