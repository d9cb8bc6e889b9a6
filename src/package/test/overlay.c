/* Results of a user's program, copied over a package: merged, and hostile entries refused. */
#include "package/overlay.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/file.h"
#include "storage/test/scratch.h"

typedef struct {
        Scratch *scratch;
        char *made, *dest;
} Trees;

static const OverlayFor anybody = { .owner = (uid_t)-1 };

static char *path_of(const char *dir, const char *name)
{
        return g_build_filename(dir, name, NULL);
}

static Trees *trees_new(void)
{
        Trees *trees = g_new0(Trees, 1);

        trees->scratch = scratch_new();
        trees->made = path_of(trees->scratch, "made");
        trees->dest = path_of(trees->scratch, "dest");
        g_assert_cmpint(mkdir(trees->made, 0755), ==, 0);
        g_assert_cmpint(mkdir(trees->dest, 0755), ==, 0);
        return trees;
}

static void trees_free(Trees *trees)
{
        g_free(trees->made);
        g_free(trees->dest);
        scratch_free(trees->scratch);
        g_free(trees);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trees, trees_free)

static void put_file(const char *dir, const char *name, const char *text, mode_t mode)
{
        g_autofree char *path = path_of(dir, name);

        put(dir, name, text, -1);
        g_assert_cmpint(chmod(path, mode), ==, 0);
}

static void put_link(const char *dir, const char *name, const char *target)
{
        g_autofree char *path = path_of(dir, name), *parent = g_path_get_dirname(path);

        g_assert_true(file_mkdirs(parent, 0755, NULL));
        g_assert_cmpint(symlink(target, path), ==, 0);
}

static void check_file(const char *dir, const char *name, const char *text, mode_t mode)
{
        g_autofree char *path = path_of(dir, name), *got = NULL;
        struct stat st;

        g_test_message("%s", name);
        g_assert_cmpint(lstat(path, &st), ==, 0);
        g_assert_true(S_ISREG(st.st_mode));
        g_assert_cmpint(st.st_mode & 07777, ==, mode);
        g_assert_true(g_file_get_contents(path, &got, NULL, NULL));
        g_assert_cmpstr(got, ==, text);
}

static void check_refused(Trees *trees, uid_t owner, ErrCode code, const char *says)
{
        const OverlayFor whose = { .owner = owner };
        g_autoptr(GError) error = NULL;

        g_assert_false(overlay_copy(trees->made, trees->dest, &whose, &error));
        g_test_message("%s", error->message);
        g_assert_true(err_is(error, code));
        g_assert_nonnull(strstr(error->message, says));
}

static void it_wins_and_merges(void)
{
        g_autoptr(Trees) trees = trees_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *link = path_of(trees->dest, "ops/latest"), *target = NULL;

        put_file(trees->dest, "train.py", "old", 0644);
        put_file(trees->dest, "ops/op.c", "source", 0644);
        put_file(trees->dest, "dir/was/here", "a directory", 0644);
        put_file(trees->dest, "file", "a file", 0644);
        put_link(trees->dest, "way", "ops");
        put_file(trees->made, "train.py", "new", 0600);
        put_file(trees->made, "ops/op.so", "binary", 0775);
        put_file(trees->made, "tool", "#!", 06755);
        put_file(trees->made, "dir/was", "a file now", 0644);
        put_file(trees->made, "file/inside", "a directory now", 0444);
        put_file(trees->made, "way/x", "no link now", 0644);
        put_link(trees->made, "ops/latest", "op.so");
        g_assert_true(overlay_copy(trees->made, trees->dest, &anybody, &error));
        g_assert_no_error(error);
        check_file(trees->dest, "train.py", "new", 0644);
        check_file(trees->dest, "ops/op.c", "source", 0644);
        check_file(trees->dest, "ops/op.so", "binary", 0755);
        check_file(trees->dest, "tool", "#!", 0755);
        check_file(trees->dest, "dir/was", "a file now", 0644);
        check_file(trees->dest, "file/inside", "a directory now", 0644);
        check_file(trees->dest, "way/x", "no link now", 0644);
        target = g_file_read_link(link, NULL);
        g_assert_cmpstr(target, ==, "op.so");
}

static void links_stay_inside(void)
{
        static const char *const targets[] = { "/etc/passwd", "../out", "a/../../out", "../../../etc" };

        for (gsize i = 0; i < G_N_ELEMENTS(targets); i++) {
                g_autoptr(Trees) trees = trees_new();

                put_link(trees->made, "link", targets[i]);
                check_refused(trees, (uid_t)-1, ERR_INVALID, "link");
        }
}

/* A link in place of a directory must not redirect the entries below it. */
static void links_are_not_followed(void)
{
        g_autoptr(Trees) trees = trees_new();
        g_autofree char *outside = path_of(trees->scratch, "outside");
        g_autoptr(GError) error = NULL;

        put_file(trees->scratch, "outside/x", "safe", 0644);
        put_link(trees->dest, "a", outside);
        put_file(trees->made, "a/x", "made", 0644);
        g_assert_true(overlay_copy(trees->made, trees->dest, &anybody, &error));
        check_file(trees->scratch, "outside/x", "safe", 0644);
        check_file(trees->dest, "a/x", "made", 0644);

        g_assert_true(file_remove_tree(trees->made, NULL));
        g_assert_cmpint(symlink(outside, trees->made), ==, 0);
        check_refused(trees, (uid_t)-1, ERR_NOT_FOUND, "made");
}

static void special_files_are_refused(void)
{
        g_autoptr(Trees) trees = trees_new();
        g_autofree char *pipe = path_of(trees->made, "pipe");

        g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
        check_refused(trees, (uid_t)-1, ERR_INVALID, "'pipe' is neither file, link nor directory");
}

/* A hard link to another user's file would copy its contents. */
static void files_of_others_are_refused(void)
{
        static const OverlayFor other = { .owner = 12345 };
        g_autoptr(Trees) trees = trees_new();
        g_autofree char *secret = path_of(trees->made, "secret");

        if (geteuid() != 0) {
                g_test_skip("only root can give files away");
                return;
        }
        put_file(trees->made, "secret", "of root", 0600);
        g_assert_cmpint(chown(trees->made, 12345, 12345), ==, 0);
        check_refused(trees, 12345, ERR_DENIED, "'secret' belongs to another user");
        g_assert_cmpint(chown(secret, 12345, 12345), ==, 0);
        g_assert_true(overlay_copy(trees->made, trees->dest, &other, NULL));
        check_file(trees->dest, "secret", "of root", 0644);
}

static void sizes_are_limited(void)
{
        g_autoptr(Trees) trees = trees_new();
        g_autofree char *hole = NULL;

        put_file(trees->made, "hole", "", 0644);
        hole = path_of(trees->made, "hole");
        g_assert_cmpint(truncate(hole, OVERLAY_BYTES_MAX + 1), ==, 0);
        check_refused(trees, (uid_t)-1, ERR_TOO_LARGE, "4 GiB");
}

/* 1 GiB with 8 KiB of blocks keeps its holes. */
static void holes_stay_holes(void)
{
        enum { SIZE = 1 << 30 };
        g_autoptr(Trees) trees = trees_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *made = path_of(trees->made, "sparse"), *dest = path_of(trees->dest, "sparse");
        fd_auto int fd = -1;
        char got[4] = "";
        struct stat st;

        put_file(trees->made, "sparse", "head", 0644);
        fd = open(made, O_RDWR | O_CLOEXEC);
        g_assert_cmpint(ftruncate(fd, SIZE), ==, 0);
        g_assert_cmpint(pwrite(fd, "tail", 4, SIZE / 2), ==, 4);
        g_assert_true(overlay_copy(trees->made, trees->dest, &anybody, &error));
        g_assert_no_error(error);
        g_assert_cmpint(stat(dest, &st), ==, 0);
        g_assert_cmpint(st.st_size, ==, SIZE);
        g_assert_cmpint(st.st_blocks * 512, <=, 1 << 20);
        fd_close_p(&fd);
        fd = open(dest, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(pread(fd, got, 4, 0), ==, 4);
        g_assert_cmpmem(got, 4, "head", 4);
        g_assert_cmpint(pread(fd, got, 4, SIZE / 2), ==, 4);
        g_assert_cmpmem(got, 4, "tail", 4);
        g_assert_cmpint(pread(fd, got, 4, SIZE - 4), ==, 4);
        g_assert_cmpmem(got, 4, "\0\0\0\0", 4);
}

static void one_mib(const char *user, DiskAmount *ret, void *arg)
{
        *ret = (DiskAmount){ .bytes = 1 << 20 };
}

/* Blocks are reserved before they are written, once for each name of a file; holes are free. */
static void its_user_may_hold_it(void)
{
        enum { SIZE = 600 << 10 };
        g_autoptr(Trees) trees = trees_new();
        g_autoptr(Ledger) ledger = ledger_new(one_mib, NULL);
        const OverlayFor ann = { .owner = (uid_t)-1, .ledger = ledger, .user = "ann" };
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strnfill(SIZE, 'x'), *file = path_of(trees->made, "file");
        g_autofree char *again = path_of(trees->made, "again"), *hole = path_of(trees->made, "hole");

        put_file(trees->made, "file", text, 0644);
        put_file(trees->made, "hole", "", 0644);
        g_assert_cmpint(truncate(hole, 1 << 30), ==, 0);
        g_assert_true(overlay_copy(trees->made, trees->dest, &ann, &error));
        g_assert_no_error(error);
        g_assert_cmpint(link(file, again), ==, 0);
        g_assert_false(overlay_copy(trees->made, trees->dest, &ann, &error));
        g_assert_true(err_is(error, ERR_QUOTA));
        g_assert_true(ledger_check(ledger, "ann", 1 << 20, 1, NULL)); /* nothing is reserved any more */
}

static bool is_given_up(void *arg)
{
        return true;
}

/* Also with empty files and directories: many of them take as long as a large file. */
static void it_may_be_given_up(void)
{
        g_autoptr(Trees) trees = trees_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *dest = path_of(trees->dest, "a");

        put_file(trees->made, "a/b", "", 0644);
        cancel_begin(is_given_up, NULL);
        g_assert_false(overlay_copy(trees->made, trees->dest, &anybody, &error));
        cancel_end();
        g_assert_nonnull(error);
        g_assert_cmpint(access(dest, F_OK), <, 0);
}

static void depth_is_limited(void)
{
        g_autoptr(Trees) trees = trees_new();
        g_autoptr(GString) path = g_string_new(NULL);

        for (int i = 0; i <= OVERLAY_DEPTH_MAX; i++)
                g_string_append(path, "d/");
        g_string_append(path, "x");
        put_file(trees->made, path->str, "", 0644);
        check_refused(trees, (uid_t)-1, ERR_TOO_LARGE, "levels of directories");
}

static void what_is_gone_is_said(void)
{
        g_autoptr(Trees) trees = trees_new();

        g_assert_cmpint(rmdir(trees->made), ==, 0);
        check_refused(trees, (uid_t)-1, ERR_NOT_FOUND, "no longer exists");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/overlay/wins", it_wins_and_merges);
        g_test_add_func("/overlay/links-inside", links_stay_inside);
        g_test_add_func("/overlay/links-not-followed", links_are_not_followed);
        g_test_add_func("/overlay/special-files", special_files_are_refused);
        g_test_add_func("/overlay/others", files_of_others_are_refused);
        g_test_add_func("/overlay/sizes", sizes_are_limited);
        g_test_add_func("/overlay/holes", holes_stay_holes);
        g_test_add_func("/overlay/quota", its_user_may_hold_it);
        g_test_add_func("/overlay/given-up", it_may_be_given_up);
        g_test_add_func("/overlay/depth", depth_is_limited);
        g_test_add_func("/overlay/gone", what_is_gone_is_said);
        return g_test_run();
}
