/* Incomplete lines at the bottom of a terminal. */
#include "base/text-cut.h"
#include "cli/live-lines.h"

#include "cli/table.h"

static const struct {
        const char *text;
        int max;
        bool redrawn;
        const char *shown;
} fits[] = {
        { "name? ", 80, false, "name? " },
        { "50%", 80, true, "50%" },
        { "0123456789", 4, true, "0123" },  /* a bar: its start */
        { "0123456789", 4, false, "6789" }, /* a line that grows: its end */
        { "0123456789", 10, false, "0123456789" },
        { "\xe4\xb8\x96\xe4\xb8\x96x", 3, true, "\xe4\xb8\x96" }, /* two columns each */
        { "\xe4\xb8\x96\xe4\xb8\x96x", 4, false, "\xe4\xb8\x96x" },
        { "|\b/\b-", 80, false, "-" },       /* a spinner */
        { "1%\b\b2%\b\b", 80, false, "2%" }, /* Keras */
        { "\b\b\bx", 80, false, "x" },
        { "\033[31mred", 80, false, "\033[31mred\033[0m" },
        { "\033[31mred\033[0m and more", 4, false, "\033[31m\033[0mmore\033[0m" },
        { "a\033[Kb", 80, true, "ab" },
        { "\033]0;title\007x", 80, false, "^[]0;title^Gx" }, /* titles are not passed */
        { "\033[2Jx", 80, false, "^[[2Jx" },
        { "half\033[3", 80, false, "half" },
        { "a\tb", 80, false, "a b" },
        { "x", 0, false, "" },
        { "x", -5, true, "" },
};

static void test_fit(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(fits); i++) {
                g_autofree char *shown = live_line_fit(fits[i].text, fits[i].max, fits[i].redrawn);

                g_assert_cmpstr(shown, ==, fits[i].shown);
        }
}

/* The terminal's input from one change to the next: up and clear as many rows as are shown. */
static void test_block(void)
{
        g_autoptr(LogPrefixer) prefixer = log_prefixer_new(2, false);
        g_autoptr(LiveLines) lines = live_lines_new();
        g_autoptr(GString) out = g_string_new(NULL);

        live_lines_erase(lines, out);
        live_lines_set(lines, "t0", "\r10%");
        live_lines_draw(lines, 80, 24, prefixer, out);
        g_assert_cmpstr(out->str, ==, "t0 ~ 10%");
        g_string_truncate(out, 0);
        live_lines_erase(lines, out);
        live_lines_set(lines, "t1", "name? ");
        live_lines_draw(lines, 80, 24, prefixer, out);
        g_assert_cmpstr(out->str, ==, "\r\033[Kt0 ~ 10%\nt1 | name? ");
        g_string_truncate(out, 0);
        live_lines_erase(lines, out);
        live_lines_drop(lines, "t0");
        log_prefixer_add(prefixer, "t0", "\r100%\n", out);
        live_lines_draw(lines, 8, 24, prefixer, out);
        g_assert_cmpstr(out->str, ==, "\r\033[K\033[A\033[Kt0 ~ 100%\nt1 | ? ");
        g_string_truncate(out, 0);
        live_lines_clear(lines);
        live_lines_erase(lines, out);
        live_lines_draw(lines, 80, 24, prefixer, out);
        live_lines_erase(lines, out);
        g_assert_cmpstr(out->str, ==, "\r\033[K");
}

/* More lines than rows. */
static void test_many(void)
{
        g_autoptr(LogPrefixer) prefixer = log_prefixer_new(1, false);
        g_autoptr(LiveLines) lines = live_lines_new();
        g_autoptr(GString) out = g_string_new(NULL);

        for (char name[] = "a"; *name <= 'z'; ++*name)
                live_lines_set(lines, name, "x");
        live_lines_draw(lines, 80, 4, prefixer, out);
        g_assert_cmpstr(out->str, ==, "a | x\nb | x\nc | x");
        live_lines_erase(lines, out);
        g_string_truncate(out, 0);
        live_lines_draw(lines, 80, 100, prefixer, out);
        g_assert_cmpstr(out->str, ==, "a | x\nb | x\nc | x\nd | x\ne | x\nf | x\ng | x\nh | x");
}

/* A row is narrower than the terminal whatever the member's name is: a wrapped one would take two rows. */
static void test_names(void)
{
        static const char name[] = "a-name-of-as-many-letters-as-a-job-may-have-which-are-63[0] trainer-0";
        static const int widths[] = { 8, 20, 40, 80, 120 };

        for (gsize i = 0; i < G_N_ELEMENTS(widths); i++) {
                g_autoptr(LogPrefixer) prefixer = log_prefixer_new(40, false);
                g_autoptr(LiveLines) lines = live_lines_new();
                g_autoptr(GString) out = g_string_new(NULL);
                g_auto(GStrv) rows = NULL;

                live_lines_set(lines, name, "epoch 3 of 10, loss 0.25, some more words and then the end");
                live_lines_set(lines, "数字识别数字识别数字识别数字识别数字识别 trainer-0", "x");
                live_lines_draw(lines, widths[i], 24, prefixer, out);
                rows = g_strsplit(out->str, "\n", -1);
                g_assert_cmpint((int)g_strv_length(rows), ==, 2);
                for (char **row = rows; *row; row++)
                        g_assert_cmpint(text_columns(*row), <, widths[i]);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/live-lines/fit", test_fit);
        g_test_add_func("/cli/live-lines/block", test_block);
        g_test_add_func("/cli/live-lines/names", test_names);
        g_test_add_func("/cli/live-lines/many", test_many);
        return g_test_run();
}
