/* Counters of cgroups (see measure.h), in v1, v2, and mixed. A group belongs to one member if an agent
 * created it: its last part is "slot-N" (doc/internals/agent.md). Other groups are shared and tell nothing
 * about the member. */
#include "runtime/local/measure.h"

#include <string.h>

#include "base/file.h"
#include "base/number.h"

enum { TEXT_MAX_BYTES = 1024 * 1024 };

/* The files of a controller and their meaning; several if names differ between versions. */
static const struct {
        const char *controller; /* "": version 2 */
        const char *file, *key; /* key: of a line "KEY VALUE"; NULL: the file is the number */
        size_t offset;
        gint64 divisor;
} counters[] = {
        { "", "memory.current", NULL, offsetof(TaskUsage, memory), 1 },
        { "", "memory.peak", NULL, offsetof(TaskUsage, memory_peak), 1 },
        { "", "cpu.stat", "usage_usec", offsetof(TaskUsage, cpu_us), 1 },
        { "", "pids.current", NULL, offsetof(TaskUsage, processes), 1 },
        { "memory", "memory.usage_in_bytes", NULL, offsetof(TaskUsage, memory), 1 },
        { "memory", "memory.max_usage_in_bytes", NULL, offsetof(TaskUsage, memory_peak), 1 },
        { "cpuacct", "cpuacct.usage", NULL, offsetof(TaskUsage, cpu_us), 1000 },
        { "pids", "pids.current", NULL, offsetof(TaskUsage, processes), 1 },
};

static char *read_text(const char *path)
{
        char *text = NULL;

        return file_read(path, TEXT_MAX_BYTES, &text, NULL, NULL) ? text : NULL;
}

static bool lists(const char *list, const char *word)
{
        g_auto(GStrv) words = g_strsplit(list, ",", -1);

        return g_strv_contains((const char *const *)words, word);
}

/* The mount point of a hierarchy; NULL: not mounted. A line of mountinfo is "ID PARENT DEV ROOT POINT ... -
 * TYPE SOURCE OPTIONS". The caller's. */
static char *mount_of(const char *mounts, const char *controller)
{
        g_auto(GStrv) lines = g_strsplit(mounts, "\n", -1);

        for (char **line = lines; *line; line++) {
                g_auto(GStrv) halves = g_strsplit(*line, " - ", 2);
                g_auto(GStrv) left = g_strsplit(halves[0] ? halves[0] : "", " ", -1);
                g_auto(GStrv) right = g_strsplit(halves[0] && halves[1] ? halves[1] : "", " ", 3);

                if (g_strv_length(left) < 5 || g_strv_length(right) < 3)
                        continue;
                if (*controller ? strcmp(right[0], "cgroup") == 0 && lists(right[2], controller)
                                : strcmp(right[0], "cgroup2") == 0)
                        return strcmp(left[3], "/") == 0 ? g_strdup(left[4])
                                                         : g_strconcat(left[4], "\n", left[3], NULL);
        }
        return NULL;
}

static bool is_slot(const char *path)
{
        const char *last = strrchr(path, '/');

        return last && g_str_has_prefix(last, "/slot-");
}

/* The group of the process in a hierarchy, from "N:CONTROLLERS:PATH"; NULL: none of its own. The caller's. */
static char *group_of(const char *groups, const char *controller)
{
        g_auto(GStrv) lines = g_strsplit(groups, "\n", -1);

        for (char **line = lines; *line; line++) {
                g_auto(GStrv) parts = g_strsplit(*line, ":", 3);

                if (g_strv_length(parts) == 3 && is_slot(parts[2]) &&
                    (*controller ? lists(parts[1], controller) : !*parts[1]))
                        return g_strdup(parts[2]);
        }
        return NULL;
}

/* A mount may show only a part of the hierarchy: its root is removed from the group's path. */
static char *directory_of(const char *mounts, const char *groups, const char *controller)
{
        g_autofree char *group = group_of(groups, controller);
        g_autofree char *mount = group ? mount_of(mounts, controller) : NULL;
        char *root;

        if (!mount)
                return NULL;
        root = strchr(mount, '\n');
        if (!root)
                return g_strconcat(mount, group, NULL);
        *root++ = '\0';
        return g_str_has_prefix(group, root) ? g_strconcat(mount, group + strlen(root), NULL) : NULL;
}

static bool parse_counter(const char *text, const char *key, gint64 *ret)
{
        const char *at = text;

        while (key && at && !(g_str_has_prefix(at, key) && at[strlen(key)] == ' ')) {
                at = strchr(at, '\n');
                at = at ? at + 1 : NULL;
        }
        if (at) {
                g_autofree char *number = g_strndup(at + (key ? strlen(key) + 1 : 0),
                                                    strcspn(at + (key ? strlen(key) + 1 : 0), "\n"));

                return number_parse("counter", number, 0, G_MAXINT64, ret, NULL);
        }
        return false;
}

static bool read_counter(const char *dir, gsize i, TaskUsage *ret)
{
        g_autofree char *path = g_build_filename(dir, counters[i].file, NULL);
        g_autofree char *text = read_text(path);
        gint64 value;

        if (!text || !parse_counter(text, counters[i].key, &value))
                return false;
        *(gint64 *)(void *)((char *)ret + counters[i].offset) = value / counters[i].divisor;
        return true;
}

bool measure_process(const char *proc, int pid, TaskUsage *ret)
{
        g_autofree char *number = g_strdup_printf("%d", pid);
        g_autofree char *groups_path = g_build_filename(proc, number, "cgroup", NULL);
        g_autofree char *mounts_path = g_build_filename(proc, "self", "mountinfo", NULL);
        g_autofree char *groups = read_text(groups_path), *mounts = read_text(mounts_path);
        bool any = false;

        *ret = (TaskUsage){ 0 };
        for (gsize i = 0; groups && mounts && i < G_N_ELEMENTS(counters); i++) {
                g_autofree char *dir = directory_of(mounts, groups, counters[i].controller);

                any |= dir && read_counter(dir, i, ret);
        }
        return any;
}
