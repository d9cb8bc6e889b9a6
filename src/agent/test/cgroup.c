/* Controllers are found one by one, in both versions, among imitations of the kernel's files; slots are
 * pooled. */
#include "agent/cgroup.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static const SlotOwner no_user = { 0 };
static const SlotLimits no_limits = { 0 };

typedef struct {
        char *dir, *mounts, *own;
} Machine;

static void put_text(const Machine *machine, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(machine->dir, name, NULL),
                        *parent = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(parent, 0755), ==, 0);
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void machine_init(Machine *machine)
{
        machine->dir = g_dir_make_tmp("paddle-cgroup-XXXXXX", NULL);
        machine->mounts = g_build_filename(machine->dir, "mountinfo", NULL);
        machine->own = g_build_filename(machine->dir, "own", NULL);
        put_text(machine, "own", "3:memory:/x\n0::/user/me\n");
}

static void machine_clear(Machine *machine)
{
        (void)file_remove_tree(machine->dir, NULL); /* scratch */
        g_free(machine->dir);
        g_free(machine->mounts);
        g_free(machine->own);
}

static void mount_line(const Machine *machine, GString *lines, const char *name, const char *type,
                       const char *super)
{
        g_autofree char *path = g_build_filename(machine->dir, name, NULL);

        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        g_string_append_printf(lines, "30 24 0:25 / %s rw,relatime shared:9 - %s cgroup %s\n", path, type,
                               super);
}

static void test_v1_one_by_one(void)
{
        Machine machine;
        g_autoptr(GString) lines = g_string_new("1 1 0:1 / / rw - ext4 /dev/x rw\nbroken line\n");
        g_autoptr(CgroupPool) pool = NULL;
        Slot slot;
        SlotLimits held;
        int first, second, third;

        machine_init(&machine);
        mount_line(&machine, lines, "memory", "cgroup", "rw,memory");
        mount_line(&machine, lines, "cpu,cpuacct", "cgroup", "rw,cpu,cpuacct");
        put_text(&machine, "mountinfo", lines->str);
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        g_assert_true(cgroup_pool_has(pool, SLOT_MEMORY));
        g_assert_true(cgroup_pool_has(pool, SLOT_CPU));
        g_assert_true(cgroup_pool_has(pool, SLOT_CPUACCT));
        g_assert_false(cgroup_pool_has(pool, SLOT_PIDS));
        g_assert_true(cgroup_pool_take(pool, &no_user, &first, &held, NULL));
        g_assert_true(cgroup_pool_take(pool, &no_user, &second, &held, NULL));
        g_assert_cmpint(first, !=, second);
        cgroup_pool_slot(pool, first, &slot);
        g_assert_true(g_file_test(slot.dir[SLOT_MEMORY], G_FILE_TEST_IS_DIR));
        g_assert_cmpstr(slot.dir[SLOT_CPU], ==, slot.dir[SLOT_CPUACCT]);
        g_assert_cmpint((int)slot.v2, ==, 0);
        cgroup_pool_give(pool, first, &no_limits);
        g_assert_true(cgroup_pool_take(pool, &no_user, &third, &held, NULL));
        g_assert_cmpint(third, ==, first); /* reused */
        cgroup_pool_discard(pool, second);
        g_assert_true(cgroup_pool_is_discarded(pool, second));
        g_assert_true(cgroup_pool_sweep(pool));
        cgroup_pool_slot(pool, second, &slot);
        g_assert_false(g_file_test(slot.dir[SLOT_MEMORY], G_FILE_TEST_EXISTS));
        cgroup_pool_give(pool, third, &no_limits);
        g_clear_pointer(&pool, cgroup_pool_free);
        {
                g_autofree char *left = g_build_filename(machine.dir, "memory/paddle", NULL);

                g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
        }
        machine_clear(&machine);
}

static void test_v2(void)
{
        SlotLimits held;
        Machine machine;
        g_autoptr(GString) lines = g_string_new(NULL);
        g_autoptr(CgroupPool) pool = NULL;
        Slot slot;
        int number;

        machine_init(&machine);
        mount_line(&machine, lines, "unified", "cgroup2", "rw");
        put_text(&machine, "mountinfo", lines->str);
        put_text(&machine, "unified/cgroup.controllers", "cpuset cpu io memory pids\n");
        put_text(&machine, "unified/paddle/id/cgroup.controllers",
                 "memory cpu\n"); /* pids is not delegated */
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        g_assert_true(cgroup_pool_has(pool, SLOT_MEMORY));
        g_assert_true(cgroup_pool_has(pool, SLOT_CPU));
        g_assert_true(cgroup_pool_has(pool, SLOT_CPUACCT));
        g_assert_false(cgroup_pool_has(pool, SLOT_PIDS));
        g_assert_true(cgroup_pool_take(pool, &no_user, &number, &held, NULL));
        cgroup_pool_slot(pool, number, &slot);
        g_assert_cmpint((int)slot.v2, ==, 1 << SLOT_MEMORY | 1 << SLOT_CPU | 1 << SLOT_CPUACCT);
        g_assert_cmpstr(slot.dir[SLOT_MEMORY], ==, slot.dir[SLOT_CPU]);
        g_clear_pointer(&pool, cgroup_pool_free);
        machine_clear(&machine);
}

/* Left by an earlier agent: marked slots stay, others are deleted, new numbers are higher than both. */
static void test_found(void)
{
        SlotLimits held;
        Machine machine;
        g_autoptr(GString) lines = g_string_new(NULL);
        g_autoptr(CgroupPool) pool = NULL;
        Slot slot;
        int number;

        machine_init(&machine);
        mount_line(&machine, lines, "pids", "cgroup", "rw,pids");
        put_text(&machine, "mountinfo", lines->str);
        for (int i = 4; i <= 6; i++) {
                g_autofree char *path = g_strdup_printf("%s/pids/paddle/id/slot-%d", machine.dir, i);

                g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        }
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        cgroup_pool_mark(pool, 5);
        g_assert_true(cgroup_pool_take(pool, &no_user, &number, &held, NULL));
        g_assert_cmpint(number, ==, 7);
        cgroup_pool_discard_rest(pool);
        g_assert_true(cgroup_pool_sweep(pool));
        for (int i = 4; i <= 6; i++) {
                cgroup_pool_slot(pool, i, &slot);
                g_assert_true(g_file_test(slot.dir[SLOT_PIDS], G_FILE_TEST_EXISTS) == (i == 5));
        }
        g_clear_pointer(&pool, cgroup_pool_free);
        machine_clear(&machine);
}

static void assert_text(const Machine *machine, const char *name, const char *expected)
{
        g_autofree char *path = g_build_filename(machine->dir, name, NULL), *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, expected);
}

static bool exists(const Machine *machine, const char *name)
{
        g_autofree char *path = g_build_filename(machine->dir, name, NULL);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

static int take(CgroupPool *pool, gint64 user, gint64 processes)
{
        const SlotOwner owner = { user, processes, { .cpu_weight_milli = 1000 } };
        g_autoptr(GError) error = NULL;
        SlotLimits held;
        int number;

        g_assert_true(cgroup_pool_take(pool, &owner, &number, &held, &error));
        g_assert_no_error(error);
        return number;
}

static void forget(const Machine *machine, const char *name)
{
        g_autofree char *path = g_build_filename(machine->dir, name, NULL);

        g_assert_cmpint(g_unlink(path), ==, 0);
}

static void test_users(void)
{
        Machine machine;
        g_autoptr(GString) lines = g_string_new(NULL);
        g_autoptr(CgroupPool) pool = NULL;
        Slot slot;
        int ann, bob, again;

        machine_init(&machine);
        mount_line(&machine, lines, "memory", "cgroup", "rw,memory");
        mount_line(&machine, lines, "pids", "cgroup", "rw,pids");
        put_text(&machine, "mountinfo", lines->str);
        put_text(&machine, "pids/paddle/id/user-7/pids.max", "");
        put_text(&machine, "pids/paddle/id/user-8/pids.max", "");
        put_text(&machine, "pids/paddle/pids.max", "");
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        cgroup_pool_bound(pool, 24576);
        assert_text(&machine, "pids/paddle/pids.max", "24576");

        ann = take(pool, 7, 40);
        cgroup_pool_slot(pool, ann, &slot);
        g_assert_true(g_str_has_suffix(slot.dir[SLOT_PIDS], "/pids/paddle/id/user-7/slot-0"));
        g_assert_true(g_str_has_suffix(slot.dir[SLOT_MEMORY], "/memory/paddle/id/slot-0"));
        g_assert_true(g_file_test(slot.dir[SLOT_PIDS], G_FILE_TEST_IS_DIR));
        assert_text(&machine, "pids/paddle/id/user-7/pids.max", "40");

        bob = take(pool, 8, 0);
        assert_text(&machine, "pids/paddle/id/user-8/pids.max", "max");
        put_text(&machine, "pids/paddle/id/user-8/pids.max", ""); /* the kernel's are no regular files */
        g_assert_false(cgroup_pool_give(pool, ann, &no_limits));
        again = take(pool, 8, 30); /* ann's slot stays hers */
        g_assert_cmpint(again, !=, ann);
        assert_text(&machine, "pids/paddle/id/user-8/pids.max", "30");
        g_assert_cmpint(take(pool, 7, 50), ==, ann);
        assert_text(&machine, "pids/paddle/id/user-7/pids.max", "50");
        g_assert_cmpint(take(pool, 0, 0), !=, bob); /* slots without a user are separate */
        cgroup_pool_slot(pool, again + 1, &slot);
        g_assert_true(g_str_has_suffix(slot.dir[SLOT_PIDS], "/pids/paddle/id/slot-3"));

        /* groups of an earlier agent are found, and deleted with their last slot */
        g_clear_pointer(&pool, cgroup_pool_free);
        g_assert_true(exists(&machine, "pids/paddle/id/user-7/slot-0"));
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        cgroup_pool_mark(pool, bob);
        cgroup_pool_slot(pool, bob, &slot);
        g_assert_true(g_str_has_suffix(slot.dir[SLOT_PIDS], "/user-8/slot-1"));
        forget(&machine, "pids/paddle/id/user-7/pids.max"); /* as the kernel's own go */
        cgroup_pool_discard_rest(pool);
        g_assert_true(cgroup_pool_sweep(pool));
        g_assert_false(exists(&machine, "pids/paddle/id/user-7"));
        g_assert_true(exists(&machine, "pids/paddle/id/user-8/slot-1"));
        g_assert_false(exists(&machine, "memory/paddle/id/slot-0"));
        g_clear_pointer(&pool, cgroup_pool_free);
        machine_clear(&machine);
}

/* Users compete in one hierarchy: each has the sum of the weights of its members. */
static void test_users_weigh(void)
{
        Machine machine;
        g_autoptr(GString) lines = g_string_new(NULL);
        g_autoptr(CgroupPool) pool = NULL;
        int first, second;

        machine_init(&machine);
        mount_line(&machine, lines, "unified", "cgroup2", "rw");
        put_text(&machine, "mountinfo", lines->str);
        put_text(&machine, "unified/cgroup.controllers", "cpu memory pids\n");
        put_text(&machine, "unified/paddle/id/cgroup.controllers", "cpu memory pids\n");
        put_text(&machine, "unified/paddle/id/user-7/pids.max", "");
        put_text(&machine, "unified/paddle/id/user-7/cpu.weight", "");
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        first = take(pool, 7, 40);
        assert_text(&machine, "unified/paddle/id/user-7/cpu.weight", "39");
        second = take(pool, 7, 40);
        assert_text(&machine, "unified/paddle/id/user-7/cpu.weight", "79");
        cgroup_pool_discard(pool, first);
        assert_text(&machine, "unified/paddle/id/user-7/cpu.weight", "39");
        put_text(&machine, "unified/paddle/id/user-7/cpu.weight", "");
        g_assert_false(cgroup_pool_give(pool, second, &no_limits));
        assert_text(&machine, "unified/paddle/id/user-7/cpu.weight", "1");
        g_clear_pointer(&pool, cgroup_pool_free);
        machine_clear(&machine);
}

/* A slot with the wanted limits is preferred to one that was used later. */
static void test_limits_are_kept(void)
{
        const SlotLimits small = { .cpu_milli = 100, .processes = 20 },
                         large = { .cpu_milli = 4000, .memory = 1 << 30 };
        const SlotOwner wants_small = { .limits = small }, wants_large = { .limits = large };
        Machine machine;
        g_autoptr(GString) lines = g_string_new(NULL);
        g_autoptr(CgroupPool) pool = NULL;
        SlotLimits held = large;
        int first, second, number;

        machine_init(&machine);
        mount_line(&machine, lines, "memory", "cgroup", "rw,memory");
        put_text(&machine, "mountinfo", lines->str);
        pool = cgroup_pool_new(machine.mounts, machine.own, "id");
        g_assert_true(cgroup_pool_take(pool, &wants_small, &first, &held, NULL));
        g_assert_true(slot_limits_equal(&held, &no_limits)); /* it is new */
        g_assert_true(cgroup_pool_take(pool, &wants_large, &second, &held, NULL));
        cgroup_pool_give(pool, first, &small);
        cgroup_pool_give(pool, second, &large);
        g_assert_true(cgroup_pool_take(pool, &wants_small, &number, &held, NULL));
        g_assert_cmpint(number, ==, first);
        g_assert_true(slot_limits_equal(&held, &small));
        g_assert_true(cgroup_pool_take(pool, &wants_small, &number, &held,
                                       NULL)); /* any is better than a new one */
        g_assert_cmpint(number, ==, second);
        g_assert_true(slot_limits_equal(&held, &large));
        cgroup_pool_discard(pool, first);
        cgroup_pool_discard(pool, second);
        g_clear_pointer(&pool, cgroup_pool_free);
        machine_clear(&machine);
}

static const char *const
        v1_files[] = { "cpu.cfs_period_us", "cpu.cfs_quota_us",          "cpu.shares",
                       "pids.max",          "memory.limit_in_bytes",     "memory.memsw.limit_in_bytes",
                       "cpuacct.usage",     "memory.max_usage_in_bytes", NULL },
        *const v2_files[] = { "cpu.max", "cpu.weight", "pids.max", "memory.max", "memory.swap.max", NULL };

typedef struct {
        SlotLimits limits;
        const char *v1[6], *v2[5]; /* what is written into the files above, in their order; NULL: nothing */
} LimitsCase;

/* Each begins in the slot that the one before has left. The rules of the kernel: a period and a quota of v1 are two
 * files, of v2 one; a quota has at least 1 ms; "-1", "max" and the weights 1024 and 100 are those of a new group. */
static const LimitsCase limits_cases[] = {
        { { .cpu_milli = 100, .cpu_weight_milli = 1000, .processes = 20 },
          { NULL, "10000", "1024", "20" },
          { "10000", "39", "20" } },
        { { .cpu_milli = 100, .cpu_weight_milli = 1000, .processes = 20 }, { NULL }, { NULL } },
        { { .cpu_milli = 5, .cpu_weight_milli = 1000 },
          { "1000000", "5000", NULL, "max" },
          { "5000 1000000", NULL, "max" } },
        { { .cpu_milli = 7, .cpu_weight_milli = 2000 }, { NULL, "7000", "2048" }, { "7000", "79" } },
        { { .cpu_milli = 200, .memory = 4096 },
          { "100000", "20000", "1024", NULL, "4096", "4096" },
          { "20000 100000", "100", NULL, "4096", "0" } },
        { { .cpu_milli = 200, .memory = 8192 },
          { NULL, NULL, NULL, NULL, "8192", "8192" },
          { NULL, NULL, NULL, "8192", "0" } },
        { { 0 }, { NULL, "-1", NULL, NULL, "-1", "-1" }, { "max", NULL, NULL, "max", "max" } },
};

static void begin_in(const Machine *machine, Slot *slot, const char *const *files, const LimitsCase *c,
                     const char *const *expected, gsize n)
{
        const char *failed = "";
        SlotUsage usage = { 0 };

        for (gsize i = 0; files[i]; i++)
                put_text(machine, files[i], "");
        g_assert_true(slot_begin(slot, &c->limits, &failed));
        for (gsize i = 0; i < n; i++)
                assert_text(machine, files[i], expected[i] ? expected[i] : "");
        (void)slot_reset(slot, &c->limits,
                         &usage); /* of v2: false, since a file has no peak that can be reset */
        for (gsize i = 0; i < n; i++)
                assert_text(machine, files[i], expected[i] ? expected[i] : "");
}

static void test_limits_that_differ(void)
{
        Machine machine;
        Slot v1 = { .peak_fd = -1 }, v2 = { .v2 = (1u << SLOT_CONTROLLERS) - 1, .peak_fd = -1 };

        machine_init(&machine);
        for (int i = SLOT_MEMORY; i <= SLOT_PIDS; i++)
                v1.dir[i] = v2.dir[i] = machine.dir;
        for (gsize i = 0; i < G_N_ELEMENTS(limits_cases); i++) {
                const LimitsCase *c = &limits_cases[i];

                begin_in(&machine, &v1, v1_files, c, c->v1, G_N_ELEMENTS(c->v1));
                begin_in(&machine, &v2, v2_files, c, c->v2, G_N_ELEMENTS(c->v2));
        }
        machine_clear(&machine);
}

/* Nobody knows what it has. */
static void test_limits_that_failed(void)
{
        const SlotLimits limits = { .processes = 20 };
        Machine machine;
        Slot slot = { .peak_fd = -1 };
        SlotUsage usage = { 0 };
        const char *failed = "";

        machine_init(&machine);
        slot.dir[SLOT_PIDS] = machine.dir;
        g_assert_false(slot_begin(&slot, &limits, &failed));
        g_assert_cmpstr(failed, ==, "pids.max");
        g_assert_false(slot_reset(&slot, &limits, &usage));
        machine_clear(&machine);
}

static void test_none(void)
{
        SlotLimits held;
        g_autoptr(CgroupPool) pool = cgroup_pool_new("/nonexistent", "/nonexistent", "id");
        int number = 0;

        g_assert_false(cgroup_pool_is_usable(pool));
        g_assert_true(cgroup_pool_take(pool, &no_user, &number, &held, NULL));
        g_assert_cmpint(number, ==, -1);
        cgroup_pool_give(pool, -1, &no_limits);
        cgroup_pool_discard(pool, -1);
        g_assert_true(cgroup_pool_sweep(pool));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/agent/cgroup/v1-one-by-one", test_v1_one_by_one);
        g_test_add_func("/agent/cgroup/v2", test_v2);
        g_test_add_func("/agent/cgroup/found", test_found);
        g_test_add_func("/agent/cgroup/users", test_users);
        g_test_add_func("/agent/cgroup/users-weigh", test_users_weigh);
        g_test_add_func("/agent/cgroup/limits-are-kept", test_limits_are_kept);
        g_test_add_func("/agent/cgroup/limits-that-differ", test_limits_that_differ);
        g_test_add_func("/agent/cgroup/limits-that-failed", test_limits_that_failed);
        g_test_add_func("/agent/cgroup/none", test_none);
        return g_test_run();
}
