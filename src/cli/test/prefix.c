/* Log lines with the member's name in front. */
#include "cli/prefix.h"

#include <string.h>

typedef struct {
        const char *member, *text;
} Piece;

static const struct {
        const char *name;
        Piece pieces[5];
        const char *out;
} cases[] = {
        { "one line", { { "trainer-0", "hello\n" } }, "trainer-0 | hello\n" },
        { "two lines", { { "trainer-0", "a\nb\n" } }, "trainer-0 | a\ntrainer-0 | b\n" },
        { "empty lines", { { "trainer-0", "\n\n" } }, "trainer-0 | \ntrainer-0 | \n" },
        { "padding", { { "ps-0", "a\n" }, { "trainer-0", "b\n" } }, "ps-0      | a\ntrainer-0 | b\n" },
        { "pieces of a line", { { "trainer-0", "he" }, { "trainer-0", "llo\n" } }, "trainer-0 | hello\n" },
        { "interrupted",
          { { "trainer-0", "he" }, { "trainer-1", "x\n" }, { "trainer-0", "llo\n" } },
          "trainer-0 | he\ntrainer-1 | x\ntrainer-0 | llo\n" },
        { "nothing", { { "trainer-0", "" } }, "" },
        { "nothing does not interrupt",
          { { "trainer-0", "he" }, { "trainer-1", "" }, { "trainer-0", "llo\n" } },
          "trainer-0 | hello\n" },
        { "no end", { { "trainer-0", "a" } }, "trainer-0 | a\n" },
        { "longer than the width", { { "trainer-1000", "a\n" } }, "trainer-1000 | a\n" },
        { "redrawn", { { "t", "\r100%\n" }, { "t", "b\n" } }, "t         ~ 100%\nt         | b\n" },
        { "CR LF", { { "t", "a\r\n" }, { "t", "\r\n" } }, "t         | a\r\nt         | \r\n" },
        { "CR, then LF", { { "t", "a" }, { "t", "\r\n" } }, "t         | a\r\n" },
        { "redrawn after a piece",
          { { "t", "long" }, { "t", "\r1%\n" } },
          "t         | long\nt         ~ 1%\n" },
        { "redrawn without a name", { { "", "\r100%\n" } }, "\r100%\n" },
        { "no name", { { "", "a\nb" }, { "", "c\n" } }, "a\nbc\n" },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(LogPrefixer) prefixer = log_prefixer_new(9, false);
                g_autoptr(GString) out = g_string_new(NULL);

                g_test_message("%s", cases[i].name);
                for (const Piece *piece = cases[i].pieces; piece->text; piece++)
                        log_prefixer_add(prefixer, piece->member, piece->text, out);
                log_prefixer_break(prefixer, out);
                g_assert_cmpstr(out->str, ==, cases[i].out);
        }
}

/* A colour in two pieces is passed; a title is not, also between pieces of others. */
static void test_tame(void)
{
        g_autoptr(LogPrefixer) prefixer = log_prefixer_new(1, false);
        g_autoptr(GString) out = g_string_new(NULL);

        log_prefixer_tame(prefixer);
        log_prefixer_add(prefixer, "a", "x\033[3", out);
        log_prefixer_add(prefixer, "a", "1my\033]0;t\007\n", out);
        log_prefixer_add(prefixer, "a", "\033[2", out);
        log_prefixer_add(prefixer, "b", "J\n", out);
        log_prefixer_add(prefixer, "a", "J\033", out);
        log_prefixer_break(prefixer, out);
        g_assert_cmpstr(out->str, ==, "a | x\033[31my^[]0;t^G\na | ^[[2\nb | J\na | J^[\n");
}

static void test_colours(void)
{
        g_autoptr(LogPrefixer) prefixer = log_prefixer_new(1, true);
        g_autoptr(GString) out = g_string_new(NULL);

        log_prefixer_add(prefixer, "a", "1\n", out);
        log_prefixer_add(prefixer, "b", "2\n", out);
        log_prefixer_add(prefixer, "a", "3\n", out);
        g_assert_cmpstr(out->str, ==, "\033[36ma |\033[0m 1\n\033[33mb |\033[0m 2\n\033[36ma |\033[0m 3\n");
}

static void test_stamps(void)
{
        g_autoptr(LogPrefixer) prefixer = log_prefixer_new(1, false);
        g_autoptr(GString) out = g_string_new(NULL);

        log_prefixer_stamp(prefixer, "10:00");
        log_prefixer_add(prefixer, "a", "1\n2", out);
        log_prefixer_stamp(prefixer, "10:01");
        log_prefixer_add(prefixer, "a", "2\n\r3\n", out);
        log_prefixer_add(prefixer, "", "x\n\ry\n", out);
        g_assert_cmpstr(out->str, ==, "10:00 a | 1\n10:00 a | 22\n10:01 a ~ 3\n10:01 | x\n10:01 ~ y\n");
}

/* All states, as the job wrote them. */
static void test_raw(void)
{
        g_autoptr(LogPrefixer) prefixer = log_prefixer_new(1, false);
        g_autoptr(GString) out = g_string_new(NULL);

        log_prefixer_raw(prefixer);
        log_prefixer_add(prefixer, "a", "\r1%\r2%\n", out);
        log_prefixer_add(prefixer, "a", "x", out);
        log_prefixer_add(prefixer, "a", "\ry\n", out);
        g_assert_cmpstr(out->str, ==, "a | \r1%\r2%\na | x\ry\n");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/prefix/cases", test_cases);
        g_test_add_func("/cli/prefix/tame", test_tame);
        g_test_add_func("/cli/prefix/colours", test_colours);
        g_test_add_func("/cli/prefix/stamps", test_stamps);
        g_test_add_func("/cli/prefix/raw", test_raw);
        return g_test_run();
}
