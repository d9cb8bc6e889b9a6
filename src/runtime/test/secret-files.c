/* Files with secrets: in memory, whole, of their user, and gone with their attempt. */
#include "runtime/local/secret-files.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"

static const TaskSecret secrets[] = {
        { .variable = "V", .value = "variable", .len = 8 },
        { .file = "key.json", .value = "{}\n", .len = 3 },
        { .file = "bytes", .value = "a\0b", .len = 3 },
};

typedef struct {
        char *state;
        SecretFiles *files;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
        f->state = g_dir_make_tmp("secret-files-XXXXXX", NULL);
        f->files = secret_files_new(f->state, "/dev/shm");
}

static char *root_of(const Fixture *f)
{
        g_autofree char *link = g_build_filename(f->state, "secret-files", NULL);

        return g_file_read_link(link, NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
        g_autofree char *root = root_of(f);

        if (root)
                g_assert_true(file_remove_tree(root, NULL));
        secret_files_free(f->files);
        g_assert_true(file_remove_tree(f->state, NULL));
        g_free(f->state);
}

static void assert_holds(const char *dir, const char *name, const char *value, gsize len)
{
        g_autofree char *path = g_build_filename(dir, name, NULL), *text = NULL;
        gsize text_len = 0;
        struct stat st;

        g_assert_true(file_read(path, 100, &text, &text_len, NULL));
        g_assert_cmpmem(text, text_len, value, len);
        g_assert_cmpint(stat(path, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 07777, ==, 0400);
}

static char *put(Fixture *f, const char *attempt)
{
        g_autoptr(GError) error = NULL;
        char *dir = secret_files_put(f->files, attempt, secrets, G_N_ELEMENTS(secrets), NULL, &error);

        g_assert_no_error(error);
        return dir;
}

static void test_put_and_drop(Fixture *f, gconstpointer unused)
{
        g_autofree char *dir = put(f, "abc.1"), *again = put(f, "abc.1"), *other = put(f, "abc.2"),
                        *variable = NULL;

        g_assert_true(secret_files_wanted(secrets, G_N_ELEMENTS(secrets)));
        g_assert_false(secret_files_wanted(secrets, 1));
        g_assert_cmpstr(dir, ==, again);
        assert_holds(dir, "key.json", "{}\n", 3);
        assert_holds(dir, "bytes", "a\0b", 3);
        variable = g_build_filename(dir, "V", NULL);
        g_assert_cmpint(g_access(variable, F_OK), ==, -1);
        secret_files_drop(f->files, "abc.1");
        g_assert_cmpint(g_access(dir, F_OK), ==, -1);
        assert_holds(other, "bytes", "a\0b", 3);
        secret_files_drop(f->files, "abc.9");
}

static void test_next_server(Fixture *f, gconstpointer unused)
{
        g_autofree char *kept = put(f, "abc.1"), *gone = put(f, "def.1"), *fresh = NULL;
        g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);

        secret_files_free(f->files);
        f->files = secret_files_new(f->state, "/dev/shm");
        fresh = put(f, "ghi.1");
        g_hash_table_add(known, (gpointer) "abc.1");
        g_hash_table_add(known, (gpointer) "ghi.1");
        secret_files_sweep(f->files, known);
        assert_holds(kept, "key.json", "{}\n", 3);
        assert_holds(fresh, "key.json", "{}\n", 3);
        g_assert_cmpint(g_access(gone, F_OK), ==, -1);
}

/* After a restart of the machine; and when others may write to the directory. */
static void test_root_is_lost(Fixture *f, gconstpointer unused)
{
        g_autofree char *first = put(f, "abc.1"), *root = root_of(f), *second = NULL, *third = NULL,
                        *fake_root = NULL;
        g_autofree char *link = g_build_filename(f->state, "secret-files", NULL);

        g_assert_true(file_remove_tree(root, NULL));
        second = put(f, "abc.1");
        g_assert_cmpstr(first, !=, second);
        fake_root = root_of(f);
        g_assert_cmpint(chmod(fake_root, 0777), ==, 0);
        third = put(f, "abc.1");
        g_assert_cmpstr(second, !=, third);
        g_assert_true(file_remove_tree(fake_root, NULL));
        assert_holds(third, "bytes", "a\0b", 3);
        g_assert_true(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
}

/* Part of them is written by then. */
static void test_a_failure_leaves_nothing(Fixture *f, gconstpointer unused)
{
        static const TaskSecret twice[] = {
                { .file = "key.json", .value = "{}\n", .len = 3 },
                { .file = "key.json", .value = "[]\n", .len = 3 },
        };
        g_autofree char *root = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(GDir) dir = NULL;

        g_assert_null(secret_files_put(f->files, "abc.1", twice, G_N_ELEMENTS(twice), NULL, &error));
        g_assert_nonnull(strstr(error->message, "cannot make the file 'key.json'"));
        root = root_of(f);
        dir = g_dir_open(root, 0, NULL);
        g_assert_nonnull(dir);
        g_assert_null(g_dir_read_name(dir));
}

static void test_only_in_memory(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *disk = g_build_filename(g_get_user_cache_dir(), "paddle-secret-test", NULL);
        SecretFiles *files = NULL;

        g_assert_true(file_mkdirs(disk, 0700, NULL));
        files = secret_files_new(f->state, "/proc");
        g_assert_null(secret_files_put(files, "abc.1", secrets, G_N_ELEMENTS(secrets), NULL, &error));
        secret_files_free(files);
        g_clear_error(&error);
        files = secret_files_new(f->state, disk);
        g_assert_null(secret_files_put(files, "abc.1", secrets, G_N_ELEMENTS(secrets), NULL, &error));
        g_assert_true(err_is(error, ERR_UNAVAILABLE));
        g_assert_nonnull(strstr(error->message, "is not in memory"));
        secret_files_free(files);
        g_assert_cmpint(g_rmdir(disk), ==, 0); /* it left nothing there */
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*run)(Fixture *fixture, gconstpointer unused);
        } tests[] = {
                { "/runtime/secret-files/put-and-drop", test_put_and_drop },
                { "/runtime/secret-files/next-server", test_next_server },
                { "/runtime/secret-files/root-is-lost", test_root_is_lost },
                { "/runtime/secret-files/a-failure-leaves-nothing", test_a_failure_leaves_nothing },
                { "/runtime/secret-files/only-in-memory", test_only_in_memory },
        };

        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        return g_test_run();
}
