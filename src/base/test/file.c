/* Files: complete reads, atomic replacements, and a removal that never leaves its tree. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/err.h"

typedef struct {
        char *dir;
} Scratch;

static char *in(const Scratch *s, const char *name)
{
        return g_build_filename(s->dir, name, NULL);
}

static void set_up(Scratch *s, const void *unused)
{
        s->dir = g_dir_make_tmp("file-test-XXXXXX", NULL);
        g_assert_nonnull(s->dir);
}

static void tear_down(Scratch *s, const void *unused)
{
        g_autoptr(GError) error = NULL;

        g_assert_true(file_remove_tree(s->dir, &error));
        g_assert_false(g_file_test(s->dir, G_FILE_TEST_EXISTS));
        g_free(s->dir);
}

static void test_replace_and_read(Scratch *s, const void *unused)
{
        g_autofree char *path = in(s, "a"), *text = NULL;
        g_autoptr(GError) error = NULL;
        struct stat at;
        gsize len = 0;

        g_assert_true(file_replace(path, "old", 3, 0600, false, &error));
        g_assert_true(file_replace(path, "new\0text", 8, 0600, true, &error));
        g_assert_true(file_read(path, 8, &text, &len, &error));
        g_assert_cmpmem(text, len, "new\0text", 8);
        g_assert_cmpint(stat(path, &at), ==, 0);
        g_assert_cmpint(at.st_mode & 0777, ==, 0600);

        g_clear_pointer(&text, g_free);
        g_assert_false(file_read(path, 7, &text, NULL, &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
        g_assert_null(text);
}

/* A failed replace keeps the old file and leaves no temporary one behind. */
static void test_replace_fails(Scratch *s, const void *unused)
{
        g_autofree char *dir = in(s, "d"), *full = in(s, "d/x"), *missing = in(s, "none/a");
        g_autoptr(GError) error = NULL, other = NULL;
        g_autoptr(GDir) left = NULL;

        g_assert_true(file_mkdirs(full, 0755, &error));
        g_assert_false(file_replace(dir, "x", 1, 0600, false, &error)); /* a directory is not a file */
        g_assert_nonnull(error);
        left = g_dir_open(s->dir, 0, NULL);
        g_assert_cmpstr(g_dir_read_name(left), ==, "d");
        g_assert_null(g_dir_read_name(left));
        g_assert_false(file_replace(missing, "x", 1, 0600, false, &other));
        g_assert_true(err_is(other, ERR_NOT_FOUND));
}

static void test_read_missing(Scratch *s, const void *unused)
{
        g_autofree char *path = in(s, "none"), *text = NULL;
        g_autoptr(GError) error = NULL;

        g_assert_false(file_read(path, 10, &text, NULL, &error));
        g_assert_true(err_is(error, ERR_NOT_FOUND));
        g_assert_nonnull(strstr(error->message, path));
}

static void test_write_to_closed(Scratch *s, const void *unused)
{
        g_autoptr(GError) error = NULL;
        fd_auto int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        g_assert_false(file_write_all(fd, "x", 1, &error));
        g_assert_true(err_is(error, ERR_NO_SPACE));
}

static void test_remove_tree(Scratch *s, const void *unused)
{
        g_autofree char *outside = in(s, "outside"), *kept = in(s, "outside/kept"), *tree = in(s, "tree");
        g_autofree char *deep = in(s, "tree/a/b/c"), *file = in(s, "tree/a/b/f"), *link = in(s, "tree/a/out");
        g_autofree char *dangling = in(s, "tree/a/dangling"), *shut = in(s, "tree/a/b");
        g_autoptr(GError) error = NULL;

        g_assert_true(file_mkdirs(outside, 0755, &error) && file_mkdirs(deep, 0755, &error));
        g_assert_true(file_replace(kept, "k", 1, 0644, false, &error) &&
                      file_replace(file, "f", 1, 0444, false, &error));
        g_assert_cmpint(symlink(outside, link), ==, 0);
        g_assert_cmpint(symlink("/nowhere", dangling), ==, 0);
        g_assert_cmpint(chmod(shut, 0555), ==, 0);

        g_assert_true(file_remove_tree(tree, &error));
        g_assert_no_error(error);
        g_assert_false(g_file_test(tree, G_FILE_TEST_EXISTS));
        g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
        g_assert_true(file_remove_tree(tree, &error)); /* a missing tree is fine */
}

/* Removed entries are counted, a file with two names when its last name goes. Other users' entries stay. */
static void test_removal(Scratch *s, const void *unused)
{
        g_autofree char *deep = in(s, "tree/a"), *file = in(s, "tree/a/f"), *other = in(s, "tree/other"),
                        *outside = in(s, "outside"), *tree = in(s, "tree");
        g_autoptr(GError) error = NULL;
        FileRemoval theirs = { .bound = true, .uid = geteuid() + 1 },
                    ours = { .bound = true, .uid = geteuid() };
        struct stat f;

        g_assert_true(file_mkdirs(deep, 0755, &error) && file_replace(file, "f", 1, 0644, false, &error) &&
                      file_replace(outside, "o", 1, 0644, false, &error));
        g_assert_cmpint(link(outside, other), ==, 0);
        g_assert_cmpint(stat(file, &f), ==, 0);

        g_assert_cmpint(file_remove_at(AT_FDCWD, file, &theirs), ==, FILE_FOREIGN);
        g_assert_true(file_remove_tree_at(AT_FDCWD, tree, &theirs, &error));
        g_assert_cmpuint(theirs.left, ==, 1);
        g_assert_cmpint(theirs.files, ==, 0);
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));

        g_assert_cmpint(file_remove_at(AT_FDCWD, tree, &ours), ==, FILE_NOT_EMPTY);
        g_assert_cmpint(errno, ==, ENOTEMPTY);
        g_assert_cmpint(file_remove_at(AT_FDCWD, file, &ours), ==, FILE_REMOVED);
        g_assert_cmpint(ours.bytes, ==, f.st_blocks * 512);
        g_assert_true(file_remove_tree_at(AT_FDCWD, tree, &ours, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(ours.left, ==, 0);
        g_assert_cmpint(ours.files, ==, 3); /* f, a, tree */
        g_assert_false(g_file_test(tree, G_FILE_TEST_EXISTS));
        g_assert_true(g_file_test(outside, G_FILE_TEST_EXISTS));
        g_assert_cmpint(file_remove_at(AT_FDCWD, tree, &ours), ==, FILE_FAILED);
        g_assert_cmpint(errno, ==, ENOENT);
}

/* Deeper than the limit of descriptors, and than the longest path. */
static void test_remove_deep(Scratch *s, const void *unused)
{
        enum { DEPTH = 3000 };
        g_autofree char *tree = in(s, "deep");
        g_autoptr(GError) error = NULL;
        struct rlimit limit, few;
        int at;

        g_assert_true(file_mkdirs(tree, 0755, &error));
        at = open(tree, O_PATH | O_CLOEXEC);
        for (int i = 0; i < DEPTH; i++) {
                int next;

                g_assert_cmpint(mkdirat(at, "d", 0755), ==, 0);
                g_assert_cmpint(mkdirat(at, "side", 0755), ==, 0);
                next = openat(at, "d", O_PATH | O_CLOEXEC);
                close(at);
                at = next;
        }
        close(at);
        g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        few = (struct rlimit){ 256, limit.rlim_max };
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
        g_assert_true(file_remove_tree(tree, &error));
        g_assert_no_error(error);
        g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
        g_assert_false(g_file_test(tree, G_FILE_TEST_EXISTS));
}

/* A symbolic link is removed, not its target. */
static void test_remove_link(Scratch *s, const void *unused)
{
        g_autofree char *dir = in(s, "dir"), *file = in(s, "dir/f"), *link = in(s, "link");
        g_autoptr(GError) error = NULL;

        g_assert_true(file_mkdirs(dir, 0755, &error) && file_replace(file, "f", 1, 0644, false, &error));
        g_assert_cmpint(symlink(dir, link), ==, 0);
        g_assert_true(file_remove_tree(link, &error));
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
        g_assert_false(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
}

static void test_steal(Scratch *s, const void *unused)
{
        int taken = -1;

        {
                fd_auto int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

                taken = fd_steal(&fd);
                g_assert_cmpint(fd, ==, -1);
        }
        g_assert_cmpint(fcntl(taken, F_GETFD), >=, 0);
        {
                fd_auto int fd = taken;

                g_assert_cmpint(fd, >=, 0);
        }
        g_assert_cmpint(fcntl(taken, F_GETFD), ==, -1);
}

static void test_open_below(Scratch *scratch, const void *unused)
{
        static const char *const bad[] = {
                "%s/none", "%s/link", "%s/way/file", "%s/../%s", "/dev/null", "%s"
        };
        g_autofree char *dir = g_build_filename(scratch->dir, "dir", NULL);
        g_autofree char *file = g_build_filename(dir, "file", NULL),
                        *link = g_build_filename(scratch->dir, "link", NULL);
        g_autofree char *way = g_build_filename(scratch->dir, "way", NULL);
        fd_auto int fd = -1;

        g_assert_true(file_mkdirs(dir, 0700, NULL));
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        g_assert_cmpint(symlink(file, link), ==, 0);
        g_assert_cmpint(symlink(dir, way), ==, 0);
        fd = file_open_below(scratch->dir, file);
        g_assert_cmpint(fd, >=, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *path = g_strdup_printf(bad[i], scratch->dir, scratch->dir);

                g_assert_cmpint(file_open_below(scratch->dir, path), ==, -1);
        }
}

static void test_path_inside(Scratch *scratch G_GNUC_UNUSED, const void *unused G_GNUC_UNUSED)
{
        static const char *const cases[][2] = {
                { "a", "a" },   { "./a//b/../c", "a/c" }, { "a/", "a" },  { ".", "" },
                { "..", NULL }, { "a/../../b", NULL },    { "a/..", "" }, { "a/b/../..", "" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = file_path_inside(cases[i][0]);

                g_assert_cmpstr(path, ==, cases[i][1]);
        }
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*test)(Scratch *, const void *);
        } tests[] = {
                { "/file/replace-and-read", test_replace_and_read },
                { "/file/replace-fails", test_replace_fails },
                { "/file/read-missing", test_read_missing },
                { "/file/no-space", test_write_to_closed },
                { "/file/remove-tree", test_remove_tree },
                { "/file/removal", test_removal },
                { "/file/remove-deep", test_remove_deep },
                { "/file/remove-link", test_remove_link },
                { "/file/steal", test_steal },
                { "/file/open-below", test_open_below },
                { "/file/path-inside", test_path_inside },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Scratch, NULL, set_up, tests[i].test, tear_down);
        return g_test_run();
}
