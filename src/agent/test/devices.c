/* The kernel itself denies devices to a group, in both versions of cgroups if this machine has them. Opening
 * a device without a driver fails with ENXIO if it is permitted, and with EPERM if not. */
#include "agent/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/sandbox.h"
#include "agent/slot.h"
#include "base/err.h"
#include "base/file.h"

enum { MAJOR = 195, ZERO_MAJOR = 1, ZERO_MINOR = 5 };

/* The mount point of the hierarchy whose line in mountinfo has both; the caller's; NULL: not mounted. */
static char *find_mount(const char *type, const char *word)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        g_assert_true(file_read("/proc/self/mountinfo", 4 << 20, &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                const char *rest = strstr(*line, type);
                g_auto(GStrv) fields = g_strsplit(*line, " ", 6);

                if (rest && strstr(rest, word) && g_strv_length(fields) == 6)
                        return g_strdup(fields[4]);
        }
        return NULL;
}

static char *node(const char *dir, guint minor)
{
        char *path = g_strdup_printf("%s/d%u", dir, minor);

        g_assert_no_errno(mknod(path, S_IFCHR | 0600, makedev(MAJOR, minor)));
        return path;
}

static int error_of_open(const char *path)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);

        if (fd < 0)
                return errno;
        close(fd);
        return 0;
}

/* Opens the devices in the slot; the exit status has a bit for each that is denied. */
static int denied_in(const Slot *slot, const SlotLimits *limits, char *const *paths)
{
        int gate[2], status;
        pid_t child;

        g_assert_no_errno(pipe2(gate, O_CLOEXEC));
        child = fork();
        if (child == 0) {
                char byte;
                int bits = 0;

                if (read(gate[0], &byte, 1) != 1)
                        _exit(255);
                for (int i = 0; paths[i]; i++)
                        bits |= (error_of_open(paths[i]) == EPERM) << i;
                _exit(bits);
        }
        g_assert_true(slot_attach(slot, limits, child));
        g_assert_cmpint(write(gate[1], "", 1), ==, 1);
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        close(gate[0]);
        close(gate[1]);
        g_assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void try_slot(Slot *slot)
{
        static const SlotLimits none = { 0 };
        const SlotLimits both = { .denied = { .major = MAJOR, .minors = 5 } },
                         last = { .denied = { .major = MAJOR, .minors = (guint64)1 << 63 } };
        SlotUsage usage = { 0 };
        const char *file;
        g_autofree char *dir = g_dir_make_tmp("paddle-devices-XXXXXX", NULL);
        g_auto(GStrv) paths = g_new0(char *, 6);

        paths[0] = node(dir, 0);
        paths[1] = node(dir, 1);
        paths[2] = node(dir, 2);
        paths[3] = node(dir, 63);
        paths[4] = g_strdup("/dev/zero");
        g_assert_true(slot_begin(slot, &both, &file));
        g_assert_cmphex(denied_in(slot, &both, paths), ==, 0x5);
        g_assert_true(slot_reset(slot, &both, &usage));
        g_assert_true(slot_begin(slot, &last, &file));
        g_assert_cmphex(denied_in(slot, &last, paths), ==, 0x8);
        g_assert_true(slot_reset(slot, &last, &usage));
        g_assert_true(slot_begin(slot, &none, &file));
        g_assert_cmphex(denied_in(slot, &both, paths), ==, 0); /* in the same group, which was reset */
        g_assert_true(slot_reset(slot, &none, &usage));
        (void)file_remove_tree(dir, NULL); /* scratch */
}

static void test_v1(void)
{
        g_autofree char *mount = find_mount(" - cgroup ", "devices");
        g_autofree char *dir = mount ? g_strdup_printf("%s/paddle-test-%d", mount, getpid()) : NULL;
        Slot slot = { .dir = { [SLOT_DEVICES] = dir }, .peak_fd = -1 };

        if (!mount) {
                g_test_message("this machine has cgroups of version 2 alone");
                return;
        }
        g_assert_true(slot_make(&slot));
        g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS)); /* created only on demand */
        try_slot(&slot);
        g_assert_true(slot_remove(&slot));
        g_assert_false(g_file_test(dir, G_FILE_TEST_EXISTS));
}

static void test_v2(void)
{
        g_autofree char *mount = find_mount(" - cgroup2 ", "");
        g_autofree char *dir = mount ? g_strdup_printf("%s/paddle-test-%d", mount, getpid()) : NULL;
        Slot slot = { .dir = { [SLOT_CPUACCT] = dir }, .v2 = 1u << SLOT_CPUACCT, .peak_fd = -1 };

        if (!mount) {
                g_test_message("this machine has cgroups of version 1 alone");
                return;
        }
        g_assert_true(devices_can_deny());
        g_assert_true(slot_make(&slot));
        try_slot(&slot);
        g_assert_true(slot_remove(&slot));
}

/* A program at the group looks at kind and major number, too: /dev/zero is (1, 5). */
static void test_others(void)
{
        g_autofree char *mount = find_mount(" - cgroup2 ", "");
        g_autofree char *dir = mount ? g_strdup_printf("%s/paddle-test-%d", mount, getpid()) : NULL;
        char *const paths[] = { (char *)"/dev/zero", (char *)"/dev/null", NULL };
        const DeviceSet zero = { .major = ZERO_MAJOR, .minors = (guint64)1 << ZERO_MINOR };
        const SlotLimits none = { 0 };
        Slot slot = { .dir = { [SLOT_CPUACCT] = dir }, .v2 = 1u << SLOT_CPUACCT, .peak_fd = -1 };

        if (!mount)
                return;
        g_assert_true(slot_make(&slot));
        g_assert_true(devices_deny(dir, &zero));
        g_assert_cmphex(denied_in(&slot, &none, paths), ==, 1);
        g_assert_true(devices_deny(dir, &(DeviceSet){ 0 }));
        g_assert_true(devices_deny(dir, &(DeviceSet){ 0 })); /* succeeds if nothing was denied */
        g_assert_cmphex(denied_in(&slot, &none, paths), ==, 0);
        g_assert_true(slot_remove(&slot));
}

/* Keepers of sandboxed members are forked by a spawner that has dropped system calls. */
static void test_by_a_keeper(void)
{
        g_autofree char *mount = find_mount(" - cgroup2 ", "");
        g_autofree char *dir = mount ? g_strdup_printf("%s/paddle-test-%d", mount, getpid()) : NULL;
        const SlotLimits limits = { .denied = { .major = MAJOR, .minors = 5 } };
        Slot slot = { .dir = { [SLOT_CPUACCT] = dir }, .v2 = 1u << SLOT_CPUACCT, .peak_fd = -1 };
        int status;
        pid_t keeper;

        if (!mount)
                return;
        g_assert_true(slot_make(&slot));
        keeper = fork();
        if (keeper == 0) {
                SlotUsage usage = { 0 };
                const char *file;

                _exit(sandbox_filter_early() && slot_begin(&slot, &limits, &file) &&
                                      slot_reset(&slot, &limits, &usage)
                              ? 0
                              : 1);
        }
        g_assert_cmpint(waitpid(keeper, &status, 0), ==, keeper);
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        g_assert_true(slot_remove(&slot));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        if (geteuid() != 0) { /* only root can create devices and groups */
                g_test_message("not root");
                return 0;
        }
        g_test_add_func("/devices/v1", test_v1);
        g_test_add_func("/devices/v2", test_v2);
        g_test_add_func("/devices/others", test_others);
        g_test_add_func("/devices/by-a-keeper", test_by_a_keeper);
        return g_test_run();
}
