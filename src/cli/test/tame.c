/* The part of a job's output that reaches the terminal. */
#include "cli/tame.h"

#include <string.h>

static const struct {
        const char *in, *out;
} cases[] = {
        { "plain, umlauts \xc3\xa4, \xe4\xb8\xad\n\ttab", "plain, umlauts \xc3\xa4, \xe4\xb8\xad\n\ttab" },
        { "50 %\r51 %\b\b2 %", "50 %\r51 %\b\b2 %" },
        /* colours */
        { "\033[31mred\033[0m", "\033[31mred\033[0m" },
        { "\033[m\033[1;38;2;1;2;3m\033[4:3m", "\033[m\033[1;38;2;1;2;3m\033[4:3m" },
        { "\r\033[K51 %", "\r\033[K51 %" },
        /* the cursor, the screen */
        { "\033[2J\033[H", "^[[2J^[[H" },
        { "\033[1A", "^[[1A" },
        { "\033[?25l\033[?1049h", "^[[?25l^[[?1049h" },
        { "\033[>4;2m", "^[[>4;2m" },
        { "\033[ 1m", "^[[ 1m" },
        { "\033c", "^[c" },
        { "\0337\0338", "^[7^[8" },
        /* queries that the terminal would answer with input */
        { "\033[6n\033[c\033[>c\033Z", "^[[6n^[[c^[[>c^[Z" },
        { "\005", "^E" },
        /* titles, the clipboard, links, notifications, pictures */
        { "\033]0;title\007", "^[]0;title^G" },
        { "\033]52;c;aGk=\033\\", "^[]52;c;aGk=^[\\" },
        { "\033]8;;http://x\033\\a", "^[]8;;http://x^[\\a" },
        { "\033P+q\033\\\033_G\033^x\033X", "^[P+q^[\\^[_G^[^x^[X" },
        { "\007\016\017\177", "^G^N^O^?" },
        /* the same in C1: U+009B, U+009D, U+0090 */
        { "\xc2\x9b"
          "2J\xc2\x9d"
          "0;t\xc2\x9c\xc2\x90",
          "^[[2J^[]0;t^[\\^[P" },
        { "\xc2\xa0\xc3\x9b", "\xc2\xa0\xc3\x9b" },
        /* one sequence in another, and one without an end */
        { "\033[3\033[31m", "^[[3\033[31m" },
        { "\033\033[31m", "^[\033[31m" },
        { "a\033", "a^[" },
        { "a\033[31", "a^[[31" },
        { "\033[1111111111111111111111111111111111111111111111111111111111111111111111m",
          "^[[1111111111111111111111111111111111111111111111111111111111111111111111m" },
};

/* In pieces of each length: the result does not depend on where a sequence is cut. */
static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                gsize all = strlen(cases[i].in);

                g_test_message("%zu", i);
                for (gsize step = 1; step <= all; step++) {
                        Tame tame = { 0 };
                        g_autoptr(GString) out = g_string_new(NULL);

                        for (gsize at = 0; at < all; at += step)
                                tame_add(&tame, cases[i].in + at, MIN(step, all - at), out);
                        tame_end(&tame, out);
                        g_assert_cmpstr(out->str, ==, cases[i].out);
                        tame_clear(&tame);
                }
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/tame/cases", test_cases);
        return g_test_run();
}
