/* What sessions use, of a /proc that is made of files. */
#include "runtime/local/sessions.h"

#include <unistd.h>

#include "base/file.h"

static void put(const char *proc, int pid, const char *name, int session, int user, int system, int pages)
{
        g_autofree char *dir = g_strdup_printf("%s/%d", proc, pid),
                        *path = g_build_filename(dir, "stat", NULL);
        g_autofree char *text =
                g_strdup_printf("%d (%s) S 1 %d %d 0 -1 4194304 1 2 3 4 %d %d 5 5 20 0 1 0 100 "
                                "1000000 %d 18446744073709551615 0 0\n",
                                pid, name, pid, session, user, system, pages);

        g_assert_true(file_mkdirs(dir, 0700, NULL));
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void test_sums(void)
{
        g_autofree char *proc = g_dir_make_tmp("sessions-XXXXXX", NULL);
        Sessions *sessions = sessions_new(proc);
        gint64 tick_us = 1000000 / sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
        TaskUsage usage = { 0 };

        put(proc, 10, "python3", 10, 100, 20, 7);
        put(proc, 11, "a) S 1 (b", 10, 3, 4, 5); /* a name of its own choice */
        put(proc, 12, "other", 12, 1, 1, 1);
        put(proc, 2, "kthreadd", 0, 9, 9, 9); /* threads of the kernel are of no session */
        g_assert_true(sessions_usage(sessions, 10, 1000, &usage));
        g_assert_cmpint(usage.cpu_us, ==, (100 + 20 + 10 + 3 + 4 + 10) * tick_us);
        g_assert_cmpint(usage.memory, ==, 12 * page);
        g_assert_cmpint(usage.processes, ==, 2);
        g_assert_true(sessions_usage(sessions, 11, 1000, &usage)); /* the same session */
        g_assert_cmpint(usage.processes, ==, 2);
        g_assert_false(sessions_usage(sessions, 13, 1000, &usage));
        put(proc, 13, "late", 10, 0, 0, 1);
        g_assert_true(sessions_usage(sessions, 10, 1000 + SESSIONS_MS - 1, &usage));
        g_assert_cmpint(usage.processes, ==, 2);
        g_assert_true(sessions_usage(sessions, 10, 1000 + SESSIONS_MS, &usage));
        g_assert_cmpint(usage.processes, ==, 3);
        sessions_free(sessions);
        g_assert_true(file_remove_tree(proc, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/sessions/sums", test_sums);
        return g_test_run();
}
