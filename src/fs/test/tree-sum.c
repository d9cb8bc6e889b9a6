/* Sums of trees (see fs/tree-sum.h): what counts, what is not known, and that they end. */
#include "fs/tree-sum.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"

typedef struct {
        char *dir;
        FilesystemPlace place;
        Vfs *vfs;
        TreeBudget budget;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;

        f->dir = g_dir_make_tmp("sum-XXXXXX", NULL);
        f->place = (FilesystemPlace){ .type = FILESYSTEM_LOCAL,
                                      .name = g_strdup("data"),
                                      .user = g_strdup("ann"),
                                      .root = g_strdup(f->dir) };
        f->vfs = vfs_open(&f->place, NULL, &error);
        g_assert_no_error(error);
        f->budget = (TreeBudget)TREE_BUDGET;
}

static void tear_down(Fixture *f, gconstpointer unused)
{
        vfs_close(f->vfs);
        filesystem_place_clear(&f->place);
        g_assert_true(file_remove_tree(f->dir, NULL));
        g_free(f->dir);
}

static void put(const Fixture *f, const char *path, const char *text)
{
        g_assert_true(vfs_write(f->vfs, path, text, strlen(text), NULL));
}

static char *sum_of(Fixture *f, bool content, const char *paths, char **ret_why, GError **error)
{
        const TreeSum sum = { .vfs = f->vfs, .content = content, .budget = &f->budget };

        return tree_sum(&sum, paths, ret_why, error);
}

/* The digest of the paths; the caller's. */
static char *digest_of(Fixture *f, const char *paths)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *why = NULL;
        char *text = sum_of(f, true, paths, &why, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(why, ==, NULL);
        g_assert_nonnull(text);
        return text;
}

static void assert_unknown(Fixture *f, bool content, const char *paths, const char *want)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *why = NULL, *text = sum_of(f, content, paths, &why, &error);

        g_assert_no_error(error);
        g_assert_cmpstr(text, ==, NULL);
        g_assert_cmpstr(why, ==, want);
}

/* ---- what counts ---- */

static void test_contents(Fixture *f, gconstpointer unused)
{
        g_autofree char *one = NULL, *same = NULL, *other = NULL, *named = NULL, *none = NULL;

        put(f, "a/x", "1");
        put(f, "a/y/z", "2");
        put(f, "b/x", "1");
        put(f, "b/y/z", "2");
        one = digest_of(f, "a");
        same = digest_of(f, "b");
        g_assert_cmpstr(one, ==, same);
        put(f, "b/y/z", "3");
        other = digest_of(f, "b");
        g_assert_cmpstr(one, !=, other);
        put(f, "b/y/z", "2");
        g_assert_true(vfs_remove(f->vfs, "b/x", NULL));
        put(f, "b/w", "1");
        named = digest_of(f, "b");
        g_assert_cmpstr(one, !=, named);
        none = digest_of(f, ",");
        g_assert_cmpstr(none, ==, "");
}

/* Bytes that were never written are zeros. */
static void test_holes(Fixture *f, gconstpointer unused)
{
        enum { SIZE = 300 * 1000 };
        g_autofree char *zeros = g_malloc0(SIZE), *path = g_build_filename(f->dir, "sparse", NULL);
        g_autofree char *sparse = NULL, *full = NULL;

        put(f, "sparse", "");
        g_assert_cmpint(truncate(path, SIZE), ==, 0);
        g_assert_true(vfs_write(f->vfs, "full", zeros, SIZE, NULL));
        sparse = digest_of(f, "sparse");
        full = digest_of(f, "full");
        g_assert_cmpstr(sparse, ==, full);
}

static void test_times(Fixture *f, gconstpointer unused)
{
        const struct timespec times[] = { { 1, 0 }, { G_MAXINT32, 7 } };
        g_autofree char *why = NULL, *text = NULL, *path = g_build_filename(f->dir, "a", "y", NULL);

        put(f, "a/x", "1");
        put(f, "a/y", "2");
        g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
        text = sum_of(f, false, "a/x,a", &why, NULL);
        g_assert_cmpstr(text, ==, "2147483647000000007");
}

static void set_time(const Fixture *f, const char *name, gint64 ns)
{
        const struct timespec time = { ns / 1000000000, ns % 1000000000 }, times[] = { time, time };
        g_autofree char *path = g_build_filename(f->dir, name, NULL);

        g_assert_cmpint(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), ==, 0);
}

static void assert_time(Fixture *f, const char *paths, gint64 want)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *why = NULL, *text = sum_of(f, false, paths, &why, &error);

        g_assert_no_error(error);
        g_assert_cmpint(g_ascii_strtoll(text, NULL, 10), ==, want);
}

/* C121: of several paths the newest time, wherever it is; of a directory that of all below it. */
static void test_newest(Fixture *f, gconstpointer unused)
{
        put(f, "a", "1");
        put(f, "b", "2");
        put(f, "d/e/c", "3");
        set_time(f, "a", 1000000007);
        set_time(f, "b", 1000000009);
        assert_time(f, "a,b", 1000000009);
        assert_time(f, "b,a", 1000000009);
        assert_time(f, ",a,,b,", 1000000009);
        assert_time(f, "a", 1000000007);
        set_time(f, "d/e/c", 300);
        set_time(f, "d/e", 200);
        set_time(f, "d", 100);
        assert_time(f, "d", 300);
        set_time(f, "d/e", 400);
        assert_time(f, "d", 400);
        set_time(f, "d", 500);
        assert_time(f, "d,d/e/c", 500);
        assert_time(f, "d/e,b,d", 1000000009);
}

static void put_link(const Fixture *f, const char *name, const char *target)
{
        g_autofree char *path = g_build_filename(f->dir, name, NULL);

        g_assert_cmpint(symlink(target, path), ==, 0);
}

/* Links in a directory: to a file, which counts, to a directory, to nothing, and out of the file system. */
static void test_links(Fixture *f, gconstpointer unused)
{
        static const char *const links[][2] = {
                { "d/file", "../a" }, { "d/dir", "../e" }, { "d/none", "none" }, { "d/out", "/etc/passwd" }
        };
        g_autofree char *before = NULL, *same = NULL, *after = NULL;

        put(f, "a", "1");
        put(f, "e/x", "2");
        g_assert_true(vfs_make_dirs(f->vfs, "d", NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(links); i++) {
                put_link(f, links[i][0], links[i][1]);
                set_time(f, links[i][0], (gint64)i + 10);
        }
        set_time(f, "d", 1);
        set_time(f, "a", 2);
        assert_time(f, "d", 13);
        assert_time(f, "d/file", 2); /* that it leads to */
        set_time(f, "a", 20);
        assert_time(f, "d", 20);
        before = digest_of(f, "d");
        put(f, "e/x", "3");
        same = digest_of(f, "d");
        g_assert_cmpstr(before, ==, same);
        put(f, "a", "3");
        after = digest_of(f, "d");
        g_assert_cmpstr(before, !=, after);
}

/* The digest of the directory once it has only this link; the caller's. */
static char *digest_of_link(Fixture *f, const char *target)
{
        g_autofree char *path = g_build_filename(f->dir, "data", "current", NULL);

        (void)g_unlink(path);
        put_link(f, "data/current", target);
        return digest_of(f, "data");
}

/* The digest has the path that a link names. It has no files behind a link that is not followed. */
static void test_link_targets(Fixture *f, gconstpointer unused)
{
        g_autofree char *first = NULL, *second = NULL, *again = NULL, *none = NULL, *other = NULL,
                        *out = NULL;

        put(f, "sets/v1/x", "1");
        put(f, "sets/v2/x", "2");
        g_assert_true(vfs_make_dirs(f->vfs, "data", NULL));
        first = digest_of_link(f, "../sets/v1");
        second = digest_of_link(f, "../sets/v2");
        again = digest_of_link(f, "../sets/v1");
        none = digest_of_link(f, "none");
        other = digest_of_link(f, "none2");
        out = digest_of_link(f, "/etc");
        g_assert_cmpstr(first, !=, second);
        g_assert_cmpstr(first, ==, again);
        g_assert_cmpstr(none, !=, other);
        g_assert_cmpstr(none, !=, out);
}

static void assert_missing(Fixture *f, bool content, const char *paths)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *why = NULL, *text = sum_of(f, content, paths, &why, &error);

        g_assert_null(text);
        g_assert_null(why);
        g_assert_true(err_is(error, ERR_NOT_FOUND));
}

static void test_missing(Fixture *f, gconstpointer unused)
{
        put(f, "a", "1");
        assert_missing(f, true, "none");
        assert_missing(f, false, "a,none");
        assert_missing(f, false, "none,a");
}

/* ---- what is not known ---- */

/* Its end would never come. */
static void test_sparse(Fixture *f, gconstpointer unused)
{
        g_autofree char *path = g_build_filename(f->dir, "d", "sparse", NULL);

        put(f, "d/sparse", "");
        if (truncate(path, 1LL << 44) != 0 && truncate(path, TREE_BYTES_MAX + 1) != 0) {
                g_test_skip("the file system has no such long files");
                return;
        }
        assert_unknown(f, true, "d",
                       "they have more than 256 GiB; `fingerprint: time` compares their times instead");
}

/* The limits are those of all calls together. */
static void test_limits(Fixture *f, gconstpointer unused)
{
        g_autofree char *both = NULL, *all = NULL;

        put(f, "d/a", "123");
        put(f, "d/b", "45");
        f->budget = (TreeBudget){ .bytes = 10, .entries = 6, .ms = TREE_MS_MAX };
        both = digest_of(f, "d/a,d/b");
        all = digest_of(f, "d"); /* d, a, b */
        g_assert_cmpint(f->budget.bytes, ==, 0);
        g_assert_cmpint(f->budget.entries, ==, 1);
        assert_unknown(f, true, "d/a",
                       "they have more than 256 GiB; `fingerprint: time` compares their times instead");
        assert_unknown(f, false, "d", "they are more than 1000000 files and directories");
        f->budget = (TreeBudget){ .bytes = 10, .entries = 2, .ms = TREE_MS_MAX };
        assert_unknown(f, false, "d", "they are more than 1000000 files and directories");
        f->budget = (TreeBudget){ .bytes = 10, .entries = 6, .ms = -1 };
        assert_unknown(f, false, "d", "reading them took more than 30 minutes");
}

static void test_levels(Fixture *f, gconstpointer unused)
{
        g_autoptr(GString) path = g_string_new("d");
        g_autofree char *want = NULL, *why = NULL, *text = NULL;

        for (int i = 1; i < TREE_DEPTH_MAX; i++)
                g_string_append(path, "/d");
        g_assert_true(vfs_make_dirs(f->vfs, path->str, NULL));
        text = digest_of(f, "d");
        g_string_append(path, "/d");
        g_assert_true(vfs_make_dirs(f->vfs, path->str, NULL));
        want = g_strdup_printf("'%.300s' has more than 200 levels of directories", path->str);
        assert_unknown(f, true, "d", want);
}

static void test_special(Fixture *f, gconstpointer unused)
{
        g_autofree char *path = g_build_filename(f->dir, "d", "fifo", NULL), *why = NULL, *text = NULL;

        put(f, "d/a", "1");
        g_assert_cmpint(mkfifo(path, 0644), ==, 0);
        assert_unknown(f, true, "d",
                       "'d/fifo' is neither a file nor a directory; `fingerprint: time` compares their times "
                       "instead");
        text = sum_of(f, false, "d", &why, NULL);
        g_assert_nonnull(text);
}

/* ---- files that change meanwhile ---- */

/* The local driver with another `scan`. */
static VfsOps changed_ops;
static const VfsOps *local;
static Fixture *playing; /* the test that runs */

static void replace_scan(Fixture *f,
                         bool (*scan)(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error))
{
        local = f->vfs->ops;
        changed_ops = *local;
        changed_ops.scan = scan;
        f->vfs->ops = &changed_ops;
        playing = f;
}

/* Another file of the same size and time comes to its place. */
static bool scan_and_replace(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        g_autofree char *file = g_build_filename(playing->dir, path, NULL);
        bool ok = local->scan(vfs, path, take, arg, error);
        struct stat st;

        g_assert_cmpint(stat(file, &st), ==, 0);
        put(playing, path, "2");
        g_assert_cmpint(utimensat(AT_FDCWD, file, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), ==, 0);
        return ok;
}

static bool scan_and_remove(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        bool ok = local->scan(vfs, path, take, arg, error);

        g_assert_true(vfs_remove(vfs, path, NULL));
        return ok;
}

static bool add_and_scan(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        put(playing, "d/new", "1");
        return local->scan(vfs, path, take, arg, error);
}

static bool scan_end(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        return true;
}

/* A file that somebody writes as fast as it is read. */
static bool scan_for_ever(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error)
{
        while (take(arg, "11", 2))
                ;
        return true;
}

static void test_changes(Fixture *f, gconstpointer unused)
{
        static const struct {
                bool (*scan)(Vfs *vfs, const char *path, VfsTake take, void *arg, GError **error);
                const char *why;
        } cases[] = {
                { scan_and_replace, "'d/a' changed while it was read" },
                { scan_and_remove, "'d/a' changed while it was read" },
                { scan_end, "'d/a' changed while it was read" },
                { scan_for_ever, "'d/a' changed while it was read" },
                { add_and_scan, "'d' changed while it was read" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                put(f, "d/a", "1");
                replace_scan(f, cases[i].scan);
                assert_unknown(f, true, "d", cases[i].why);
                f->vfs->ops = local;
        }
}

/* ---- the end, when nobody asks any more ---- */

static bool is_cancelled(void *arg)
{
        return --*(int *)arg < 0;
}

/* Asked at most every 20 ms: this takes some time, and not for ever. */
static void test_cancel(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *why = NULL, *text = NULL, *path = g_build_filename(f->dir, "long", NULL);
        int asked = 2;

        put(f, "long", "");
        if (truncate(path, TREE_BYTES_MAX) != 0) {
                g_test_skip("the file system has no such long files");
                return;
        }
        cancel_begin(is_cancelled, &asked);
        text = sum_of(f, true, "long", &why, &error);
        cancel_end();
        g_assert_null(text);
        g_assert_null(why);
        g_assert_nonnull(error);
        g_assert_cmpint(asked, <, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add("/tree-sum/contents", Fixture, NULL, set_up, test_contents, tear_down);
        g_test_add("/tree-sum/holes", Fixture, NULL, set_up, test_holes, tear_down);
        g_test_add("/tree-sum/times", Fixture, NULL, set_up, test_times, tear_down);
        g_test_add("/tree-sum/newest", Fixture, NULL, set_up, test_newest, tear_down);
        g_test_add("/tree-sum/links", Fixture, NULL, set_up, test_links, tear_down);
        g_test_add("/tree-sum/link-targets", Fixture, NULL, set_up, test_link_targets, tear_down);
        g_test_add("/tree-sum/missing", Fixture, NULL, set_up, test_missing, tear_down);
        g_test_add("/tree-sum/sparse", Fixture, NULL, set_up, test_sparse, tear_down);
        g_test_add("/tree-sum/limits", Fixture, NULL, set_up, test_limits, tear_down);
        g_test_add("/tree-sum/levels", Fixture, NULL, set_up, test_levels, tear_down);
        g_test_add("/tree-sum/special", Fixture, NULL, set_up, test_special, tear_down);
        g_test_add("/tree-sum/changes", Fixture, NULL, set_up, test_changes, tear_down);
        g_test_add("/tree-sum/cancel", Fixture, NULL, set_up, test_cancel, tear_down);
        return g_test_run();
}
