/* Mounts of requests: doc/reference/paddleflow-api.md, "Fields of a job". */
#include "jobspec/job-mounts.h"

#include <glib/gstdio.h>

static void test_list(void)
{
        static const JobMount mounts[] = {
                { "home", "", "", false },
                { "data", "sets/a", "/data", true },
                { "home", "", "/home/paddleflow/storage/mnt/fs-ann-home", false }, /* the first one again */
                { "home", "out", "/out", false },
        };
        g_autoptr(json_t)
                list = job_mounts_format("ann", mounts, G_N_ELEMENTS(mounts)),
                none = job_mounts_format("ann", NULL, 0),
                expected = json_loads(
                        "[{\"fs\":\"home\",\"path\":\"/home/paddleflow/storage/mnt/fs-ann-home\"},"
                        "{\"fs\":\"data\",\"sub\":\"sets/a\",\"path\":\"/data\",\"read_only\":true},"
                        "{\"fs\":\"home\",\"sub\":\"out\",\"path\":\"/out\"}]",
                        0, NULL);

        g_assert_true(json_equal(list, expected));
        g_assert_cmpint(json_array_size(none), ==, 0);
}

/* The path reaches sh as one word, whatever is in it. */
static void test_command(void)
{
        g_autofree char *dir = g_dir_make_tmp("it's $(here) XXXXXX", NULL),
                        *command = job_command_in(dir, "pwd; echo \"$PF_WORK_DIR\""),
                        *expected = g_strdup_printf("%s\n%s\n", dir, dir),
                        *gone = job_command_in("/there/is/none", "echo run"), *out = NULL, *nothing = NULL;
        const char *const run[] = { "sh", "-c", command, NULL }, *const fail[] = { "sh", "-c", gone, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **)run, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL,
                                   NULL, NULL));
        g_assert_cmpstr(out, ==, expected);
        g_assert_true(g_spawn_sync(NULL, (char **)fail, NULL,
                                   G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &nothing,
                                   NULL, &status, NULL));
        g_assert_cmpstr(nothing, ==, "");
        g_assert_false(g_spawn_check_wait_status(status, NULL));
        g_assert_cmpint(g_rmdir(dir), ==, 0);
}

static void test_work_dir(void)
{
        g_assert_true(job_mount_is_work_dir(""));
        g_assert_true(job_mount_is_work_dir("/mnt"));
        g_assert_false(job_mount_is_work_dir("NONE"));
        g_assert_false(job_mount_is_work_dir("none"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/job-mounts/list", test_list);
        g_test_add_func("/job-mounts/command", test_command);
        g_test_add_func("/job-mounts/work-dir", test_work_dir);
        return g_test_run();
}
