/* The cap of a log (agent/logfile.h): what was said last survives each cut. */
#include "agent/logfile.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

enum { CAP = 4096 };

typedef struct {
        char *path;
        int fd;
        bool cut;
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
        f->fd = g_file_open_tmp("paddle-log-XXXXXX", &f->path, NULL);
        g_assert_cmpint(f->fd, >=, 0);
        close(f->fd);
        f->fd = log_file_open(f->path, "");
        f->cut = false;
}

static void tear_down(Fixture *f, gconstpointer data)
{
        close(f->fd);
        g_unlink(f->path);
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

/* Begins with CAP bytes of 'a', then the notice, then the tail with these last words. */
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

/* Whatever it wrote just before a look is still there when it ends right after it. */
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

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add("/logfile/below", Fixture, NULL, set_up, test_below, tear_down);
        g_test_add("/logfile/last-words", Fixture, NULL, set_up, test_last_words, tear_down);
        return g_test_run();
}
