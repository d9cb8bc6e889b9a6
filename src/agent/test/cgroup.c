/* Controllers are found one by one, in either version, among stand-ins for the kernel's files; slots are
 * pooled. */
#include "agent/cgroup.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

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
        g_assert_true(cgroup_pool_take(pool, &first, NULL));
        g_assert_true(cgroup_pool_take(pool, &second, NULL));
        g_assert_cmpint(first, !=, second);
        cgroup_pool_slot(pool, first, &slot);
        g_assert_true(g_file_test(slot.dir[SLOT_MEMORY], G_FILE_TEST_IS_DIR));
        g_assert_cmpstr(slot.dir[SLOT_CPU], ==, slot.dir[SLOT_CPUACCT]);
        g_assert_cmpint((int)slot.v2, ==, 0);
        cgroup_pool_give(pool, first);
        g_assert_true(cgroup_pool_take(pool, &third, NULL));
        g_assert_cmpint(third, ==, first); /* used again */
        cgroup_pool_discard(pool, second);
        g_assert_true(cgroup_pool_is_discarded(pool, second));
        g_assert_true(cgroup_pool_sweep(pool));
        cgroup_pool_slot(pool, second, &slot);
        g_assert_false(g_file_test(slot.dir[SLOT_MEMORY], G_FILE_TEST_EXISTS));
        cgroup_pool_give(pool, third);
        g_clear_pointer(&pool, cgroup_pool_free);
        {
                g_autofree char *left = g_build_filename(machine.dir, "memory/paddle", NULL);

                g_assert_false(g_file_test(left, G_FILE_TEST_EXISTS));
        }
        machine_clear(&machine);
}

static void test_v2(void)
{
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
        g_assert_true(cgroup_pool_take(pool, &number, NULL));
        cgroup_pool_slot(pool, number, &slot);
        g_assert_cmpint((int)slot.v2, ==, 1 << SLOT_MEMORY | 1 << SLOT_CPU | 1 << SLOT_CPUACCT);
        g_assert_cmpstr(slot.dir[SLOT_MEMORY], ==, slot.dir[SLOT_CPU]);
        g_clear_pointer(&pool, cgroup_pool_free);
        machine_clear(&machine);
}

/* What an earlier agent left: marked slots stay, others go, new numbers are above both. */
static void test_found(void)
{
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
        g_assert_true(cgroup_pool_take(pool, &number, NULL));
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

static void test_none(void)
{
        g_autoptr(CgroupPool) pool = cgroup_pool_new("/nonexistent", "/nonexistent", "id");
        int number = 0;

        g_assert_false(cgroup_pool_is_usable(pool));
        g_assert_true(cgroup_pool_take(pool, &number, NULL));
        g_assert_cmpint(number, ==, -1);
        cgroup_pool_give(pool, -1);
        cgroup_pool_discard(pool, -1);
        g_assert_true(cgroup_pool_sweep(pool));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/agent/cgroup/v1-one-by-one", test_v1_one_by_one);
        g_test_add_func("/agent/cgroup/v2", test_v2);
        g_test_add_func("/agent/cgroup/found", test_found);
        g_test_add_func("/agent/cgroup/none", test_none);
        return g_test_run();
}
