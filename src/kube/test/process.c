/* Programs that print more than they should, or at times when nobody expects it. */
#include "kube/process.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

enum { PATIENCE_S = 60 };

typedef struct {
        bool ended;
        int wait_status, code; /* code -1: no error */
        gsize out_len, err_len;
} End;

static void on_end(int wait_status, const GString *out, const GString *err, const GError *error, void *arg)
{
        *(End *)arg = (End){ true, wait_status, error ? error->code : -1, out->len, err->len };
}

static KubeProcess *start(char *script, char *arg, gint64 timeout_ms, End *end)
{
        char *argv[] = { "sh", "-c", script, arg, NULL };
        g_auto(GStrv) env = g_get_environ();
        KubeProcessConfig config = { .argv = argv,
                                     .envp = env,
                                     .out_max = 100,
                                     .timeout_ms = timeout_ms,
                                     .done = on_end,
                                     .arg = end };

        return kube_process_start(&config);
}

static void run_until_end(const End *end)
{
        while (!end->ended)
                g_main_context_iteration(NULL, TRUE);
}

/* In a process of its own, in a group of its own, for a time: what goes wrong here hangs or kills. */
static bool is_apart(void)
{
        if (g_test_subprocess()) {
                g_assert_cmpint(setpgid(0, 0), ==, 0);
                return true;
        }
        g_test_trap_subprocess(NULL, (guint64)PATIENCE_S * G_USEC_PER_SEC, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        return false;
}

/* ---- What is printed after the program's own end ---- */

typedef struct {
        char *dir, *go, *printed; /* the last two are FIFOs */
        int go_fd, printed_fd;
} Signals;

/* Opened for both: neither side waits for the other. */
static int open_fifo(const char *path)
{
        g_assert_cmpint(mkfifo(path, 0600), ==, 0);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        return fd;
}

static void signals_open(Signals *signals)
{
        signals->dir = g_dir_make_tmp("kube-process-XXXXXX", NULL);
        signals->go = g_build_filename(signals->dir, "go", NULL);
        signals->printed = g_build_filename(signals->dir, "printed", NULL);
        signals->go_fd = open_fifo(signals->go);
        signals->printed_fd = open_fifo(signals->printed);
}

static void signals_close(Signals *signals)
{
        close(signals->go_fd);
        close(signals->printed_fd);
        g_assert_true(file_remove_tree(signals->dir, NULL));
        g_free(signals->dir);
        g_free(signals->go);
        g_free(signals->printed);
}

static gboolean let_print(void *arg)
{
        const Signals *signals = arg;
        char answer;

        g_assert_cmpint(write(signals->go_fd, "\n", 1), ==, 1);
        g_assert_cmpint(read(signals->printed_fd, &answer, 1), ==, 1);
        return G_SOURCE_REMOVE;
}

/* The loop sees the program's end and nothing printed; before that end is dispatched, what the program left
 * in the background prints too much. Nobody is there to be killed for it. */
static void test_printed_after_the_end(void)
{
        static char script[] = "(read x <$0/go; head -c 1000 /dev/zero; echo >$0/printed) & exit 0";
        Signals signals;
        siginfo_t info;
        End end = { 0 };

        if (!is_apart())
                return;
        signals_open(&signals);
        g_idle_add_full(G_PRIORITY_DEFAULT, let_print, &signals,
                        NULL); /* stands before the process' sources */
        start(script, signals.dir, (gint64)PATIENCE_S * 1000, &end);
        g_assert_cmpint(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), ==, 0);
        run_until_end(&end);
        g_assert_cmpint(end.code, ==, ERR_TOO_LARGE);
        g_assert_true(WIFEXITED(end.wait_status));
        g_assert_cmpint(end.out_len, <=, 100);
        signals_close(&signals);
}

/* ---- What is printed without end ---- */

static void test_endless(void)
{
        static struct {
                char *script;
                gint64 timeout_ms;
                int code;
        } cases[] = {
                { "exec yes", (gint64)PATIENCE_S * 1000, ERR_TOO_LARGE },
                { "exec yes >&2", 100, ERR_TIMEOUT },
        };

        if (!is_apart())
                return;
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                End end = { 0 };

                start(cases[i].script, NULL, cases[i].timeout_ms, &end);
                run_until_end(&end);
                g_assert_cmpint(end.code, ==, cases[i].code);
                g_assert_cmpint(WTERMSIG(end.wait_status), ==, SIGKILL);
                g_assert_cmpint(end.out_len, <=, 100);
                g_assert_cmpint(end.err_len, <=, 4096);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/process/printed-after-the-end", test_printed_after_the_end);
        g_test_add_func("/kube/process/endless", test_endless);
        return g_test_run();
}
