/* Which directories of the server's search paths others get. */
#include "runtime/local/search-path.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
        const char *name;
        mode_t mode, above; /* of the directory, and of the one it is in */
        bool kept;
} cases[] = {
        { "for all", 0755, 0755, true },
        { "to be entered alone", 0711, 0755, true },
        { "its owner's", 0700, 0755, false },
        { "in a closed one", 0755, 0700, false },
        { "all may write", 0777, 0755, false },
        { "a group may write", 0775, 0755, false },
        { "with a sticky bit", 01777, 0755, false },
};

static void test_directories(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *top = g_dir_make_tmp("paddle-XXXXXX", NULL);
                g_autofree char *above = g_build_filename(top, "above", NULL);
                g_autofree char *path = g_build_filename(above, "bin", NULL);
                g_autofree char *entry = g_strconcat("PATH=/nowhere:bin:", path, "::/usr/bin", NULL);
                const char *const given[] = { "LANG=C", entry, NULL };
                g_autofree char *wanted = g_strconcat("PATH=", cases[i].kept ? path : "",
                                                      cases[i].kept ? ":" : "", "/usr/bin", NULL);

                g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
                g_assert_cmpint(chmod(top, 0755), ==, 0);
                g_assert_cmpint(chmod(path, cases[i].mode), ==, 0);
                g_assert_cmpint(chmod(above, cases[i].above), ==, 0);

                g_auto(GStrv) got = search_path_for_others((char *const *)given);

                g_test_message("%s", cases[i].name);
                g_assert_cmpuint(g_strv_length(got), ==, 2);
                g_assert_cmpstr(got[0], ==, "LANG=C");
                g_assert_cmpstr(got[1], ==, wanted);
                g_assert_cmpint(chmod(above, 0755), ==, 0);
                g_assert_cmpint(g_rmdir(path) + g_rmdir(above) + g_rmdir(top), ==, 0);
        }
}

/* A program needs some PATH; libraries are found without theirs. */
static void test_nothing_left(void)
{
        const char *const given[] = { "PATH=/nowhere", "LD_LIBRARY_PATH=/nowhere:", NULL };
        g_auto(GStrv) got = search_path_for_others((char *const *)given);

        g_assert_cmpuint(g_strv_length(got), ==, 1);
        g_assert_cmpstr(got[0], ==, "PATH=/usr/local/bin:/usr/bin:/bin");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/search-path/directories", test_directories);
        g_test_add_func("/search-path/nothing-left", test_nothing_left);
        return g_test_run();
}
