/* The machine's resources, from trees that look like machines. */
#include "runtime/local/inventory.h"

#include "base/file.h"

enum { FILES_MAX = 8 };

static const struct {
        const char *name;
        const char *files[FILES_MAX][2];
        Resources want;
} cases[] = {
        { "no limits",
          { { "proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n" },
            { "proc/self/cgroup", "0::/\n" } },
          { { 4000, 16384 * 1024, 0 } } },
        { "v2, limit above",
          { { "proc/meminfo", "MemTotal: 16384 kB\n" },
            { "proc/self/cgroup", "0::/a.slice/b\n" },
            { "sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n" },
            { "sys/fs/cgroup/a.slice/b/cpu.max", "max 100000\n" },
            { "sys/fs/cgroup/a.slice/b/memory.max", "1048576\n" } },
          { { 1500, 1048576, 0 } } },
        { "v1",
          { { "proc/meminfo", "MemTotal: 16384 kB\n" },
            { "proc/self/cgroup", "5:memory:/j\n4:cpu,cpuacct:/j\n0::/\n" },
            { "sys/fs/cgroup/memory/j/memory.limit_in_bytes", "2097152\n" },
            { "sys/fs/cgroup/cpu,cpuacct/j/cpu.cfs_quota_us", "50000\n" },
            { "sys/fs/cgroup/cpu,cpuacct/j/cpu.cfs_period_us", "100000\n" } },
          { { 500, 2097152, 0 } } },
        { "v1 without limits says so with huge numbers",
          { { "proc/meminfo", "MemTotal: 16384 kB\n" },
            { "proc/self/cgroup", "5:memory:/\n4:cpu:/\n" },
            { "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n" },
            { "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n" },
            { "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n" } },
          { { 4000, 16384 * 1024, 0 } } },
        { "a container sees its own root only",
          { { "proc/meminfo", "MemTotal: 16384 kB\n" },
            { "proc/self/cgroup", "0::/docker/abc\n" },
            { "sys/fs/cgroup/memory.max", "4096\n" } },
          { { 4000, 4096, 0 } } },
        { "quota above the CPUs",
          { { "proc/self/cgroup", "0::/\n" }, { "sys/fs/cgroup/cpu.max", "900000 100000\n" } },
          { { 4000, 0, 0 } } },
        { "GPUs",
          { { "dev/nvidia0", "" }, { "dev/nvidia1", "" }, { "dev/nvidiactl", "" }, { "dev/nvidia-uvm", "" } },
          { { 4000, 0, 2 } } },
};

static void write_tree(const char *root, const char *const files[FILES_MAX][2])
{
        for (int i = 0; i < FILES_MAX && files[i][0]; i++) {
                g_autofree char *path = g_build_filename(root, files[i][0], NULL);
                g_autofree char *dir = g_path_get_dirname(path);

                g_assert_true(file_mkdirs(dir, 0755, NULL));
                g_assert_true(g_file_set_contents(path, files[i][1], -1, NULL));
        }
}

static void test_read(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *root = g_dir_make_tmp("test-inventory-XXXXXX", NULL);
                Resources got;

                g_test_message("%s", cases[i].name);
                write_tree(root, cases[i].files);
                inventory_read(root, 4, &got);
                g_assert_cmpint(got.cpu_milli, ==, cases[i].want.cpu_milli);
                g_assert_cmpint(got.memory, ==, cases[i].want.memory);
                g_assert_cmpint(got.gpus, ==, cases[i].want.gpus);
                g_assert_true(file_remove_tree(root, NULL));
        }
}

static void test_processes(void)
{
        static const struct {
                const char *pid_max, *threads_max; /* NULL: no such file */
                gint64 want;
        } rows[] = { { "32768\n", "189000\n", 32768 },
                     { "4194304\n", "189000\n", 189000 },
                     { "4194304\n", NULL, 4194304 },
                     { NULL, NULL, 32768 } };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *root = g_dir_make_tmp("test-inventory-XXXXXX", NULL);
                g_autofree char *dir = g_build_filename(root, "proc/sys/kernel", NULL);
                g_autofree char *pid_max = g_build_filename(dir, "pid_max", NULL),
                                *threads_max = g_build_filename(dir, "threads-max", NULL);

                g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
                g_assert_true(!rows[i].pid_max || g_file_set_contents(pid_max, rows[i].pid_max, -1, NULL));
                g_assert_true(!rows[i].threads_max ||
                              g_file_set_contents(threads_max, rows[i].threads_max, -1, NULL));
                g_assert_cmpint(inventory_processes(root), ==, rows[i].want);
                g_assert_true(file_remove_tree(root, NULL));
        }
}

static void test_override(void)
{
        Resources override = { .cpu_milli = 12345, .gpus = 8 }, got;

        inventory_get(&override, &got);
        g_assert_cmpint(got.cpu_milli, ==, 12345);
        g_assert_cmpint(got.gpus, ==, 8);
        g_assert_cmpint(got.memory, >, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/inventory/read", test_read);
        g_test_add_func("/inventory/processes", test_processes);
        g_test_add_func("/inventory/override", test_override);
        return g_test_run();
}
