/* Files below a root (see fs/vfs.h): what is read and written, what leads out, whose rights count. */
#include "fs/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

enum { USER = 61234, GROUP = 61235, SHARED = 61236 }; /* ids that no account of the machine has */

typedef struct {
        char *dir; /* has root/ and outside/ */
        char *root, *outside;
        FilesystemPlace place;
        Vfs *vfs;
} Fixture;

static void write_file(const char *dir, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void set_up(Fixture *f, gconstpointer read_only)
{
        g_autoptr(GError) error = NULL;

        f->dir = g_dir_make_tmp("vfs-XXXXXX", NULL);
        f->root = g_build_filename(f->dir, "root", NULL);
        f->outside = g_build_filename(f->dir, "outside", NULL);
        g_assert_true(g_chmod(f->dir, 0755) == 0 && g_mkdir(f->root, 0755) == 0 &&
                      g_mkdir(f->outside, 0755) == 0);
        write_file(f->root, "a", "hello");
        write_file(f->outside, "secret", "secret");
        f->place = (FilesystemPlace){ .type = FILESYSTEM_LOCAL,
                                      .name = g_strdup("data"),
                                      .user = g_strdup("ann"),
                                      .root = g_strdup(f->root),
                                      .read_only = read_only != NULL };
        f->vfs = vfs_open(&f->place, NULL, &error);
        g_assert_no_error(error);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
        vfs_close(f->vfs);
        filesystem_place_clear(&f->place);
        g_assert_true(file_remove_tree(f->dir, NULL));
        g_free(f->dir);
        g_free(f->root);
        g_free(f->outside);
}

static void link_to(const Fixture *f, const char *target, const char *name)
{
        g_autofree char *path = g_build_filename(f->root, name, NULL);

        g_assert_cmpint(symlink(target, path), ==, 0);
}

static char *read_text(Vfs *vfs, const char *path, GError **error)
{
        gsize len = 0;
        char *text = vfs_read(vfs, path, 100, &len, error);

        g_assert_true(!text || strlen(text) == len);
        return text;
}

static void assert_reads(Vfs *vfs, const char *path, const char *expected)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *text = read_text(vfs, path, &error);

        g_test_message("%s", path);
        g_assert_no_error(error);
        g_assert_cmpstr(text, ==, expected);
}

static void assert_code(GError *error, ErrCode code)
{
        g_test_message("%s", error ? error->message : "no error");
        g_assert_nonnull(error);
        g_assert_true(err_is(error, code));
        g_assert_nonnull(strstr(error->message, "file system 'data'"));
}

static void assert_unreadable(Vfs *vfs, const char *path, ErrCode code)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *text = read_text(vfs, path, &error);

        g_test_message("%s", path);
        g_assert_null(text);
        assert_code(error, code);
}

/* ---- reading ---- */

static void assert_leads(Vfs *vfs, const char *path, const char *want)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *target = vfs_read_link(vfs, path, &error);

        g_assert_cmpstr(target, ==, want);
        g_assert_cmpint(want == NULL, ==, err_is(error, ERR_NOT_FOUND));
}

static void test_read_link(Fixture *f, gconstpointer unused)
{
        link_to(f, "../none", "there");
        assert_leads(f->vfs, "there", "../none");
        assert_leads(f->vfs, "a", NULL); /* a file */
        assert_leads(f->vfs, "none", NULL);
}

static void test_read(Fixture *f, gconstpointer unused)
{
        g_autofree char *fifo = g_build_filename(f->root, "fifo", NULL),
                        *dir = g_build_filename(f->root, "d", NULL);

        g_assert_true(mkfifo(fifo, 0644) == 0 && g_mkdir(dir, 0755) == 0);
        write_file(dir, "b", "");
        link_to(f, "d/b", "within");
        assert_reads(f->vfs, "a", "hello");
        assert_reads(f->vfs, "./a", "hello");
        assert_reads(f->vfs, "/a", "hello");
        assert_reads(f->vfs, "d/../a", "hello");
        assert_reads(f->vfs, "within", "");
        assert_unreadable(f->vfs, "none", ERR_NOT_FOUND);
        assert_unreadable(f->vfs, "a/none", ERR_NOT_FOUND);
        assert_unreadable(f->vfs, "fifo", ERR_INVALID); /* and does not block */
        assert_unreadable(f->vfs, "d", ERR_INVALID);
        assert_unreadable(f->vfs, "", ERR_INVALID);
}

static void test_limit(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        gsize len = 0;
        g_autofree char *all = vfs_read(f->vfs, "a", 5, &len, NULL), *more = NULL;

        g_assert_cmpstr(all, ==, "hello");
        more = vfs_read(f->vfs, "a", 4, &len, &error);
        g_assert_null(more);
        assert_code(error, ERR_TOO_LARGE);
}

/* Not by "..", not by a link, not by an absolute link. */
static void test_outside(Fixture *f, gconstpointer unused)
{
        static const char *const paths[] = {
                "../outside/secret", "d/../../outside/secret", "up", "up-dir/secret",
                "absolute",          "absolute-dir/secret"
        };
        g_autofree char *file = g_build_filename(f->outside, "secret", NULL);

        link_to(f, "../outside/secret", "up");
        link_to(f, "../outside", "up-dir");
        link_to(f, file, "absolute");
        link_to(f, f->outside, "absolute-dir");
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                g_autoptr(GError) write_error = NULL, dirs_error = NULL, list_error = NULL;
                g_autofree char *below = g_strconcat(paths[i], "/x", NULL);
                bool exists;

                assert_unreadable(f->vfs, paths[i], ERR_INVALID);
                g_assert_false(vfs_make_dirs(f->vfs, below, &dirs_error));
                g_assert_false(vfs_write(f->vfs, below, "x", 1, &write_error));
                g_assert_false(vfs_exists(f->vfs, paths[i], &exists, NULL));
        }
        g_assert_true(vfs_remove(f->vfs, "up-dir", NULL)); /* the link */
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
}

static void test_stat(Fixture *f, gconstpointer unused)
{
        g_autofree char *path = g_build_filename(f->root, "a", NULL);
        const struct timespec times[] = { { 1000, 0 }, { 1234, 567000000 } };
        VfsStat stat = { 0 };
        bool exists = true;

        g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
        g_assert_true(vfs_stat(f->vfs, "a", &stat, NULL));
        g_assert_cmpint(stat.size, ==, 5);
        g_assert_cmpint(stat.mtime, ==, 1234567);
        g_assert_false(stat.is_dir);
        g_assert_true(vfs_stat(f->vfs, "", &stat, NULL));
        g_assert_true(stat.is_dir && stat.size == 0);
        g_assert_true(vfs_exists(f->vfs, "none", &exists, NULL) && !exists);
        g_assert_true(vfs_exists(f->vfs, "a", &exists, NULL) && exists);
}

static void test_list(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) names = NULL, few = NULL;
        g_autofree char *joined = NULL;

        write_file(f->root, "c", "");
        write_file(f->root, "b", "");
        names = vfs_list(f->vfs, "", 3, NULL);
        joined = g_strjoinv(" ", names);
        g_assert_cmpstr(joined, ==, "a b c");
        few = vfs_list(f->vfs, "", 2, &error);
        g_assert_null(few);
        assert_code(error, ERR_TOO_LARGE);
}

/* What /proc says about the server is not the user's. */
static void test_proc(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        FilesystemPlace proc = f->place;
        g_autoptr(Vfs) vfs = NULL;

        proc.root = (char[]){ "/proc/self" };
        vfs = vfs_open(&proc, NULL, &error);
        g_assert_null(vfs);
        assert_code(error, ERR_DENIED);
}

/* ---- changing ---- */

static void test_write(Fixture *f, gconstpointer unused)
{
        g_auto(GStrv) names = NULL;

        g_assert_true(vfs_write(f->vfs, "x/y/z", "one", 3, NULL));
        assert_reads(f->vfs, "x/y/z", "one");
        g_assert_true(vfs_write(f->vfs, "x/y/z", "", 0, NULL));
        assert_reads(f->vfs, "x/y/z", "");
        g_assert_false(vfs_write(f->vfs, "x/y", "one", 3, NULL)); /* a directory */
        g_assert_false(vfs_write(f->vfs, "", "one", 3, NULL));
        names = vfs_list(f->vfs, "x/y", 10, NULL);
        g_assert_cmpuint(g_strv_length(names), ==, 1); /* and no temporary file */
}

static void test_make_dirs(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        VfsStat stat;

        g_assert_true(vfs_make_dirs(f->vfs, "p/q/r", NULL));
        g_assert_true(vfs_make_dirs(f->vfs, "p/q/r", NULL));
        g_assert_true(vfs_make_dirs(f->vfs, "", NULL));
        g_assert_true(vfs_stat(f->vfs, "p/q/r", &stat, NULL) && stat.is_dir);
        g_assert_true(vfs_make_parents(f->vfs, "s/t/file", NULL));
        g_assert_true(vfs_stat(f->vfs, "s/t", &stat, NULL) && stat.is_dir);
        g_assert_false(vfs_stat(f->vfs, "s/t/file", &stat, NULL));
        g_assert_true(vfs_make_parents(f->vfs, "file", NULL));
        g_assert_false(vfs_make_dirs(f->vfs, "a/b", &error)); /* a is a file */
        assert_code(error, ERR_NOT_FOUND);
}

static void test_remove(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;
        bool exists;

        g_assert_true(vfs_write(f->vfs, "x/y/z", "one", 3, NULL));
        g_assert_true(vfs_remove(f->vfs, "x", NULL));
        g_assert_true(vfs_exists(f->vfs, "x", &exists, NULL) && !exists);
        g_assert_true(vfs_remove(f->vfs, "x", NULL));
        g_assert_true(vfs_remove(f->vfs, "x/y/z", NULL));
        g_assert_true(vfs_remove(f->vfs, "a", NULL));
        g_assert_false(vfs_remove(f->vfs, "", &error));
        assert_code(error, ERR_INVALID);
}

static void test_read_only(Fixture *f, gconstpointer unused)
{
        GError *errors[4] = { NULL };

        assert_reads(f->vfs, "a", "hello");
        g_assert_false(vfs_write(f->vfs, "b", "x", 1, &errors[0]));
        g_assert_false(vfs_make_dirs(f->vfs, "b", &errors[1]));
        g_assert_false(vfs_make_parents(f->vfs, "b/c", &errors[2]));
        g_assert_false(vfs_remove(f->vfs, "a", &errors[3]));
        for (size_t i = 0; i < G_N_ELEMENTS(errors); i++) {
                assert_code(errors[i], ERR_DENIED);
                g_error_free(errors[i]);
        }
        assert_reads(f->vfs, "a", "hello");
}

static void test_no_root(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) missing = NULL, file = NULL, unusable = NULL;
        FilesystemPlace place = f->place;
        g_autofree char *none = g_build_filename(f->root, "none", NULL),
                        *a = g_build_filename(f->root, "a", NULL);

        place.root = none;
        g_assert_null(vfs_open(&place, NULL, &missing));
        assert_code(missing, ERR_NOT_FOUND);
        place.root = a;
        g_assert_null(vfs_open(&place, NULL, &file));
        assert_code(file, ERR_NOT_FOUND);
        place.type = FILESYSTEM_S3;
        g_assert_null(vfs_open(&place, NULL, &unusable));
        g_assert_true(err_is(unusable, ERR_CONFLICT));
}

/* ---- rights ---- */

static const gid_t shared[] = { SHARED };
static const UnixRights of_user = { USER, GROUP, (gid_t *)shared, 1 };

static void put(const Fixture *f, const char *name, uid_t uid, gid_t gid, mode_t mode)
{
        g_autofree char *path = g_build_filename(f->root, name, NULL);

        write_file(f->root, name, name);
        g_assert_true(chown(path, uid, gid) == 0 && g_chmod(path, mode) == 0);
}

/* A server that is not root has no rights but its own. */
static bool is_refused(const Fixture *f)
{
        g_autoptr(GError) error = NULL;

        if (geteuid() == 0)
                return false;
        g_assert_null(vfs_open(&f->place, &of_user, &error));
        g_assert_true(err_is(error, ERR_DENIED));
        return true;
}

static void test_rights(Fixture *f, gconstpointer unused)
{
        g_autoptr(Vfs) vfs = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_build_filename(f->root, "made/here", NULL);
        struct stat st;

        if (is_refused(f))
                return;
        put(f, "mine", USER, GROUP, 0400);
        put(f, "groups", 0, GROUP, 0040);
        put(f, "shared", 0, SHARED, 0040);
        put(f, "roots", 0, 0, 0640);
        vfs = vfs_open(&f->place, &of_user, &error);
        g_assert_no_error(error);
        assert_reads(vfs, "mine", "mine");
        assert_reads(vfs, "groups", "groups");
        assert_reads(vfs, "shared", "shared");
        assert_reads(vfs, "a", "hello"); /* anybody may */
        assert_unreadable(vfs, "roots", ERR_DENIED);
        assert_reads(f->vfs, "roots", "roots");                /* the server itself */
        g_assert_false(vfs_write(vfs, "new", "x", 1, &error)); /* into a directory of root */
        assert_code(error, ERR_DENIED);
        g_assert_cmpint(chown(f->root, USER, GROUP), ==, 0);
        g_assert_true(vfs_write(vfs, "made/here", "x", 1, NULL));
        g_assert_true(stat(path, &st) == 0 && st.st_uid == USER && st.st_gid == GROUP);
        g_assert_true(vfs_remove(vfs, "roots", NULL)); /* as the owner of the directory may */
}

static void test_root_of_others(Fixture *f, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;

        if (is_refused(f))
                return;
        g_assert_cmpint(g_chmod(f->dir, 0700), ==, 0);
        g_assert_null(vfs_open(&f->place, &of_user, &error));
        assert_code(error, ERR_DENIED);
        g_assert_nonnull(strstr(error->message, "'ann' may not use"));
        g_clear_error(&error);
        g_assert_true(g_chmod(f->dir, 0755) == 0 && g_chmod(f->root, 0700) == 0);
        g_assert_null(vfs_open(&f->place, &of_user, &error));
        assert_code(error, ERR_DENIED);
        g_assert_cmpint(g_chmod(f->root, 0755), ==, 0);
}

typedef struct {
        const char *path;
        pthread_barrier_t taken;
        bool opened;
} OtherThread;

/* A thread that was started before the other took its rights: a new one would begin with them. */
static void *open_meanwhile(void *arg)
{
        OtherThread *other = arg;
        fd_auto int fd = -1;

        pthread_barrier_wait(&other->taken);
        fd = open(other->path, O_RDONLY | O_CLOEXEC);
        other->opened = fd >= 0;
        return NULL;
}

static char *status_line(const char *name)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        g_assert_true(g_file_get_contents("/proc/thread-self/status", &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
                if (g_str_has_prefix(*line, name))
                        return g_strdup(*line);
        return NULL;
}

/* Other threads keep the server's rights, and the thread gets back what it had. */
static void test_one_thread(Fixture *f, gconstpointer unused)
{
        static const char *const lines[] = { "Uid:", "Gid:", "Groups:", "CapEff:", "CapPrm:" };
        g_autofree char *path = g_build_filename(f->root, "roots", NULL);
        char *before[G_N_ELEMENTS(lines)];
        g_autofree char *without = NULL;
        UnixRightsKept kept;
        OtherThread other = { .path = path };
        pthread_t thread;

        if (is_refused(f))
                return;
        put(f, "roots", 0, 0, 0600);
        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
                before[i] = status_line(lines[i]);
        pthread_barrier_init(&other.taken, NULL, 2);
        g_assert_true(pthread_create(&thread, NULL, open_meanwhile, &other) == 0);
        g_assert_true(unix_rights_take(&of_user, &kept, NULL));
        g_assert_cmpint(open(path, O_RDONLY | O_CLOEXEC), ==, -1);
        without = status_line("CapEff:");
        pthread_barrier_wait(&other.taken);
        g_assert_true(pthread_join(thread, NULL) == 0);
        unix_rights_restore(&kept);
        pthread_barrier_destroy(&other.taken);
        g_assert_cmpstr(without, ==, "CapEff:\t0000000000000000");
        g_assert_true(other.opened);
        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_autofree char *after = status_line(lines[i]);

                g_assert_cmpstr(before[i], ==, after);
                g_free(before[i]);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        umask(022);
        g_test_add("/vfs/read", Fixture, NULL, set_up, test_read, tear_down);
        g_test_add("/vfs/read-link", Fixture, NULL, set_up, test_read_link, tear_down);
        g_test_add("/vfs/limit", Fixture, NULL, set_up, test_limit, tear_down);
        g_test_add("/vfs/outside", Fixture, NULL, set_up, test_outside, tear_down);
        g_test_add("/vfs/stat", Fixture, NULL, set_up, test_stat, tear_down);
        g_test_add("/vfs/list", Fixture, NULL, set_up, test_list, tear_down);
        g_test_add("/vfs/proc", Fixture, NULL, set_up, test_proc, tear_down);
        g_test_add("/vfs/write", Fixture, NULL, set_up, test_write, tear_down);
        g_test_add("/vfs/make dirs", Fixture, NULL, set_up, test_make_dirs, tear_down);
        g_test_add("/vfs/remove", Fixture, NULL, set_up, test_remove, tear_down);
        g_test_add("/vfs/read only", Fixture, "ro", set_up, test_read_only, tear_down);
        g_test_add("/vfs/no root", Fixture, NULL, set_up, test_no_root, tear_down);
        g_test_add("/vfs/rights", Fixture, NULL, set_up, test_rights, tear_down);
        g_test_add("/vfs/root of others", Fixture, NULL, set_up, test_root_of_others, tear_down);
        g_test_add("/vfs/one thread", Fixture, NULL, set_up, test_one_thread, tear_down);
        return g_test_run();
}
