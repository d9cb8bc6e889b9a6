/* The audit log's files: what is told to be written is there, across rotation, crashes and full disks. */
#include "store/audit.h"

#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/file.h"
#include "store/test/help.h"

typedef struct {
        pthread_mutex_t mutex; /* ThreadSanitizer sees no GMutex */
        pthread_cond_t cond;
        int n;
} Count;

static void count(void *arg)
{
        Count *counted = arg;

        pthread_mutex_lock(&counted->mutex);
        counted->n++;
        pthread_cond_signal(&counted->cond);
        pthread_mutex_unlock(&counted->mutex);
}

static void wait_count(Count *counted, int n)
{
        pthread_mutex_lock(&counted->mutex);
        while (counted->n < n)
                pthread_cond_wait(&counted->cond, &counted->mutex);
        pthread_mutex_unlock(&counted->mutex);
}

static Audit *open_audit(const char *dir, gint64 size, int files)
{
        g_autoptr(GError) error = NULL;
        Audit *audit = audit_open(&(AuditConfig){ .dir = dir, .file_size = size, .files = files }, &error);

        g_assert_no_error(error);
        return audit;
}

static void put(Audit *audit, int i, bool durable)
{
        g_autofree char *fields = g_strdup_printf("\"user\":\"%s\",\"n\":%d", i % 2 ? "ann" : "bob", i);
        Count counted = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

        audit_put(audit, fields, durable, count, &counted);
        wait_count(&counted, 1);
}

static gint64 problems_of(const char *dir, gint64 *ret_lines)
{
        g_auto(ChainReport) report = { 0 };

        g_assert_true(chain_check(dir, NULL, &report, NULL));
        if (report.problems->len)
                g_test_message("%s", (char *)report.problems->pdata[0]);
        *ret_lines = report.last.seq;
        return report.n_problems;
}

/* Whoever was told finds the line, before the log is closed. */
static void test_written(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 1 << 20, 0);
        gint64 last;

        for (int i = 1; i <= 20; i++) {
                put(audit, i, i % 3 == 0);
                g_assert_cmpint(problems_of(dir, &last), ==, 0);
                g_assert_cmpint(last, ==, i);
                g_assert_cmpint(audit_head(audit).seq, ==, i);
        }
        audit_close(audit);
        audit = open_audit(dir, 1 << 20, 0);
        put(audit, 21, true);
        audit_close(audit);
        g_assert_cmpint(problems_of(dir, &last), ==, 0);
        g_assert_cmpint(last, ==, 21);
}

static void test_rotation(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 400, 3);
        gint64 last;

        for (int i = 1; i <= 60; i++)
                put(audit, i, false);
        audit_close(audit);
        g_autoptr(GPtrArray) files = chain_files(dir, NULL);
        g_assert_cmpuint(files->len, ==, 3);
        g_assert_cmpint(problems_of(dir, &last), ==, 0);
        g_autofree char *oldest = g_build_filename(dir, files->pdata[0], NULL);
        g_unlink(oldest); /* by nobody who may */
        g_assert_cmpint(problems_of(dir, &last), >, 0);
}

static void read_some(Audit *audit, gint64 since, const char *user, int limit, int n, gint64 first)
{
        g_autoptr(json_t) items =
                audit_read(audit, &(AuditQuery){ .since = since, .user = user, .limit = limit }, NULL);

        g_assert_cmpuint(json_array_size(items), ==, n);
        if (n)
                g_assert_cmpint(json_integer_value(json_object_get(json_array_get(items, 0), "seq")), ==,
                                first);
}

static void test_reading(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 400, 0);

        read_some(audit, -1, NULL, 10, 0, 0);
        for (int i = 1; i <= 30; i++)
                put(audit, i, false);
        read_some(audit, -1, NULL, 10, 10, 21);
        read_some(audit, -1, NULL, 1000, 30, 1);
        read_some(audit, -1, "ann", 5, 5, 21);
        read_some(audit, 0, NULL, 10, 10, 1);
        read_some(audit, 12, NULL, 10, 10, 13);
        read_some(audit, 12, "bob", 3, 3, 14);
        read_some(audit, 30, NULL, 10, 0, 0);
        read_some(audit, -1, "eve", 10, 0, 0);
        audit_close(audit);
}

static void append(const char *dir, const char *text)
{
        g_autoptr(GPtrArray) files = chain_files(dir, NULL);
        g_autofree char *path = g_build_filename(dir, files->pdata[files->len - 1], NULL);
        FILE *file = fopen(path, "a");

        g_assert_nonnull(file);
        fputs(text, file);
        fclose(file);
}

static char *last_action(const char *dir)
{
        Audit *audit = open_audit(dir, 1 << 20, 0);
        g_autoptr(json_t) items = NULL;
        char *action;

        put(audit, 99, true);
        items = audit_read(audit, &(AuditQuery){ .since = -1, .limit = 2 }, NULL);
        action = g_strdup(json_string_value(json_object_get(json_array_get(items, 0), "action")));
        audit_close(audit);
        return action;
}

/* A line that was not finished goes, and a line says so; the log is good. */
/* Nobody waited for these lines. */
static void test_reading_what_was_just_handed_over(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 1 << 20, 0);

        for (int i = 1; i <= 500; i++) {
                g_autofree char *fields = g_strdup_printf("\"user\":\"u\",\"n\":%d", i);

                audit_put(audit, fields, false, NULL, NULL);
                if (i % 50 == 0)
                        read_some(audit, i - 1, NULL, 10, 1, i);
        }
        audit_close(audit);
}

static void test_crash_in_a_line(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 1 << 20, 0);
        gint64 last;

        put(audit, 1, true);
        put(audit, 2, true);
        audit_close(audit);
        append(dir, "{\"seq\":3,\"prev\":\"00");
        g_autofree char *action = last_action(dir);
        g_assert_cmpstr(action, ==, "audit recover");
        g_assert_cmpint(problems_of(dir, &last), ==, 0);
        g_assert_cmpint(last, ==, 4);
}

/* Lines that were told and are gone are no crash: the log says so, and the check finds the gap. */
static void test_lines_are_gone(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 1 << 20, 0);
        g_autofree char *text = NULL, *path = NULL;
        gint64 last;

        for (int i = 1; i <= 3; i++)
                put(audit, i, true);
        audit_close(audit);
        path = g_build_filename(dir, "000000000001.jsonl", NULL);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        strchr(strchr(text, '\n') + 1, '\n')[1] = '\0';
        g_assert_true(g_file_set_contents(path, text, -1, NULL));
        g_autofree char *action = last_action(dir);
        g_assert_cmpstr(action, ==, "audit damaged");
        g_assert_cmpint(problems_of(dir, &last), >, 0);
}

/* While nothing can be written nobody is kept waiting, the trouble is told, and lines are written later. */
static void test_no_space(void)
{
        g_autoptr(Scratch) dir = scratch_new();
        Audit *audit = open_audit(dir, 1 << 20, 0);
        struct rlimit all, little;
        gint64 last;

        signal(SIGXFSZ, SIG_IGN);
        put(audit, 1, true);
        g_assert_null(audit_trouble(audit));
        g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &all), ==, 0);
        little = all;
        little.rlim_cur = 150; /* the first line and half of the second */
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &little), ==, 0);
        put(audit, 2, true);
        put(audit, 3, false);
        g_autofree char *trouble = audit_trouble(audit);
        g_assert_nonnull(strstr(trouble, "audit log"));
        g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &all), ==, 0);
        for (char *still = trouble; still;) {
                g_usleep(10000);
                g_autofree char *now = audit_trouble(audit);

                still = now ? trouble : NULL;
        }
        put(audit, 4, true);
        audit_close(audit);
        g_assert_cmpint(problems_of(dir, &last), ==, 0);
        g_assert_cmpint(last, ==, 4);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/audit/written", test_written);
        g_test_add_func("/audit/rotation", test_rotation);
        g_test_add_func("/audit/reading", test_reading);
        g_test_add_func("/audit/reading-at-once", test_reading_what_was_just_handed_over);
        g_test_add_func("/audit/crash-in-a-line", test_crash_in_a_line);
        g_test_add_func("/audit/lines-are-gone", test_lines_are_gone);
        g_test_add_func("/audit/no-space", test_no_space);
        return g_test_run();
}
