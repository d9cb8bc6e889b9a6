/* A name that is given again is another user (doc/guide/people.md, decision 12), who has no home of the
 * former one's. */
#include "runtime/kubernetes/homes.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/file.h"

static char *new_dir(void)
{
        char *dir = g_dir_make_tmp("homes-XXXXXX", NULL);

        g_assert_nonnull(dir);
        return dir;
}

static void assert_free(const char *dir, const char *user, gint64 seq)
{
        g_autofree char *problem = homes_problem(dir, user, seq);

        g_assert_cmpstr(problem, ==, NULL);
}

static void assert_others(const char *dir, const char *user, gint64 seq, const char *word)
{
        g_autofree char *problem = homes_problem(dir, user, seq);

        g_assert_nonnull(problem);
        g_assert_nonnull(strstr(problem, word));
}

static void test_owners(void)
{
        g_autofree char *dir = new_dir();
        g_autofree char *path = g_build_filename(dir, "homes/ann.owner", NULL);

        assert_free(dir, "ann", 7);
        assert_free(dir, "ann", 7);
        assert_free(dir, "bob", 8);
        assert_others(dir, "ann", 9, "former user");
        assert_others(dir, "ann", 9, path);
        assert_free(dir, "ann", 7);
        g_assert_cmpint(g_unlink(path), ==, 0); /* as the sentence says */
        assert_free(dir, "ann", 9);
        assert_others(dir, "ann", 7, "former user");
        g_assert_true(file_remove_tree(dir, NULL));
}

/* Names are no paths, and one that is not known takes nothing. */
static void test_names(void)
{
        static const char *const names[] = { "..", ".", "a/../b", "a%2Fb", "a/b", "ann.owner" };
        g_autofree char *dir = new_dir();

        assert_free(dir, "ann", 0);
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                assert_free(dir, names[i], (gint64)i + 1);
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                assert_others(dir, names[i], 100, "former user");
        assert_free(dir, "ann", 50);
        g_assert_true(file_remove_tree(dir, NULL));
}

/* What cannot be read gives nothing away. */
static void test_damage(void)
{
        g_autofree char *dir = new_dir();
        g_autofree char *path = g_build_filename(dir, "homes/ann.owner", NULL);

        assert_free(dir, "ann", 7);
        g_assert_true(g_file_set_contents(path, "x", 1, NULL));
        assert_others(dir, "ann", 7, path);
        g_assert_true(file_remove_tree(dir, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/homes/owners", test_owners);
        g_test_add_func("/homes/names", test_names);
        g_test_add_func("/homes/damage", test_damage);
        return g_test_run();
}
