/* A member's counters, from trees that look like machines. */
#include "runtime/local/measure.h"

#include "base/file.h"

enum { FILES_MAX = 10 };

#define V2 "30 23 0:26 / %s/cg rw,nosuid - cgroup2 cgroup2 rw\n"
#define V1                                                                                                   \
        "30 23 0:26 / %s/memory rw - cgroup cgroup rw,memory\n31 23 0:27 / %s/cpu rw - cgroup cgroup "       \
        "rw,cpu,cpuacct\n32 23 0:28 /docker/x %s/pids rw - cgroup cgroup rw,pids\n"

static const struct {
        const char *name, *mounts, *groups;
        const char *files[FILES_MAX][2];
        bool known;
        TaskUsage want;
} cases[] = {
        { "version 2",
          V2,
          "0::/paddle/ab/slot-3\n",
          { { "cg/paddle/ab/slot-3/memory.current", "4096\n" },
            { "cg/paddle/ab/slot-3/memory.peak", "8192\n" },
            { "cg/paddle/ab/slot-3/cpu.stat", "nr_periods 0\nusage_usec 1234\nuser_usec 1\n" },
            { "cg/paddle/ab/slot-3/pids.current", "7\n" } },
          true,
          { .cpu_us = 1234, .memory = 4096, .memory_peak = 8192, .processes = 7 } },
        { "version 1, one of them seen from inside a container",
          V1,
          "9:memory:/paddle/ab/slot-0\n8:cpu,cpuacct:/paddle/ab/slot-0\n7:pids:/docker/x/paddle/ab/slot-0\n",
          { { "memory/paddle/ab/slot-0/memory.usage_in_bytes", "100\n" },
            { "memory/paddle/ab/slot-0/memory.max_usage_in_bytes", "200\n" },
            { "cpu/paddle/ab/slot-0/cpuacct.usage", "5000000\n" },
            { "pids/paddle/ab/slot-0/pids.current", "1\n" } },
          true,
          { .cpu_us = 5000, .memory = 100, .memory_peak = 200, .processes = 1 } },
        { "what is not counted is 0",
          V2,
          "0::/paddle/ab/slot-3\n",
          { { "cg/paddle/ab/slot-3/memory.current", "4096\n" },
            { "cg/paddle/ab/slot-3/memory.peak", "max\n" } },
          true,
          { .memory = 4096 } },
        { "a group that others share says nothing",
          V2,
          "0::/user.slice\n",
          { { "cg/user.slice/memory.current", "4096\n" } },
          false,
          { 0 } },
        { "not mounted", "", "0::/paddle/ab/slot-3\n", { { NULL } }, false, { 0 } },
        { "no such process", V2, NULL, { { NULL } }, false, { 0 } },
};

static void write_file(const char *root, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(root, name, NULL);
        g_autofree char *dir = g_path_get_dirname(path);

        g_assert_true(file_mkdirs(dir, 0755, NULL));
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void test_case(gconstpointer data)
{
        gsize i = GPOINTER_TO_SIZE(data);
        g_autofree char *root = g_dir_make_tmp("measure-XXXXXX", NULL);
        g_auto(GStrv) parts = g_strsplit(cases[i].mounts, "%s", -1);
        g_autofree char *mounts = g_strjoinv(root, parts);
        g_autofree char *proc = g_build_filename(root, "proc", NULL);
        TaskUsage got = { 0 };

        write_file(root, "proc/self/mountinfo", mounts);
        if (cases[i].groups)
                write_file(root, "proc/42/cgroup", cases[i].groups);
        for (int k = 0; k < FILES_MAX && cases[i].files[k][0]; k++)
                write_file(root, cases[i].files[k][0], cases[i].files[k][1]);
        g_assert_true(measure_process(proc, 42, &got) == cases[i].known);
        g_assert_cmpint(got.cpu_us, ==, cases[i].want.cpu_us);
        g_assert_cmpint(got.memory, ==, cases[i].want.memory);
        g_assert_cmpint(got.memory_peak, ==, cases[i].want.memory_peak);
        g_assert_cmpint(got.processes, ==, cases[i].want.processes);
        g_assert_true(file_remove_tree(root, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/measure/%s", cases[i].name);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_case);
        }
        return g_test_run();
}
