/* The size of a tree (storage/weigh.h). */
#include "storage/weigh.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/test/scratch.h"

enum { KI = 1024, DEEP = 400 };

static void write_file(const char *dir, const char *name, gsize size)
{
        g_autofree char *path = g_build_filename(dir, name, NULL), *data = g_malloc0(size + 1);

        memset(data, 'x', size);
        g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
}

static Weight weigh(const char *dir, const WeighHow *how)
{
        static const WeighHow plain = { 0 };
        Weight weight = { 0 };

        g_assert_true(tree_weigh(AT_FDCWD, dir, how ? how : &plain, &weight));
        return weight;
}

static void a_name_counts_once(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *file = g_build_filename(dir, "a", NULL), *second = g_build_filename(dir, "b", NULL),
                        *hole = g_build_filename(dir, "hole", NULL),
                        *link = g_build_filename(dir, "link", NULL);
        g_autoptr(GHashTable) seen = weigh_seen_new();
        const WeighHow shared = { .shared = true }, together = { .seen = seen };
        fd_auto int fd = open(hole, O_RDWR | O_CREAT, 0600);
        Weight before = weigh(dir, NULL), after;

        write_file(dir, "a", 64 * KI);
        after = weigh(dir, NULL);
        g_assert_cmpint(after.bytes - before.bytes, >=, 64 * KI);
        g_assert_cmpint(after.bytes - before.bytes, <=, 72 * KI);
        g_assert_cmpint(after.files, ==, before.files + 1);
        g_assert_cmpint(linkat(AT_FDCWD, file, AT_FDCWD, second, 0), ==, 0);
        g_assert_cmpint(symlink("/", link), ==, 0);
        g_assert_cmpint(ftruncate(fd, G_GINT64_CONSTANT(1) << 40), ==, 0);
        g_assert_cmpint(weigh(dir, NULL).files, ==, after.files + 1); /* only the link */
        g_assert_cmpint(weigh(dir, NULL).bytes, <=, after.bytes + 8 * KI);
        g_assert_cmpint(weigh(dir, &shared).files, ==, after.files + 2);
        (void)weigh(dir, &together);
        g_assert_cmpint(weigh(dir, &together).bytes, <=, 16 * KI); /* counted before */
}

/* Deeper than the longest path, and than the number of kept descriptors. */
static void depth_does_not_matter(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        g_autofree char *name = g_strnfill(100, 'd');
        fd_auto int at = open(dir, O_RDONLY | O_DIRECTORY);
        Weight weight;

        for (int i = 0; i < DEEP; i++) {
                int next;

                g_assert_cmpint(mkdirat(at, name, 0700), ==, 0);
                g_assert_cmpint(mkdirat(at, "beside", 0700), ==, 0);
                next = openat(at, name, O_RDONLY | O_DIRECTORY);
                close(at);
                at = next;
        }
        weight = weigh(dir, NULL);
        g_assert_cmpint(weight.files, ==, 2 * DEEP + 1);
}

static bool at_once(void *arg)
{
        return true;
}

static void it_can_be_stopped(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        const WeighHow how = { .stopped = at_once };
        Weight weight = { 0 };

        for (int i = 0; i < 300; i++) {
                g_autofree char *name = g_strdup_printf("%d", i);

                write_file(dir, name, 0);
        }
        g_assert_false(tree_weigh(AT_FDCWD, dir, &how, &weight));
        g_assert_true(tree_weigh(AT_FDCWD, "/nowhere/at/all", &how, &weight));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/weigh/a-name-counts-once", a_name_counts_once);
        g_test_add_func("/weigh/depth-does-not-matter", depth_does_not_matter);
        g_test_add_func("/weigh/it-can-be-stopped", it_can_be_stopped);
        return g_test_run();
}
