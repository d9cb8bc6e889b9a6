/* The machine's resources (see inventory.h). Limits of cgroups apply at every level, so each is followed up
 * to the root, for v1 and v2, whichever has the controller. Invisible levels (in a container) are skipped. */
#include "runtime/local/inventory.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { FILE_MAX = 64 * 1024 };

static char *read_at(const char *root, const char *path)
{
        g_autofree char *full = g_build_filename(root, path, NULL);
        char *text = NULL;

        return file_read(full, FILE_MAX, &text, NULL, NULL) ? text : NULL; /* a missing file sets no limit */
}

static char *read_group_file(const char *root, const char *group, const char *name)
{
        g_autofree char *path = g_build_filename("sys/fs/cgroup", group, name, NULL);

        return read_at(root, path);
}

static gint64 smaller(gint64 limit, gint64 other)
{
        return other > 0 && other < limit ? other : limit;
}

/* A file with one number; 0 for "max", a negative number, or no file. */
static gint64 read_limit(const char *root, const char *group, const char *name)
{
        g_autofree char *text = read_group_file(root, group, name);

        return text && g_ascii_isdigit(*text)
                       ? (gint64)MIN(g_ascii_strtoull(text, NULL, 10), (guint64)G_MAXINT64)
                       : 0;
}

static void limit_cpu(gint64 quota, gint64 period, Resources *ret)
{
        if (quota > 0 && period > 0 && quota < G_MAXINT64 / 1000)
                ret->cpu_milli = smaller(ret->cpu_milli, quota * 1000 / period);
}

static void limit_by_group(const char *root, const char *group, Resources *ret)
{
        g_autofree char *max = read_group_file(root, group, "cpu.max");
        long long quota = 0, period = 0;

        if (max && sscanf(max, "%lld %lld", &quota, &period) == 2)
                limit_cpu(quota, period, ret);
        limit_cpu(read_limit(root, group, "cpu.cfs_quota_us"), read_limit(root, group, "cpu.cfs_period_us"),
                  ret);
        ret->memory = smaller(ret->memory, read_limit(root, group, "memory.max"));
        ret->memory = smaller(ret->memory, read_limit(root, group, "memory.limit_in_bytes"));
}

/* `top` is the directory of the hierarchy ("", "unified", "cpu,cpuacct"), `path` the process's group in
 * it. */
static void limit_upwards(const char *root, const char *top, const char *path, Resources *ret)
{
        g_autofree char *at = g_strdup(path);

        for (char *slash;; *slash = '\0') {
                g_autofree char *group = g_build_filename(top, at, NULL);

                limit_by_group(root, group, ret);
                slash = strrchr(at, '/');
                if (!slash)
                        return;
        }
}

/* Lines of /proc/self/cgroup: "0::/user.slice" (v2), "4:cpu,cpuacct:/job". */
static void limit_by_cgroups(const char *root, Resources *ret)
{
        g_autofree char *text = read_at(root, "proc/self/cgroup");
        g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);

        for (char **line = lines; *line; line++) {
                g_auto(GStrv) fields = g_strsplit(*line, ":", 3);

                if (g_strv_length(fields) != 3)
                        continue;
                limit_upwards(root, fields[1], fields[2], ret);
                if (!*fields[1])
                        limit_upwards(root, "unified", fields[2], ret);
        }
}

static gint64 physical_memory(const char *root)
{
        g_autofree char *text = read_at(root, "proc/meminfo");
        const char *total = text ? strstr(text, "MemTotal:") : NULL;

        return total ? (gint64)g_ascii_strtoull(total + strlen("MemTotal:"), NULL, 10) * 1024 : 0;
}

static gint64 count_gpus(const char *root)
{
        g_autofree char *path = g_build_filename(root, "dev", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        gint64 count = 0;

        for (const char *name; dir && (name = g_dir_read_name(dir));)
                if (g_str_has_prefix(name, "nvidia") && g_ascii_isdigit(name[strlen("nvidia")]))
                        count++;
        return count;
}

void inventory_read(const char *root, int cpus, Resources *ret)
{
        gint64 physical = physical_memory(root);

        *ret = (Resources){ .cpu_milli = cpus * 1000,
                            .memory = physical ? physical : G_MAXINT64,
                            .gpus = count_gpus(root) };
        limit_by_cgroups(root, ret);
        if (ret->memory == G_MAXINT64)
                ret->memory = 0;
}

static gint64 read_number(const char *root, const char *path)
{
        g_autofree char *text = read_at(root, path);

        return text ? g_ascii_strtoll(text, NULL, 10) : G_MAXINT64;
}

gint64 inventory_processes(const char *root)
{
        gint64 most = MIN(read_number(root, "proc/sys/kernel/pid_max"),
                          read_number(root, "proc/sys/kernel/threads-max"));

        return most > 0 && most < G_MAXINT64 ? most : 32768; /* the kernel's default */
}

static int allowed_cpus(void)
{
        cpu_set_t set;

        /* more CPUs than the set can hold: count all */
        return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)g_get_num_processors();
}

void inventory_get(const Resources *override, Resources *ret)
{
        inventory_read("/", allowed_cpus(), ret);
        if (override->cpu_milli > 0)
                ret->cpu_milli = override->cpu_milli;
        if (override->memory > 0)
                ret->memory = override->memory;
        if (override->gpus > 0)
                ret->gpus = override->gpus;
        for (int kind = RESOURCE_STORAGE; kind < RESOURCE_KINDS_MAX; kind++)
                ret->amount[kind] = override->amount[kind]; /* kinds that only an administrator knows */
}
