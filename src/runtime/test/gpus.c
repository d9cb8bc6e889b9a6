/* Which devices of the machine's GPUs a member may not open, and how it counts its own. */
#include "runtime/local/gpus.h"

#include <unistd.h>

#include "base/file.h"

static void test_denied(void)
{
        static const GpuDevices none = { 0 }, two = { .n = 2, .major = 195, .minors = { 0, 1 } },
                                gap = { .n = 3, .major = 195, .minors = { 0, 2, 63 } };
        static const struct {
                const GpuDevices *devices;
                const char *given;
                guint64 want;
        } cases[] = {
                { &none, NULL, 0 }, { &none, "0", 0 }, /* declared, and no device of ours to know of */
                { &two, NULL, 3 },  { &two, "", 3 },
                { &two, "0", 2 },   { &two, "1", 1 },
                { &two, "0,1", 0 }, { &two, "0,1,2,3", 0 },
                { &two, "11", 3 },  { &gap, "1", (guint64)1 << 63 | 1 }, /* the second one is /dev/nvidia2 */
                { &gap, "0,2", 4 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmphex(gpus_denied(cases[i].devices, cases[i].given), ==, cases[i].want);
}

static void test_renumbered(void)
{
        static const char *const cases[][2] = {
                { "0", "0" }, { "5", "0" }, { "3,11", "0,1" }, { "1,2,63", "0,1,2" }
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *seen = gpus_renumbered(cases[i][0]);

                g_assert_cmpstr(seen, ==, cases[i][1]);
        }
}

/* Files with such names are none: only devices have numbers. */
static void test_find(void)
{
        static const char *const names[] = { "nvidia0", "nvidiactl", "nvidia-uvm", "null" };
        g_autofree char *root = g_dir_make_tmp("paddle-gpus-XXXXXX", NULL);
        g_autofree char *dir = g_build_filename(root, "dev", NULL),
                        *null = g_build_filename(dir, "nvidia3", NULL);
        GpuDevices found;

        g_assert_true(file_mkdirs(dir, 0755, NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename(dir, names[i], NULL);

                g_assert_true(g_file_set_contents(path, "", 0, NULL));
        }
        gpus_find(root, &found);
        g_assert_cmpuint(found.n, ==, 0);
        g_assert_no_errno(symlink("/dev/null", null)); /* a device that is there on every machine: (1, 3) */
        gpus_find(root, &found);
        g_assert_cmpuint(found.n, ==, 1);
        g_assert_cmpuint(found.major, ==, 1);
        g_assert_cmpuint(found.minors[0], ==, 3);
        (void)file_remove_tree(root, NULL); /* scratch */
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/gpus/denied", test_denied);
        g_test_add_func("/gpus/renumbered", test_renumbered);
        g_test_add_func("/gpus/find", test_find);
        return g_test_run();
}
