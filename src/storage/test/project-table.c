/* Project ids, and the choice between the kernel's quota and the ledger's (storage/project-table.h). */
#include "storage/project-table.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void test_range(void)
{
        static const struct {
                const char *text;
                guint32 first, last;
                const char *says;
        } cases[] = {
                { "1-1", 1, 1, NULL },
                { "5-4294967294", 5, 4294967294u, NULL },
                { PROJECT_IDS_DEFAULT, 1879100000, 1879999999, NULL },
                { "7", 0, 0, "--p: '7' is not FIRST-LAST" },
                { "9-8", 0, 0, "'9-8' must ascend" },
                { "0-8", 0, 0, "--p" },          /* the id of all unlabelled files */
                { "1-4294967295", 0, 0, "--p" }, /* not a valid id */
                { "1-x", 0, 0, "--p" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                ProjectRange range = { 0 };

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(project_range_parse("--p", cases[i].text, &range, &error), ==,
                                !cases[i].says);
                g_assert_cmpuint(range.first, ==, cases[i].first);
                g_assert_cmpuint(range.last, ==, cases[i].last);
                if (cases[i].says)
                        g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

static void test_parse(void)
{
        static const struct {
                const char *text, *says; /* NULL: accepted, and formatted as before */
        } cases[] = {
                { "", NULL },
                { "7 ann\n8 bob@lab\n", NULL },
                { "7 ann\n7 bob\n", "'7 bob'" },
                { "7 ann\n8 ann\n", "'8 ann'" },
                { "7\n", "'7' is not ID USER" },
                { "7 \n", "is not ID USER" },
                { "0 ann\n", "project id" },
                { "x ann\n", "project id" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(ProjectTable) table = project_table_new();
                g_autoptr(GError) error = NULL;
                g_autofree char *again = NULL;

                g_test_message("%s", cases[i].text);
                g_assert_cmpint(project_table_parse(table, cases[i].text, &error), ==, !cases[i].says);
                if (cases[i].says) {
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                again = project_table_format(table);
                g_assert_cmpstr(again, ==, cases[i].text);
        }
}

/* Ids that are used by others on the file system. */
static bool look(guint32 id, bool *ret_used, void *arg, GError **error)
{
        (void)error;
        *ret_used = false;
        for (const guint32 *used = arg; *used; used++)
                *ret_used = *ret_used || *used == id;
        return true;
}

static void test_choice(void)
{
        static const struct {
                const char *table, *range;
                guint32 used[4], chosen; /* 0: none is free */
        } cases[] = {
                { "", "10-12", { 0 }, 10 },
                { "10 ann\n", "10-12", { 0 }, 11 },
                { "11 ann\n", "10-12", { 0 }, 10 },
                { "10 ann\n", "10-12", { 11 }, 12 },
                { "10 ann\n", "10-12", { 11, 12 }, 0 },
                { "10 ann\n", "10-10", { 0 }, 0 },
                { "10 ann\n", "20-20", { 0 }, 20 }, /* from an earlier range */
                { "", "4294967294-4294967294", { 4294967294u }, 0 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(ProjectTable) table = project_table_new();
                g_autoptr(GError) error = NULL;
                ProjectRange range;
                guint32 id = 0;

                g_assert_true(project_range_parse("--p", cases[i].range, &range, &error));
                g_assert_true(project_table_parse(table, cases[i].table, &error));
                g_assert_cmpint(project_table_add(table, &range, "new", look, (void *)cases[i].used, &id,
                                                  &error),
                                ==, cases[i].chosen != 0);
                g_assert_cmpuint(id, ==, cases[i].chosen);
                g_assert_cmpuint(project_table_id(table, "new"), ==, cases[i].chosen);
                if (cases[i].chosen)
                        g_assert_cmpstr(project_table_user(table, id), ==, "new");
                else
                        g_assert_nonnull(strstr(error->message, "--project-ids"));
        }
}

/* A kernel that reports an error. */
static bool look_fails(guint32 id, bool *ret_used, void *arg, GError **error)
{
        (void)ret_used;
        ++*(int *)arg;
        return err_set(error, ERR_UNAVAILABLE, "quotas are off, asked for %u", id);
}

static void test_look_fails(void)
{
        const ProjectRange range = { 10, 4294967294u };
        g_autoptr(ProjectTable) table = project_table_new();
        g_autoptr(GError) error = NULL;
        guint32 id = 0;
        int asked = 0;

        g_assert_true(project_table_parse(table, "10 ann\n", &error));
        g_assert_false(project_table_add(table, &range, "new", look_fails, &asked, &id, &error));
        g_assert_cmpint(asked, ==, 1);
        g_assert_cmpstr(error->message, ==, "quotas are off, asked for 11");
        g_assert_cmpuint(project_table_id(table, "new"), ==, 0);
}

static void test_remove(void)
{
        g_autoptr(ProjectTable) table = project_table_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        g_assert_true(project_table_parse(table, "10 ann\n11 bob\n", &error));
        project_table_remove(table, "ann");
        project_table_remove(table, "nobody");
        g_assert_cmpuint(project_table_id(table, "ann"), ==, 0);
        g_assert_null(project_table_user(table, 10));
        text = project_table_format(table);
        g_assert_cmpstr(text, ==, "11 bob\n");
}

static const char mounts[] =
        "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
        "23 22 0:21 / /proc rw,nosuid shared:5 master:2 - proc proc rw\n"
        "24 22 254:16 / /srv/my\\040disk rw shared:1 - xfs /dev/disk/by-label/my\\040disk rw,prjquota\n"
        "broken\n"
        "25 22 254:48 / /x rw\n";

static void test_mounts(void)
{
        static const struct {
                guint major, minor;
                const char *type, *source;
        } cases[] = {
                { 254, 0, "ext4", "/dev/vda" },
                { 0, 21, "proc", "proc" },
                { 254, 16, "xfs", "/dev/disk/by-label/my disk" },
                { 254, 1, NULL, NULL },
                { 254, 48, NULL, NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(MountEntry) entry = { 0 };

                g_assert_cmpint(mount_find(mounts, cases[i].major, cases[i].minor, &entry), ==,
                                cases[i].type != NULL);
                g_assert_cmpstr(entry.type, ==, cases[i].type);
                g_assert_cmpstr(entry.source, ==, cases[i].source);
        }
}

static void test_kernel_or_accounting(void)
{
        static const struct {
                ProjectFacts facts;
                const char *says; /* NULL: the kernel */
        } cases[] = {
                { { "ext4", true, 0, true }, NULL },
                { { "xfs", true, 0, true }, NULL },
                { { "ext4", true, 0, false }, "is off (tune2fs" },
                { { "xfs", true, ENOSYS, false }, "xfs file system is off (mount it with prjquota)" },
                { { "ext4", true, ESRCH, false }, "is off" },
                { { "ext4", true, EPERM, false }, "CAP_SYS_ADMIN" },
                { { "ext4", false, 0, true }, "members run as the server" },
                { { "tmpfs", true, ENOTBLK, false }, "of type tmpfs" },
                { { NULL, true, ENOTBLK, false }, "of type unknown" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *lacks = project_quota_lacks(&cases[i].facts);

                g_test_message("case %zu: %s", i, lacks ? lacks : "kernel");
                g_assert_cmpint(lacks != NULL, ==, cases[i].says != NULL);
                if (cases[i].says)
                        g_assert_nonnull(strstr(lacks, cases[i].says));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/project-table/range", test_range);
        g_test_add_func("/project-table/parse", test_parse);
        g_test_add_func("/project-table/choice", test_choice);
        g_test_add_func("/project-table/look-fails", test_look_fails);
        g_test_add_func("/project-table/remove", test_remove);
        g_test_add_func("/project-table/mounts", test_mounts);
        g_test_add_func("/project-table/kernel-or-accounting", test_kernel_or_accounting);
        return g_test_run();
}
