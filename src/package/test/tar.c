/* tar itself can read the archives, and equal trees give equal bytes. */
#include "package/tar.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char *scratch(void)
{
        g_autoptr(GError) error = NULL;
        char *dir = g_dir_make_tmp("tar-XXXXXX", &error);

        g_assert_no_error(error);
        return dir;
}

static void put(const char *dir, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_autofree char *parent = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(parent, 0755), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void make_tree(const char *dir)
{
        g_autofree char *program = g_build_filename(dir, "run.sh", NULL);
        g_autofree char *link = g_build_filename(dir, "link", NULL);
        g_autofree char *empty = g_build_filename(dir, "empty", NULL);
        g_autofree char *deep = g_strnfill(200, 'd');
        g_autofree char *path = g_strdup_printf("sub/%s/ünicode", deep);

        put(dir, "run.sh", "#!/bin/sh\n");
        put(dir, path, "x");
        g_assert_cmpint(chmod(program, 0755), ==, 0);
        g_assert_cmpint(symlink("run.sh", link), ==, 0);
        g_assert_cmpint(mkdir(empty, 0755), ==, 0);
}

static char *write_tar(const char *tree, bool gzip)
{
        static const TarText texts[] = { { "requirements.txt", "six\n" }, { NULL } };
        char *path = g_strdup_printf("%s.tar", tree);
        g_autoptr(GError) error = NULL;
        struct stat st;

        g_assert_true(tar_write(path, tree, "work", texts, gzip, &error));
        g_assert_no_error(error);
        g_assert_cmpint(stat(path, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, 0600);
        return path;
}

static void unpack(const char *tar, const char *dir)
{
        const char *argv[] = { "tar", "-C", dir, "-xf", tar, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                                   &status, NULL));
        g_assert_cmpint(status, ==, 0);
}

static void assert_file(const char *dir, const char *name, const char *text, mode_t mode)
{
        g_autofree char *path = g_build_filename(dir, name, NULL), *found = NULL;
        struct stat st;

        g_assert_true(g_file_get_contents(path, &found, NULL, NULL));
        g_assert_cmpstr(found, ==, text);
        g_assert_cmpint(stat(path, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, mode);
}

static void test_round(gconstpointer gzip)
{
        g_autofree char *tree = scratch(), *other = scratch(), *out = scratch();
        g_autofree char *tar = NULL, *tar2 = NULL, *bytes = NULL, *bytes2 = NULL, *link = NULL,
                        *target = NULL;
        g_autofree char *empty = g_build_filename(out, "work/empty", NULL);
        g_autofree char *deep = g_strnfill(200, 'd');
        g_autofree char *path = g_strdup_printf("work/sub/%s/ünicode", deep);
        gsize len, len2;

        make_tree(tree);
        make_tree(other);
        tar = write_tar(tree, gzip != NULL);
        tar2 = write_tar(other, gzip != NULL);
        unpack(tar, out);
        assert_file(out, "work/run.sh", "#!/bin/sh\n", 0755);
        assert_file(out, path, "x", 0644);
        assert_file(out, "requirements.txt", "six\n", 0644);
        link = g_build_filename(out, "work/link", NULL);
        target = g_file_read_link(link, NULL);
        g_assert_cmpstr(target, ==, "run.sh");
        g_assert_true(g_file_test(empty, G_FILE_TEST_IS_DIR));
        g_assert_true(g_file_get_contents(tar, &bytes, &len, NULL));
        g_assert_true(g_file_get_contents(tar2, &bytes2, &len2, NULL));
        g_assert_cmpmem(bytes, len, bytes2, len2);
        g_assert_cmpint(unlink(tar), ==, 0);
        g_assert_cmpint(unlink(tar2), ==, 0);
        g_assert_true(file_remove_tree(tree, NULL));
        g_assert_true(file_remove_tree(other, NULL));
        g_assert_true(file_remove_tree(out, NULL));
}

static void test_refused(void)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *dir = scratch(), *path = g_build_filename(dir, "a.tar", NULL);

        g_assert_false(tar_write("/no/such/place.tar", NULL, NULL, NULL, false, &error));
        g_assert_nonnull(strstr(error->message, "'/no/such/place.tar'"));
        g_clear_error(&error);
        g_assert_false(tar_write(path, "/no/such/tree", "work", NULL, false, &error));
        g_assert_nonnull(strstr(error->message, "'/no/such/tree'"));
        g_assert_true(file_remove_tree(dir, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_data_func("/tar/round", NULL, test_round);
        g_test_add_data_func("/tar/gzip", "gzip", test_round);
        g_test_add_func("/tar/refused", test_refused);
        return g_test_run();
}
