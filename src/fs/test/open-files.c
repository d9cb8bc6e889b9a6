/* Files that are open and have no name (fs/open-files.h). */
#include "fs/open-files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "fs/test/scratch.h"

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
        g_assert_cmpint(times_found(fd, st.st_dev, nobodys), ==, 1); /* though two descriptors hold it */
        g_assert_cmpint(times_found(fd, st.st_dev + 1, nobodys), ==, 0);
        g_assert_cmpint(times_found(fd, st.st_dev, geteuid()), ==, 0);
        g_assert_cmpint(times_found(named, st.st_dev, nobodys), ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/open-files/unlinked", test_unlinked);
        return g_test_run();
}
