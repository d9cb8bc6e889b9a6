/* Checks of the machine (see doctor.h). They change nothing: what can only be tried is tried in a child. */
#include "cli/doctor.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"

enum { TEXT_MAX = 64 * 1024 };

Finding finding(Level level, const char *todo, const char *format, ...)
{
        Finding found = { .level = level, .todo = level == GOOD ? NULL : g_strdup(todo) };
        va_list args;

        va_start(args, format);
        found.text = g_strdup_vprintf(format, args);
        va_end(args);
        return found;
}

static char *read_below(const char *root, const char *name)
{
        g_autofree char *path = g_build_filename(root, name, NULL);
        char *text = NULL;

        return file_read(path, TEXT_MAX, &text, NULL, NULL) ? text : NULL;
}

static bool is_there(const char *root, const char *name)
{
        g_autofree char *path = g_build_filename(root, name, NULL);

        return access(path, F_OK) == 0;
}

/* ---- the kernel ---- */

/* Members are watched through pidfds, which need Linux 5.3. */
enum { MAJOR_LEAST = 5, MINOR_LEAST = 3 };

static bool is_old(const char *release)
{
        char *end;
        guint64 major = g_ascii_strtoull(release, &end, 10);
        guint64 minor = *end == '.' ? g_ascii_strtoull(end + 1, NULL, 10) : 0;

        return major < MAJOR_LEAST || (major == MAJOR_LEAST && minor < MINOR_LEAST);
}

static bool can_unshare(int namespaces)
{
        pid_t pid = fork();
        int status = 0;

        if (pid == 0)
                _exit(unshare(namespaces) == 0 ? 0 : 1);
        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Finding doctor_kernel(const char *root)
{
        bool users = can_unshare(CLONE_NEWUSER),
             calls = is_there(root, "proc/sys/kernel/seccomp/actions_avail");
        const char *groups = is_there(root, "sys/fs/cgroup/cgroup.controllers") ? "cgroup v2"
                             : is_there(root, "sys/fs/cgroup/memory")           ? "cgroup v1"
                                                                                : "no cgroups";
        g_autofree char *text = NULL;
        struct utsname name;

        if (uname(&name) < 0)
                return finding(BAD, "this is not a Linux on which jobs can run",
                               "the kernel's version is unknown");
        text = g_strdup_printf("Linux %s, %s, user namespaces %s, seccomp %s", name.release, groups,
                               users ? "yes" : "no", calls ? "yes" : "no");
        if (is_old(name.release))
                return finding(BAD,
                               "install a kernel of at least 5.3: older ones cannot watch processes of jobs",
                               "%s", text);
        if (!calls || (!users && geteuid() != 0))
                return finding(DOUBT,
                               "jobs run, but with a weaker sandbox; see doc/guide/security.md, and sysctl "
                               "kernel.unprivileged_userns_clone",
                               "%s", text);
        return finding(GOOD, NULL, "%s", text);
}

/* ---- memory ---- */

/* The number in "MemTotal:  16384 kB", in bytes; 0: absent. */
static guint64 meminfo(const char *text, const char *name)
{
        const char *line = text ? strstr(text, name) : NULL;

        return line ? g_ascii_strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

Finding doctor_memory(const char *root)
{
        const guint64 least = (guint64)1 << 30;
        g_autofree char *text = read_below(root, "proc/meminfo");
        guint64 total = meminfo(text, "MemTotal:"), available = meminfo(text, "MemAvailable:");
        g_autofree char *all = bytes_format(total), *left = bytes_format(available);

        if (total == 0)
                return finding(DOUBT, "is /proc mounted?", "the amount of memory is unknown");
        return finding(available >= least ? GOOD : DOUBT,
                       "end other programs, or request little memory: a job may be killed for lack of it",
                       "%s of %s are available", left, all);
}

/* ---- GPUs ---- */

static guint count_devices(const char *root)
{
        g_autofree char *path = g_build_filename(root, "dev", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        guint n = 0;

        for (const char *name; dir && (name = g_dir_read_name(dir));)
                n += g_str_has_prefix(name, "nvidia") && g_ascii_isdigit(name[strlen("nvidia")]);
        return n;
}

/* "NVIDIA H100 80GB HBM3", the first one; NULL: unknown. */
static char *model_of(const char *root)
{
        g_autofree char *path = g_build_filename(root, "proc/driver/nvidia/gpus", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name = dir ? g_dir_read_name(dir) : NULL, *line;
        g_autofree char *file =
                name ? g_build_filename("proc/driver/nvidia/gpus", name, "information", NULL) : NULL;
        g_autofree char *text = file ? read_below(root, file) : NULL;

        line = text ? strstr(text, "Model:") : NULL;
        return line ? g_strstrip(g_strndup(line + strlen("Model:"), strcspn(line + strlen("Model:"), "\n")))
                    : NULL;
}

/* "550.54.15" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  ..."; NULL: no driver. */
static char *driver_of(const char *root)
{
        g_autofree char *text = read_below(root, "proc/driver/nvidia/version");
        g_auto(GStrv) words = g_strsplit_set(text ? text : "", " \t\n", -1);

        for (char **word = words; *word; word++)
                if (g_ascii_isdigit(**word) && strchr(*word, '.'))
                        return g_strdup(*word);
        return NULL;
}

/* True if there is a display controller of NVIDIA on the bus. */
static bool has_card(const char *root)
{
        g_autofree char *path = g_build_filename(root, "sys/bus/pci/devices", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        bool found = false;

        for (const char *name; !found && dir && (name = g_dir_read_name(dir));) {
                g_autofree char *vendor_file = g_build_filename("sys/bus/pci/devices", name, "vendor", NULL);
                g_autofree char *class_file = g_build_filename("sys/bus/pci/devices", name, "class", NULL);
                g_autofree char *vendor = read_below(root, vendor_file),
                                *class = read_below(root, class_file);

                found = vendor && class && g_str_has_prefix(vendor, "0x10de") &&
                        g_str_has_prefix(class, "0x03");
        }
        return found;
}

Finding doctor_gpus(const char *root)
{
        guint n = count_devices(root);
        g_autofree char *driver = driver_of(root), *model = model_of(root);

        if (n > 0 && driver)
                return finding(GOOD, NULL, "%u: %s%sdriver %s", n, model ? model : "", model ? ", " : "",
                               driver);
        if (n > 0)
                return finding(DOUBT, "install NVIDIA's driver, or load its module: modprobe nvidia",
                               "%u device%s, but the driver is not loaded", n, n == 1 ? "" : "s");
        if (has_card(root))
                return finding(DOUBT, "install NVIDIA's driver: jobs cannot use the card without it",
                               "there is an NVIDIA card, but no device /dev/nvidia0");
        return finding(GOOD, NULL, "none; jobs that ask for GPUs need another machine or a cluster");
}
