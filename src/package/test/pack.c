/* Packing a directory, and copying a tree. */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "package/package.h"
#include "storage/test/scratch.h"

static const Entry *find(const Manifest *manifest, const char *path)
{
        for (guint i = 0; i < manifest->entries->len; i++)
                if (strcmp(((Entry *)manifest->entries->pdata[i])->path, path) == 0)
                        return manifest->entries->pdata[i];
        return NULL;
}

static void test_entries(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *script = g_build_filename(dir, "run.sh", NULL),
                        *empty = g_build_filename(dir, "empty", NULL);
        g_autofree char *link = g_build_filename(dir, "sub/link", NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = NULL, again = NULL;

        put(dir, "run.sh", "#!/bin/sh\n", -1);
        put(dir, "sub/gr\xc3\xbc\xc3\x9f.py", "abc", -1);
        put(dir, "sub/out.log", "x", -1);
        put(dir, ".gitignore", "*.log\n", -1);
        put(dir, "deep/.paddleignore", "!*.log\n", -1);
        put(dir, "deep/in.log", "y", -1);
        put(dir, ".git/config", "z", -1);
        put(dir, "m/__pycache__/x.pyc", "z", -1);
        g_assert_cmpint(chmod(script, 0755), ==, 0);
        g_assert_cmpint(mkdir(empty, 0755), ==, 0);
        g_assert_cmpint(symlink("../run.sh", link), ==, 0);
        manifest = manifest_of_directory(dir, NULL, NULL, &error);
        g_assert_no_error(error);
        g_assert_true(find(manifest, "run.sh")->executable);
        g_assert_false(find(manifest, "sub/gr\xc3\xbc\xc3\x9f.py")->executable);
        g_assert_cmpstr(find(manifest, "sub/gr\xc3\xbc\xc3\x9f.py")->hash, ==,
                        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
        g_assert_cmpint(find(manifest, "empty")->kind, ==, ENTRY_DIR);
        g_assert_cmpstr(find(manifest, "sub/link")->target, ==, "../run.sh");
        g_assert_nonnull(find(manifest, "deep/in.log"));
        g_assert_null(find(manifest, "sub/out.log"));
        g_assert_null(find(manifest, ".git/config"));
        g_assert_cmpint(find(manifest, "m")->kind, ==, ENTRY_DIR);
        g_assert_cmpuint(manifest->entries->len, ==, 8);
        again = manifest_of_directory(dir, NULL, NULL, &error);
        g_assert_cmpstr(again->hash, ==, manifest->hash);
}

static void make_socket(const char *path)
{
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        fd_auto int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        g_strlcpy(name.sun_path, path, sizeof name.sun_path);
        g_assert_cmpint(bind(fd, (struct sockaddr *)&name, sizeof name), ==, 0);
}
static void make_pipe(const char *path)
{
        g_assert_cmpint(mkfifo(path, 0600), ==, 0);
}
static void make_link_out(const char *path)
{
        g_assert_cmpint(symlink("../../etc/passwd", path), ==, 0);
}
static void make_link_absolute(const char *path)
{
        g_assert_cmpint(symlink("/etc/passwd", path), ==, 0);
}
static void make_link_middle(const char *path)
{
        g_assert_cmpint(symlink("x/../../y", path), ==, 0);
}

static void test_refused(void)
{
        static const struct {
                const char *name, *says;
                void (*make)(const char *path);
        } cases[] = {
                { "sock", "'sock' is a socket", make_socket },
                { "pipe", "'pipe' is a named pipe", make_pipe },
                { "out", "points out of the package", make_link_out },
                { "abs", "absolute", make_link_absolute },
                { "mid", "front", make_link_middle },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Scratch) dir = scratch_new();
                g_autofree char *path = g_build_filename(dir, cases[i].name, NULL);
                g_autoptr(Manifest) without = NULL;

                cases[i].make(path);
                assert_refused(manifest_of_directory(dir, NULL, NULL, error_), ERR_INVALID, cases[i].says);
                assert_refused(manifest_of_directory(dir, NULL, NULL, error_), ERR_INVALID, ".paddleignore");
                put(dir, ".paddleignore", cases[i].name, -1); /* the advice of the hint works */
                without = manifest_of_directory(dir, NULL, NULL, NULL);
                g_assert_nonnull(without);
        }
}

static void test_bad_names(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *latin = g_strconcat(dir, "/a\xff", NULL), *control = g_strconcat(dir, "/a\n", NULL);

        g_assert_cmpint(close(open(latin, O_CREAT | O_WRONLY, 0644)), ==, 0);
        assert_refused(manifest_of_directory(dir, NULL, NULL, error_), ERR_INVALID,
                       "'a\\xff': names are UTF-8");
        g_assert_cmpint(unlink(latin), ==, 0);
        g_assert_cmpint(close(open(control, O_CREAT | O_WRONLY, 0644)), ==, 0);
        assert_refused(manifest_of_directory(dir, NULL, NULL, error_), ERR_INVALID,
                       "'a\\x0a': names hold no control");
        assert_refused(manifest_of_directory("/nonexistent", NULL, NULL, error_), ERR_NOT_FOUND,
                       "'/nonexistent'");
        assert_refused(manifest_of_directory(control, NULL, NULL, error_), ERR_NOT_FOUND, "Not a directory");
}

/* In a child, because root can read everything. */
static int pack_as_nobody(const char *dir)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = NULL;

        if (getuid() == 0 && setresuid(65534, 65534, 65534) < 0)
                return 2;
        manifest = manifest_of_directory(dir, NULL, NULL, &error);
        if (!manifest && err_is(error, ERR_DENIED) && strstr(error->message, "cannot read 'secret'"))
                return 0;
        g_printerr("%s\n", error ? error->message : "no error");
        return 1;
}

static void test_unreadable(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "secret", NULL);
        int status = -1;
        pid_t pid;

        put(dir, "secret", "x", -1);
        g_assert_cmpint(chmod(path, 0), ==, 0);
        g_assert_cmpint(chmod(dir, 0755), ==, 0);
        pid = fork();
        if (pid == 0)
                _exit(pack_as_nobody(dir));
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(status, ==, 0);
}

typedef struct {
        char *path;
        gint stop;
} Writer;

enum { TRIES = 100 }; /* in which the writer may not have run while the file was read */

static gpointer keep_writing(gpointer arg)
{
        Writer *writer = arg;
        fd_auto int fd = open(writer->path, O_WRONLY);

        for (guint64 i = 0; !g_atomic_int_get(&writer->stop); i++)
                g_assert_cmpint(pwrite(fd, &i, sizeof i, 0), ==, sizeof i);
        return NULL;
}

static void test_changing(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "log", NULL), *big = g_malloc0(32 << 20);
        g_autoptr(GError) error = NULL;
        Writer writer = { path, 0 };
        GThread *thread;

        put(dir, "log", big, 32 << 20);
        thread = g_thread_new("writer", keep_writing, &writer);
        for (int i = 0; i < TRIES && !error; i++)
                manifest_free(manifest_of_directory(dir, NULL, NULL, &error));
        g_atomic_int_set(&writer.stop, 1);
        g_thread_join(thread);
        g_assert_true(err_is(error, ERR_CONFLICT));
        g_assert_nonnull(strstr(error->message, "'log' changes while it is read"));
}

typedef struct {
        GThread *thread;
        guint64 files, bytes;
} Seen;

static void see(guint64 files, guint64 bytes, void *arg)
{
        Seen *seen = arg;

        g_assert_true(g_thread_self() == seen->thread);
        g_assert_cmpuint(files, >=, seen->files);
        seen->files = files;
        seen->bytes = bytes;
}

static void test_many(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *data = g_malloc0(10000);
        g_autoptr(GError) error = NULL;
        g_autoptr(Manifest) manifest = NULL;
        Seen seen = { g_thread_self(), 0, 0 };
        gint64 start;

        for (int i = 0; i < 1000; i++) {
                g_autofree char *name = g_strdup_printf("d%d/f%d.py", i % 20, i);

                memcpy(data, &i, sizeof i);
                put(dir, name, data, 10000);
        }
        start = g_get_monotonic_time();
        manifest = manifest_of_directory(dir, see, &seen, &error);
        g_assert_no_error(error);
        g_test_message("1,000 files of 10 kB: %" G_GINT64_FORMAT " us", g_get_monotonic_time() - start);
        g_assert_cmpuint(manifest->entries->len, ==, 1000);
        g_assert_cmpuint(manifest->bytes, ==, 10000000);
        g_assert_cmpuint(seen.files, ==, 1000);
        g_assert_cmpuint(seen.bytes, ==, 10000000);
}

static void test_copy(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *tree = g_build_filename(dir, "tree", NULL),
                        *dest = g_build_filename(dir, "copy", NULL);
        g_autofree char *file = g_build_filename(tree, "a/f", NULL),
                        *copied = g_build_filename(dest, "a/f", NULL);
        g_autofree char *link = g_build_filename(tree, "l", NULL),
                        *copied_link = g_build_filename(dest, "l", NULL);
        g_autofree char *text = NULL, *target = NULL, *original = NULL;
        g_autoptr(GError) error = NULL;
        struct stat st;

        put(tree, "a/f", "abc", 3);
        g_assert_cmpint(chmod(file, 0555), ==, 0);
        g_assert_cmpint(symlink("a/f", link), ==, 0);
        g_assert_true(package_copy(tree, dest, &error));
        text = get(dest, "a/f");
        g_assert_cmpstr(text, ==, "abc");
        g_assert_cmpint(stat(copied, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, 0755);
        g_assert_cmpint(st.st_nlink, ==, 1);
        target = g_file_read_link(copied_link, NULL);
        g_assert_cmpstr(target, ==, "a/f");
        put(dest, "a/f", "new", 3);
        original = get(tree, "a/f");
        g_assert_cmpstr(original, ==, "abc");
        assert_refused(package_copy(tree, dest, error_), ERR_EXISTS, "exists already");
        g_assert_true(file_remove_tree(dest, NULL));
        assert_refused(package_copy("/nonexistent", dest, error_), ERR_NOT_FOUND, "/nonexistent");
        g_assert_false(g_file_test(dest, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/package/pack/entries", test_entries);
        g_test_add_func("/package/pack/refused", test_refused);
        g_test_add_func("/package/pack/bad-names", test_bad_names);
        g_test_add_func("/package/pack/unreadable", test_unreadable);
        g_test_add_func("/package/pack/changing", test_changing);
        g_test_add_func("/package/pack/many", test_many);
        g_test_add_func("/package/pack/copy", test_copy);
        return g_test_run();
}
