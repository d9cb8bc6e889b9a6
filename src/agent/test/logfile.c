/* The cap of a log (agent/logfile.h): the last output survives each cut. */
#include "agent/logfile.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log-times.h"

enum { CAP = 4096 };

typedef struct {
        char *path, *times;
        int fd;
        bool cut;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
        f->fd = g_file_open_tmp("paddle-log-XXXXXX", &f->path, NULL);
        g_assert_cmpint(f->fd, >=, 0);
        close(f->fd);
        f->fd = log_file_open(f->path, "");
        f->times = g_strconcat(f->path, LOG_TIMES_SUFFIX, NULL);
        f->cut = false;
}

static void tear_down(Fixture *f, gconstpointer data)
{
        close(f->fd);
        g_unlink(f->path);
        g_unlink(f->times);
        g_free(f->times);
        g_free(f->path);
}

static void fill(Fixture *f, char c, gsize n)
{
        g_autofree char *text = g_strnfill(n, c);

        g_assert_cmpint(write(f->fd, text, n), ==, (gssize)n);
}

static void say(Fixture *f, const char *text)
{
        g_assert_cmpint(write(f->fd, text, strlen(text)), ==, (gssize)strlen(text));
}

/* Expects CAP bytes of 'a', then the notice, then the tail with these last words. */
static void check(Fixture *f, const char *last)
{
        g_autofree char *text = NULL;
        gsize len;

        g_assert_true(g_file_get_contents(f->path, &text, &len, NULL));
        for (int i = 0; i < CAP; i++)
                g_assert_cmpint(text[i], ==, 'a');
        g_assert_true(g_str_has_prefix(text + CAP, "\npaddle: this log has reached its limit of 4096 bytes"));
        g_assert_cmpuint(len, <=, CAP + 256 + LOG_TAIL);
        g_assert_true(g_str_has_suffix(text, last));
        g_assert_nonnull(strstr(text, "but for the end\n"));
}

static void test_below(Fixture *f, gconstpointer data)
{
        fill(f, 'a', CAP);
        g_assert_false(log_file_cap(f->fd, CAP, &f->cut));
        g_assert_cmpint(lseek(f->fd, 0, SEEK_END), ==, CAP);
}

/* Output from just before a check is still there if the member ends right after it. */
static void test_last_words(Fixture *f, gconstpointer data)
{
        fill(f, 'a', CAP);
        for (int i = 0; i < 3; i++) {
                fill(f, 'b', 3 * LOG_TAIL);
                say(f, "the traceback\n");
                g_assert_true(log_file_cap(f->fd, CAP, &f->cut));
                check(f, "bbbthe traceback\n");
        }
        log_file_finish(f->fd, CAP);
        check(f, "bthe traceback\n");
        fill(f, 'c', LOG_TAIL);
        say(f, "over\n");
        log_file_finish(f->fd, CAP);
        check(f, "cover\n");
}

/* ---- times of writing ---- */

/* The file's mtime, as if it had been written then. */
static void set_time(Fixture *f, gint64 s)
{
        const struct timespec times[] = { { .tv_sec = s }, { .tv_sec = s } };

        g_assert_cmpint(futimens(f->fd, times), ==, 0);
}

static void check_times(Fixture *f, const LogTime *records, gsize n)
{
        g_autofree char *text = NULL;
        gsize len = 0;

        g_assert_true(n == 0 ? !g_file_test(f->times, G_FILE_TEST_EXISTS)
                             : g_file_get_contents(f->times, &text, &len, NULL));
        g_assert_cmpmem(text, len, records, n * sizeof *records);
}

static void test_growth_is_noted(Fixture *f, gconstpointer data)
{
        static const LogTime records[] = { { 5000, 3 }, { 7000, 10 }, { 8000, 11 } };
        LogClock clock = { 0 };

        g_assert_cmpint(log_clock_look(&clock, f->fd), >, LOG_TIMES_GAP_MS); /* quiet */
        check_times(f, records, 0);
        fill(f, 'a', 3);
        set_time(f, 5);
        g_assert_cmpint(log_clock_look(&clock, f->fd), ==, LOG_TIMES_GAP_MS);
        check_times(f, records, 1);
        for (int i = 0; i < 10; i++)
                g_assert_cmpint(log_clock_look(&clock, f->fd), <=, 1000);
        g_assert_cmpint(log_clock_look(&clock, f->fd), ==, 1000);
        check_times(f, records, 1);
        fill(f, 'b', 7);
        set_time(f, 7);
        g_assert_cmpint(log_clock_look(&clock, f->fd), ==, LOG_TIMES_GAP_MS);
        fill(f, 'c', 1);
        set_time(f, 8);
        log_clock_finish(&clock, f->fd);
        log_clock_finish(&clock, f->fd);
        check_times(f, records, 3);
}

/* Everything at once: the mtime is enough. */
static void test_one_moment(Fixture *f, gconstpointer data)
{
        LogClock clock = { 0 };

        fill(f, 'a', 3);
        log_clock_finish(&clock, f->fd);
        check_times(f, NULL, 0);
}

/* A member that is started again continues the same file. */
static void test_opened_again(Fixture *f, gconstpointer data)
{
        static const LogTime records[] = { { 5000, 3 }, { 9000, 10 } };
        LogClock clock = { 0 };

        fill(f, 'a', 3);
        set_time(f, 5);
        close(f->fd);
        f->fd = log_file_open(f->path, "banner");
        set_time(f, 9);
        (void)log_clock_look(&clock, f->fd);
        check_times(f, records, 2);
}

/* After a cut nothing is recorded until the log is longer than ever. */
static void test_cut(Fixture *f, gconstpointer data)
{
        static const LogTime records[] = { { 5000, CAP + 4 * LOG_TAIL }, { 9000, CAP + 5 * LOG_TAIL } };
        LogClock clock = { 0 };
        struct stat status;

        fill(f, 'a', CAP + 4 * LOG_TAIL);
        set_time(f, 5);
        (void)log_clock_look(&clock, f->fd);
        g_assert_true(log_file_cap(f->fd, CAP, &f->cut));
        (void)log_clock_look(&clock, f->fd);
        check_times(f, records, 1);
        g_assert_cmpint(fstat(f->fd, &status), ==, 0);
        fill(f, 'b', (gsize)(CAP + 5 * LOG_TAIL - status.st_size));
        set_time(f, 9);
        (void)log_clock_look(&clock, f->fd);
        check_times(f, records, 2);
}

static void test_gaps(void)
{
        g_assert_cmpint(log_times_gap_ms(0), ==, 50);
        g_assert_cmpint(log_times_gap_ms(LOG_TIMES_DOUBLE - 1), ==, 50);
        g_assert_cmpint(log_times_gap_ms(LOG_TIMES_DOUBLE), ==, 100);
        g_assert_cmpint(log_times_gap_ms(3 * (gint64)LOG_TIMES_DOUBLE), ==, 400);
        g_assert_cmpint(log_times_gap_ms(G_MAXINT64), ==, 50 << 16);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add("/logfile/below", Fixture, NULL, set_up, test_below, tear_down);
        g_test_add("/logfile/last-words", Fixture, NULL, set_up, test_last_words, tear_down);
        g_test_add("/logfile/times/growth", Fixture, NULL, set_up, test_growth_is_noted, tear_down);
        g_test_add("/logfile/times/one-moment", Fixture, NULL, set_up, test_one_moment, tear_down);
        g_test_add("/logfile/times/opened-again", Fixture, NULL, set_up, test_opened_again, tear_down);
        g_test_add("/logfile/times/cut", Fixture, NULL, set_up, test_cut, tear_down);
        g_test_add_func("/logfile/times/gaps", test_gaps);
        return g_test_run();
}
