/* Checks of a machine that is imitated by files. */
#include "cli/doctor.h"

#include <string.h>

#include "base/file.h"

static char *root;

static void put(const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(root, name, NULL), *dir = g_path_get_dirname(path);

        g_assert_true(file_mkdirs(dir, 0700, NULL));
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void set_up(void)
{
        root = g_dir_make_tmp("doctor-XXXXXX", NULL);
}

static void tear_down(void)
{
        g_assert_true(file_remove_tree(root, NULL));
        g_free(root);
}

static void assert_finds(Finding found, Level level, const char *text)
{
        g_assert_cmpint(found.level, ==, level);
        if (!strstr(found.text, text))
                g_error("'%s' is not in '%s'", text, found.text);
        g_assert_true((found.todo != NULL) == (level != GOOD));
        g_free(found.text);
        g_free(found.todo);
}

static void test_gpus(void)
{
        set_up();
        assert_finds(doctor_gpus(root), GOOD, "none");
        put("sys/bus/pci/devices/0000:01:00.0/vendor", "0x8086\n");
        put("sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
        assert_finds(doctor_gpus(root), GOOD, "none");
        put("sys/bus/pci/devices/0000:02:00.0/vendor", "0x10de\n");
        put("sys/bus/pci/devices/0000:02:00.0/class", "0x030200\n");
        assert_finds(doctor_gpus(root), DOUBT, "no device /dev/nvidia0");
        put("dev/nvidia0", "");
        put("dev/nvidiactl", "");
        assert_finds(doctor_gpus(root), DOUBT, "1 device, but the driver");
        put("dev/nvidia1", "");
        put("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar 5\n");
        assert_finds(doctor_gpus(root), GOOD, "2: driver 550.54.15");
        put("proc/driver/nvidia/gpus/0000:02:00.0/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 1\n");
        assert_finds(doctor_gpus(root), GOOD, "2: NVIDIA H100 80GB HBM3, driver 550.54.15");
        tear_down();
}

static void test_memory(void)
{
        set_up();
        assert_finds(doctor_memory(root), DOUBT, "is unknown");
        put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");
        assert_finds(doctor_memory(root), GOOD, "8.0 GiB of 16.0 GiB are available");
        put("proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    524288 kB\n");
        assert_finds(doctor_memory(root), DOUBT, "512.0 MiB of 16.0 GiB");
        tear_down();
}

static void test_kernel(void)
{
        set_up();
        assert_finds(doctor_kernel(root), DOUBT, "no cgroups");
        put("proc/sys/kernel/seccomp/actions_avail", "kill_process\n");
        put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        {
                Finding found = doctor_kernel(root);

                g_assert_nonnull(strstr(found.text, "cgroup v2"));
                g_assert_nonnull(strstr(found.text, "seccomp yes"));
                g_free(found.text);
                g_free(found.todo);
        }
        tear_down();
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/doctor/gpus", test_gpus);
        g_test_add_func("/doctor/memory", test_memory);
        g_test_add_func("/doctor/kernel", test_kernel);
        return g_test_run();
}
