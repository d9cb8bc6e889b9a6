/* Open files without a name (storage/open-files.h). */
#include "storage/open-files.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/test/scratch.h"

typedef struct {
        ino_t wanted;
        int times;
} Count;

static void count(const struct stat *st, void *arg)
{
        Count *found = arg;

        g_assert_cmpuint(st->st_nlink, ==, 0);
        found->times += st->st_ino == found->wanted;
}

static int times_found(int fd, dev_t device, uid_t except)
{
        struct stat st;
        Count found = { 0 };
        const OpenFilesLook look = { .device = device, .except = except, .func = count, .arg = &found };

        g_assert_cmpint(fstat(fd, &st), ==, 0);
        found.wanted = st.st_ino;
        g_assert_true(open_files_unlinked(&look));
        return found.times;
}

static void test_unlinked(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "file", NULL),
                        *other = g_strconcat(path, " (deleted)", NULL);
        fd_auto int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), again = dup(fd);
        fd_auto int named = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        const uid_t nobodys = (uid_t)-1;
        struct stat st;

        g_assert_cmpint(fstat(fd, &st), ==, 0);
        g_assert_cmpint(times_found(fd, st.st_dev, nobodys), ==, 0); /* it has a name */
        g_assert_cmpint(unlink(path), ==, 0);
        g_assert_cmpint(times_found(fd, st.st_dev, nobodys), ==, 1); /* despite two descriptors */
        g_assert_cmpint(times_found(fd, st.st_dev + 1, nobodys), ==, 0);
        g_assert_cmpint(times_found(fd, st.st_dev, geteuid()), ==, 0);
        g_assert_cmpint(times_found(named, st.st_dev, nobodys), ==, 0);
}

typedef struct {
        const char *path;
        struct stat st;
        int opened[2], end[2]; /* pipes: the file is open; close it */
} Hidden;

static void *hold_alone(void *arg)
{
        Hidden *hidden = arg;
        char byte;
        int fd;

        g_assert_cmpint(unshare(CLONE_FILES), ==, 0);
        fd = open(hidden->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        g_assert_cmpint(fstat(fd, &hidden->st), ==, 0);
        g_assert_cmpint(unlink(hidden->path), ==, 0);
        g_assert_cmpint(write(hidden->opened[1], "", 1), ==, 1);
        g_assert_cmpint(read(hidden->end[0], &byte, 1), ==, 1);
        return NULL;
}

/* Only a thread has the descriptor, not the process. */
static void test_of_a_thread_alone(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "file", NULL);
        Hidden hidden = { .path = path };
        Count found = { 0 };
        OpenFilesLook look = { .except = (uid_t)-1, .func = count, .arg = &found };
        pthread_t thread;
        char byte;

        g_assert_cmpint(pipe(hidden.opened), ==, 0);
        g_assert_cmpint(pipe(hidden.end), ==, 0);
        g_assert_cmpint(pthread_create(&thread, NULL, hold_alone, &hidden), ==, 0);
        g_assert_cmpint(read(hidden.opened[0], &byte, 1), ==, 1);
        look.device = hidden.st.st_dev;
        found.wanted = hidden.st.st_ino;
        g_assert_true(open_files_unlinked(&look));
        g_assert_cmpint(found.times, ==, 1);
        g_assert_cmpint(write(hidden.end[1], "", 1), ==, 1);
        g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
        for (int i = 0; i < 2; i++) {
                close(hidden.opened[i]);
                close(hidden.end[i]);
        }
}

/* Processes outside the group are not inspected; here the group is empty. */
static void test_of_a_group(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *path = g_build_filename(dir, "file", NULL);
        fd_auto int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct stat st;
        Count found = { 0 };
        OpenFilesLook look = {
                .group = "/paddle/no-such-id/", .except = (uid_t)-1, .func = count, .arg = &found
        };

        g_assert_cmpint(fstat(fd, &st), ==, 0);
        g_assert_cmpint(unlink(path), ==, 0);
        look.device = st.st_dev;
        found.wanted = st.st_ino;
        g_assert_true(open_files_unlinked(&look));
        g_assert_cmpint(found.times, ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/open-files/unlinked", test_unlinked);
        g_test_add_func("/open-files/of-a-thread-alone", test_of_a_thread_alone);
        g_test_add_func("/open-files/of-a-group", test_of_a_group);
        return g_test_run();
}
