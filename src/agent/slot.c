/* The files of a cgroup slot (see slot.h): one table of names per version, and small reads and writes. */
#include "agent/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        PATH_SIZE = 512,             /* a mount point, "/paddle/<id>/slot-N" and a file name */
        CPU_PERIOD_US = 100000,      /* the kernel's default period */
        CPU_QUOTA_MIN_US = 1000,     /* the kernel's minimum */
        CPU_PERIOD_MAX_US = 1000000, /* its longest period, in which the minimum is a thousandth of a core */
        CACHE_KEPT_MAX =
                16 * 1024 * 1024 /* page cache of the last member that may stay charged to a pooled slot */
};

static bool path_of(const Slot *slot, SlotController controller, const char *file, char ret[PATH_SIZE])
{
        const char *dir = slot->dir[controller];
        size_t dir_len = dir ? strlen(dir) : 0, file_len = strlen(file);

        if (dir_len == 0 || dir_len + file_len + 2 > PATH_SIZE) {
                errno = dir_len ? ENAMETOOLONG : ENOENT;
                return false;
        }
        memcpy(ret, dir, dir_len);
        ret[dir_len] = '/';
        memcpy(ret + dir_len + 1, file, file_len + 1);
        return true;
}

static int open_file(const Slot *slot, SlotController controller, const char *file, int flags)
{
        char path[PATH_SIZE];

        return path_of(slot, controller, file, path) ? open(path, flags | O_CLOEXEC) : -1;
}

static bool put(const Slot *slot, SlotController controller, const char *file, const char *text)
{
        int fd = open_file(slot, controller, file, O_WRONLY);
        size_t len = strlen(text);
        bool ok;

        if (fd < 0)
                return false;
        ok = write(fd, text, len) == (ssize_t)len;
        close(fd);
        return ok;
}

/* Writes the decimal digits of a non-negative number to the end of a buffer, so that keepers do not need
 * printf. */
static char *digits(uint64_t value, char buffer[24])
{
        char *at = buffer + 23;

        *at = '\0';
        do
                *--at = (char)('0' + value % 10);
        while ((value /= 10) > 0);
        return at;
}

static bool put_number(const Slot *slot, SlotController controller, const char *file, int64_t value)
{
        char buffer[24];

        return put(slot, controller, file, digits((uint64_t)value, buffer));
}

static int64_t leading_number(const char *text)
{
        int64_t value = 0;

        for (; *text >= '0' && *text <= '9'; text++) {
                if (value > (INT64_MAX - 9) / 10)
                        return INT64_MAX;
                value = value * 10 + (*text - '0');
        }
        return value;
}

static bool get_text(int fd, char *ret, size_t size)
{
        ssize_t got = pread(fd, ret, size - 1, 0);

        if (got < 0)
                return false;
        ret[got] = '\0';
        return true;
}

/* The number in a file; with `key`, the number in the line "key N". -1: none. */
static int64_t get_number(const Slot *slot, SlotController controller, const char *file, const char *key)
{
        char text[1024]; /* cpu.stat and memory.events are smaller than 400 bytes */
        int fd = open_file(slot, controller, file, O_RDONLY);
        const char *line = text;
        bool ok;

        if (fd < 0)
                return -1;
        ok = get_text(fd, text, sizeof text);
        close(fd);
        if (!ok)
                return -1;
        if (!key)
                return leading_number(text);
        for (size_t len = strlen(key); line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, key, len) == 0 && line[len] == ' ')
                        return leading_number(line + len + 1);
        }
        return -1;
}

static bool is_v2(const Slot *slot, SlotController controller)
{
        return slot->v2 & (1u << controller);
}

/* The shares of v1 (2..262144), and the weight of v2 (1..10000) with the mapping of container runtimes. */
int64_t slot_weight(int64_t weight_milli, bool v2)
{
        int64_t shares = weight_milli * 1024 / 1000;

        shares = shares < 2 ? 2 : shares > 262144 ? 262144 : shares;
        return v2 ? 1 + (shares - 2) * 9999 / 262142 : shares;
}

/* True if the quota in the usual period would be below the minimum. */
static bool needs_long_period(const SlotLimits *limits)
{
        return limits->cpu_milli > 0 && limits->cpu_milli * CPU_PERIOD_US / 1000 < CPU_QUOTA_MIN_US;
}

/* "QUOTA PERIOD" of v2, with "max" for no limit; the text ends at the quota if the slot has the period already. */
static bool put_quota_v2(const Slot *slot, const SlotLimits *limits, int64_t quota, bool with_period)
{
        const char *period = needs_long_period(limits) ? " 1000000" : " 100000";
        char digits_of[24], text[48];
        char *end = stpcpy(text, limits->cpu_milli > 0 ? digits((uint64_t)quota, digits_of) : "max");

        if (with_period)
                memcpy(end, period, strlen(period) + 1);
        return put(slot, SLOT_CPU, "cpu.max", text);
}

static bool put_quota(const Slot *slot, const SlotLimits *limits, const char **ret_file)
{
        bool is_long = needs_long_period(limits), new_period = is_long != needs_long_period(&slot->held);
        int64_t period = is_long ? CPU_PERIOD_MAX_US : CPU_PERIOD_US;
        int64_t quota = limits->cpu_milli * period / 1000;

        if (is_v2(slot, SLOT_CPU)) {
                *ret_file = "cpu.max";
                return put_quota_v2(slot, limits, quota, new_period);
        }
        *ret_file = "cpu.cfs_period_us";
        if (new_period && !put_number(slot, SLOT_CPU, *ret_file, period))
                return false;
        *ret_file = "cpu.cfs_quota_us";
        return limits->cpu_milli > 0 ? put_number(slot, SLOT_CPU, *ret_file, quota)
                                     : put(slot, SLOT_CPU, *ret_file, "-1");
}

static bool limit_cpu(const Slot *slot, const SlotLimits *limits, const char **ret_file)
{
        bool v2 = is_v2(slot, SLOT_CPU);
        int64_t weight = limits->cpu_weight_milli ? slot_weight(limits->cpu_weight_milli, v2)
                         : v2                     ? 100
                                                  : 1024; /* the kernel's defaults */

        if (limits->cpu_milli != slot->held.cpu_milli && !put_quota(slot, limits, ret_file))
                return false;
        *ret_file = v2 ? "cpu.weight" : "cpu.shares";
        return limits->cpu_weight_milli == slot->held.cpu_weight_milli ||
               put_number(slot, SLOT_CPU, *ret_file, weight);
}

/* A limit above G_MAXINT64 / 2 does not exist, so "-1" of v1 and "max" of v2 are no member's. */
static bool put_limit(const Slot *slot, SlotController controller, const char *file, int64_t limit)
{
        return limit > 0 ? put_number(slot, controller, file, limit)
                         : put(slot, controller, file,
                               is_v2(slot, controller) || controller == SLOT_PIDS ? "max" : "-1");
}

/* With swap, a limit on memory alone would only make a member slow. The files are absent where the kernel does not
 * account swap. */
static void limit_swap(const Slot *slot, const SlotLimits *limits)
{
        if (is_v2(slot, SLOT_MEMORY))
                (void)put(slot, SLOT_MEMORY, "memory.swap.max", limits->memory > 0 ? "0" : "max");
        else
                (void)put_limit(slot, SLOT_MEMORY, "memory.memsw.limit_in_bytes", limits->memory);
}

static bool limit_memory(const Slot *slot, const SlotLimits *limits, const char **ret_file)
{
        bool raised = slot->held.memory > 0 && (limits->memory == 0 || limits->memory > slot->held.memory);

        if (limits->memory == slot->held.memory)
                return true;
        *ret_file = is_v2(slot, SLOT_MEMORY) ? "memory.max" : "memory.limit_in_bytes";
        if (raised) /* v1 refuses a limit above that of memory and swap together */
                limit_swap(slot, limits);
        if (!put_limit(slot, SLOT_MEMORY, *ret_file, limits->memory))
                return false;
        if (!raised)
                limit_swap(slot, limits);
        return true;
}

/* "c 195:3 rwm" into devices.deny or devices.allow of v1, for each device. */
static bool put_devices(const Slot *slot, const DeviceSet *set, const char *file)
{
        for (uint32_t minor = 0; minor < DEVICE_MINORS; minor++) {
                char major_digits[24], minor_digits[24], text[48], *at = text;

                if (!(set->minors >> minor & 1))
                        continue;
                at = stpcpy(stpcpy(at, "c "), digits(set->major, major_digits));
                at = stpcpy(stpcpy(at, ":"), digits(minor, minor_digits));
                memcpy(at, " rwm", sizeof " rwm");
                if (!put(slot, SLOT_DEVICES, file, text))
                        return false;
        }
        return true;
}

/* The directory of the slot in version 2, or NULL. */
static const char *v2_dir(const Slot *slot)
{
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (slot->dir[i] && is_v2(slot, i))
                        return slot->dir[i];
        return NULL;
}

static bool deny_devices(const Slot *slot, const DeviceSet *set, const char **ret_file)
{
        const char *v1 = slot->dir[SLOT_DEVICES], *v2 = v2_dir(slot);

        *ret_file = "devices";
        if (v1)
                return (mkdir(v1, 0755) == 0 || errno == EEXIST) && put_devices(slot, set, "devices.deny");
        errno = ENOTSUP;
        return v2 && devices_deny(v2, set);
}

bool slot_limits_equal(const SlotLimits *a, const SlotLimits *b)
{
        return a->cpu_milli == b->cpu_milli && a->cpu_weight_milli == b->cpu_weight_milli &&
               a->memory == b->memory && a->processes == b->processes;
}

static bool write_limits(Slot *slot, const SlotLimits *limits, const char **ret_file)
{
        slot->unsure = true;
        if (slot->dir[SLOT_CPU] && !limit_cpu(slot, limits, ret_file))
                return false;
        if (slot->dir[SLOT_MEMORY] && !limit_memory(slot, limits, ret_file))
                return false;
        if (limits->denied.minors && !deny_devices(slot, &limits->denied, ret_file))
                return false;
        *ret_file = "pids.max";
        if (slot->dir[SLOT_PIDS] && limits->processes != slot->held.processes &&
            !put_limit(slot, SLOT_PIDS, *ret_file, limits->processes))
                return false;
        slot->held = *limits;
        slot->unsure = false;
        return true;
}

bool slot_begin(Slot *slot, const SlotLimits *limits, const char **ret_file)
{
        slot->peak_fd = -1;
        slot->no_forks = false;
        if (!write_limits(slot, limits, ret_file))
                return false;
        if (slot->dir[SLOT_CPUACCT] && is_v2(slot, SLOT_CPUACCT)) {
                int64_t base = get_number(slot, SLOT_CPUACCT, "cpu.stat", "usage_usec");

                slot->cpu_base = base < 0 ? 0 : (uint64_t)base;
        }
        if (slot->dir[SLOT_MEMORY] && is_v2(slot, SLOT_MEMORY)) {
                slot->peak_fd = open_file(slot, SLOT_MEMORY, "memory.peak", O_RDWR);
                if (slot->peak_fd >= 0 &&
                    write(slot->peak_fd, "0", 1) != 1) { /* resettable since Linux 6.12 */
                        close(slot->peak_fd);
                        slot->peak_fd = -1;
                }
        }
        return true;
}

/* True for the first controller with this directory, so that each directory is visited once. */
static bool is_first(const Slot *slot, SlotController controller)
{
        if (!slot->dir[controller])
                return false;
        for (int i = 0; i < (int)controller; i++)
                if (slot->dir[i] && strcmp(slot->dir[i], slot->dir[controller]) == 0)
                        return false;
        return true;
}

static bool has_limits(const SlotLimits *limits)
{
        return !slot_limits_equal(limits, &(SlotLimits){ 0 }) || limits->denied.minors;
}

bool slot_attach(const Slot *slot, const SlotLimits *limits, int pid)
{
        for (int i = 0; i < SLOT_CONTROLLERS; i++) {
                if (!is_first(slot, i) || (i == SLOT_DEVICES && !limits->denied.minors))
                        continue;
                if (put_number(slot, i, "cgroup.procs", pid))
                        continue;
                /* Something on the machine deletes empty groups. A new group has no limits, so it is used
                 * only for tasks without any. */
                if (errno != ENOENT || has_limits(limits) || mkdir(slot->dir[i], 0755) < 0 ||
                    !put_number(slot, i, "cgroup.procs", pid))
                        return false;
        }
        return true;
}

static int64_t peak_of(const Slot *slot)
{
        char text[32];

        if (!is_v2(slot, SLOT_MEMORY))
                return get_number(slot, SLOT_MEMORY, "memory.max_usage_in_bytes", NULL);
        if (slot->peak_fd >= 0)
                return get_text(slot->peak_fd, text, sizeof text) ? leading_number(text) : -1;
        return get_number(slot, SLOT_MEMORY, "memory.peak", NULL);
}

static int64_t cpu_us_of(const Slot *slot)
{
        int64_t used;

        if (is_v2(slot, SLOT_CPUACCT)) {
                used = get_number(slot, SLOT_CPUACCT, "cpu.stat", "usage_usec");
                return used < 0 ? -1 : used - (int64_t)slot->cpu_base;
        }
        used = get_number(slot, SLOT_CPUACCT, "cpuacct.usage", NULL);
        return used < 0 ? -1 : used / 1000;
}

void slot_usage(const Slot *slot, SlotUsage *ret)
{
        int64_t peak = slot->dir[SLOT_MEMORY] ? peak_of(slot) : -1;
        int64_t cpu = slot->dir[SLOT_CPUACCT] ? cpu_us_of(slot) : -1;

        if (peak >= 0)
                ret->peak_memory = peak;
        if (cpu >= 0)
                ret->cpu_us = cpu;
        if (slot->dir[SLOT_MEMORY]) {
                const char *file = is_v2(slot, SLOT_MEMORY) ? "memory.events" : "memory.oom_control";

                ret->oom = get_number(slot, SLOT_MEMORY, file, "oom_kill") > 0;
        }
}

static bool reset_memory(const Slot *slot, const SlotUsage *usage)
{
        if (is_v2(slot, SLOT_MEMORY))
                return slot->peak_fd >= 0 && usage->peak_memory <= CACHE_KEPT_MAX;
        if (usage->peak_memory > CACHE_KEPT_MAX && !put(slot, SLOT_MEMORY, "memory.force_empty", "0"))
                return false;
        return put(slot, SLOT_MEMORY, "memory.max_usage_in_bytes", "0");
}

static bool reset_devices(const Slot *slot, const DeviceSet *set)
{
        const DeviceSet none = { 0 };

        if (set->minors == 0)
                return true;
        return slot->dir[SLOT_DEVICES] ? put_devices(slot, set, "devices.allow")
                                       : devices_deny(v2_dir(slot), &none);
}

bool slot_reset(Slot *slot, const SlotLimits *limits, const SlotUsage *usage)
{
        bool ok = !slot->unsure && !usage->oom; /* the counter of the latter cannot be reset */

        ok = ok && (!slot->dir[SLOT_MEMORY] || reset_memory(slot, usage));
        ok = ok && (!slot->dir[SLOT_PIDS] || !slot->no_forks ||
                    put_limit(slot, SLOT_PIDS, "pids.max", limits->processes));
        ok = ok && reset_devices(slot, &limits->denied);
        ok = ok && (!slot->dir[SLOT_CPUACCT] || is_v2(slot, SLOT_CPUACCT) ||
                    put(slot, SLOT_CPUACCT, "cpuacct.usage", "0"));
        if (slot->peak_fd >= 0)
                close(slot->peak_fd);
        slot->peak_fd = -1;
        return ok;
}

/* One pass over cgroup.procs of a controller. */
static void signal_procs(const Slot *slot, SlotController controller, int signal, int except)
{
        int fd = open_file(slot, controller, "cgroup.procs", O_RDONLY);
        char text[1024];
        int pid = 0;
        ssize_t got;

        if (fd < 0)
                return;
        while ((got = read(fd, text, sizeof text)) > 0) {
                for (ssize_t i = 0; i < got; i++) {
                        if (text[i] >= '0' && text[i] <= '9') {
                                pid = pid * 10 + (text[i] - '0');
                                continue;
                        }
                        if (pid > 1 && (except < 0 || getpgid(pid) != except))
                                (void)kill(pid, signal); /* it may be gone already */
                        pid = 0;
                }
        }
        close(fd);
}

/* Every process of a slot is in each of its groups, so any controller lists them all. */
static int any_controller(const Slot *slot)
{
        static const SlotController order[] = { SLOT_PIDS, SLOT_MEMORY, SLOT_CPUACCT, SLOT_CPU };

        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
                if (slot->dir[order[i]])
                        return order[i];
        return -1;
}

void slot_signal(const Slot *slot, int signal, int except)
{
        int controller = any_controller(slot);

        if (controller >= 0)
                signal_procs(slot, controller, signal, except);
}

void slot_kill(Slot *slot)
{
        int controller = any_controller(slot);

        if (controller < 0)
                return;
        if (is_v2(slot, controller) && put(slot, controller, "cgroup.kill", "1"))
                return;
        if (slot->dir[SLOT_PIDS] && !slot->no_forks)
                slot->no_forks = put(slot, SLOT_PIDS, "pids.max", "0"); /* else forks could outrun a pass */
        signal_procs(slot, controller, SIGKILL, -1);
}

bool slot_finds_processes(const Slot *slot)
{
        return any_controller(slot) >= 0;
}

bool slot_make(const Slot *slot)
{
        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (i != SLOT_DEVICES && is_first(slot, i) && mkdir(slot->dir[i], 0755) < 0 &&
                    errno != EEXIST)
                        return false;
        return true;
}

bool slot_remove(const Slot *slot)
{
        bool ok = true;

        for (int i = 0; i < SLOT_CONTROLLERS; i++)
                if (is_first(slot, i) && rmdir(slot->dir[i]) < 0 && errno != ENOENT)
                        ok = false;
        return ok;
}
