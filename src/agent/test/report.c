/* How a keeper reduces a member's reports. */
#include "agent/report.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static void append(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_APPEND);

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(write(fd, text, strlen(text)), ==, (gssize)strlen(text));
        close(fd);
}

static void expect(const char *path, const char *wanted)
{
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, wanted);
}

static void test_fold(void)
{
        static Report report;
        static char text[REPORT_TEXT];
        const char *lines = "loss=2\nloss=0.5\nloss=1\nx y=1\n9=1\nloss=\nacc = 3 \nbad=nan\npart=1";
        size_t taken = report_take(&report, lines, strlen(lines), false);

        g_assert_cmpuint(taken, ==, strlen(lines) - strlen("part=1"));
        text[report_format(&report, text)] = '\0';
        g_assert_cmpstr(text, ==, "loss=0.5\nloss=2\nloss=1\nacc=3\nacc=3\nacc=3\nbad=nan\n");
}

static void test_files(void)
{
        g_autofree char *dir = g_dir_make_tmp("report-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(dir, "p", NULL), *result = g_build_filename(dir, "r", NULL);
        static ReportFile file;

        report_open(&file, path, result, (uid_t)-1, (gid_t)-1);
        g_assert_cmpint(file.fd, >=, 0);
        report_look(&file, false);
        g_assert_false(g_file_test(result, G_FILE_TEST_EXISTS)); /* nothing was reported */
        append(path, "loss=3\nloss=1\nloss=");
        report_look(&file, false);
        expect(result, "loss=1\nloss=3\nloss=1\n");
        append(path, "2");
        report_look(&file, true); /* the last line needs no end */
        expect(result, "loss=1\nloss=3\nloss=2\n");
        (void)g_unlink(path);
        (void)g_unlink(result);
        (void)g_rmdir(dir);
}

/* A million lines a second: a bounded number is read, the last value is right, the disk blocks are freed. */
static void test_flood(void)
{
        g_autofree char *dir = g_dir_make_tmp("report-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(dir, "p", NULL), *result = g_build_filename(dir, "r", NULL);
        g_autoptr(GString) flood = g_string_new(NULL);
        static ReportFile file;
        struct stat info;

        report_open(&file, path, result, (uid_t)-1, (gid_t)-1);
        for (int i = 0; i < 1000000; i++)
                g_string_append_printf(flood, "step=%d\n", i);
        append(path, flood->str);
        report_look(&file, false);
        g_assert_cmpint(file.report.n, ==, 1);
        g_assert_cmpfloat(file.report.values[0].last, ==, 999999);
        g_assert_cmpint(stat(result, &info), ==, 0);
        g_assert_cmpint(info.st_size, <, 100);
        (void)g_unlink(path);
        (void)g_unlink(result);
        (void)g_rmdir(dir);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/report/fold", test_fold);
        g_test_add_func("/report/files", test_files);
        g_test_add_func("/report/flood", test_flood);
        return g_test_run();
}
