/* The last line of a member's output, as the reason of its failure shows it. */
#include <string.h>

#include "base/file.h"
#include "runtime/last-line.h"
#include "runtime/job-dir.h"

#define NO_MODULE "ModuleNotFoundError: No module named 'six'"
#define TEN "\na\nb\nc\nd\ne\nf\ng\nh\ni\nj"

static void test_lines(void)
{
        static const struct {
                const char *text, *line;
        } cases[] = {
                { "", NULL },
                { "\n \n\t\n", NULL },
                { "one\ntwo\n", "two" },
                { "no newline", "no newline" },
                { "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: "
                  "'learning_rate'\n\n",
                  "KeyError: 'learning_rate'" },
                { "the cause\n==========\n----\n", "the cause" },
                { NO_MODULE "\nfailed\n+ exit 1\n", NO_MODULE },
                { NO_MODULE "\nfailed\n+ exit 1\nKeyError: 'lr'\n+ exit 1\n", "+ exit 1" },
                { "KeyError: 'lr'\n+ exit 1\n", "+ exit 1" },
                { NO_MODULE TEN TEN "\n", NO_MODULE },
                { NO_MODULE TEN TEN "\nx\n", "x" },
                { "\033[31;1mError:\033[0m disk\n", "Error: disk" },
                { "\033]0;title\007shown\n", "shown" },
                { "\033]0;title\033\\shown\n", "shown" },
                { "cut \033[", "cut" },
                { " 10%|#   |\r 20%|##  |\r", "20%|## |" },
                { "epoch 1\rOSError: gone\r\n", "OSError: gone" },
                { "a\001b\tc  d\n", "a b c d" },
                { "\303\244\377\n", "\303\244\357\277\275" },
                { "\345\255\246\344\271\240\347\216\207\n", "\345\255\246\344\271\240\347\216\207" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *line = last_line_of(cases[i].text, strlen(cases[i].text));

                g_assert_cmpstr(line, ==, cases[i].line);
        }
}

static void test_bound(void)
{
        g_autofree char *text = g_strnfill(100000, 'x');
        g_autofree char *line = last_line_of(text, strlen(text));

        g_assert_cmpint(g_utf8_strlen(line, -1), ==, LAST_LINE_MAX);
        g_assert_true(g_str_has_prefix(line, "xxx") && g_str_has_suffix(line, "x\342\200\246"));
}

static void test_task(void)
{
        static const char *const nothing[] = { "", "a", "4k2mzzzzzzzzzzzz.1.worker",
                                               "4k2mzzzzzzzzzzzz.x.worker.0", "4k2mzzzzzzzzzzzz.1.worker.1" };
        g_autofree char *state = g_dir_make_tmp("last-line-XXXXXX", NULL);
        g_autofree char *attempt = workdir_attempt(state, "4k2mzzzzzzzzzzzz", 1);
        g_autofree char *dir = g_build_filename(attempt, "log", NULL);
        g_autofree char *path = g_build_filename(dir, "worker-0", NULL);
        g_autofree char *link = g_build_filename(dir, "worker-1", NULL);
        g_autofree char *line = NULL;

        g_assert_true(file_mkdirs(dir, 0700, NULL));
        g_assert_true(g_file_set_contents(path, "begins\nends\n", -1, NULL));
        g_assert_cmpint(symlink(path, link), ==, 0);
        line = last_line_of_task(state, "4k2mzzzzzzzzzzzz.1.worker.0");
        g_assert_cmpstr(line, ==, "ends");
        for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++)
                g_assert_null(last_line_of_task(state, nothing[i]));
        g_assert_true(file_remove_tree(state, NULL));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/last-line/lines", test_lines);
        g_test_add_func("/last-line/bound", test_bound);
        g_test_add_func("/last-line/task", test_task);
        return g_test_run();
}
