/* Texts that are cut to a length: characters stay whole, whatever the length is counted in. */
#include "base/text-cut.h"

#include <string.h>

static void test_cut(void)
{
        static const struct {
                const char *text;
                gsize max;
                const char *mark, *cut;
        } cases[] = {
                { "", 0, "…", "" },
                { "abc", 3, "…", "abc" },
                { "abcd", 3, "…", "ab…" },
                { "abcd", 3, "...", "..." },
                { "abcde", 4, "...", "a..." },
                { "abcd", 3, "", "abc" },
                { "日本語", 3, "…", "日本語" },
                { "日本語x", 3, "…", "日本…" },
                { "é́é́", 2, "", "é́" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *cut = text_cut(cases[i].text, cases[i].max, cases[i].mark);

                g_assert_cmpstr(cut, ==, cases[i].cut);
        }
}

static void test_bytes(void)
{
        static const struct {
                const char *text;
                gsize max;
                const char *cut;
        } cases[] = { { "", 3, "" },          { "abc", 3, "abc" },  { "abcd", 3, "abc..." },
                      { "a\nb", 3, "a b" },   { "aäb", 2, "a..." }, { "aäb", 3, "aä..." },
                      { "日本", 5, "日..." }, { "日本", 6, "日本" } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *cut = text_cut_bytes(cases[i].text, cases[i].max);

                g_assert_cmpstr(cut, ==, cases[i].cut);
        }
}

static void test_columns(void)
{
        static const struct {
                const char *text;
                int max;
                bool utf8;
                const char *cut;
        } cases[] = {
                { "hello", 5, true, "hello" },   { "hello!", 5, true, "hell…" },
                { "hello!", 5, false, "he..." }, { "木木木", 5, true, "木木…" },
                { "木木木", 4, true, "木…" },    { "abc", 1, true, "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *cut = text_cut_columns(cases[i].text, cases[i].max, cases[i].utf8);

                g_assert_cmpstr(cut, ==, cases[i].cut);
                g_assert_cmpint(text_columns(cut), <=, cases[i].max);
        }
}

static void test_middle(void)
{
        static const struct {
                const char *text;
                int max;
                bool utf8;
                const char *cut;
        } cases[] = {
                { "train-digits-7", 20, true, "train-digits-7" },
                { "train-digits-7", 9, true, "trai…ts-7" },
                { "train-digits-7", 8, true, "trai…s-7" },
                { "train-digits-7", 9, false, "tra...s-7" },
                { "木木木木", 6, true, "木…木" },
                { "abcdef", 2, true, "a…" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *cut = text_cut_middle(cases[i].text, cases[i].max, cases[i].utf8);

                g_assert_cmpstr(cut, ==, cases[i].cut);
        }
}

static void test_width(void)
{
        static const struct {
                const char *text;
                int columns;
        } cases[] = { { "", 0 }, { "abc", 3 }, { "木b", 3 }, { "e\u0301x", 2 }, { "ｗ", 2 } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(text_columns(cases[i].text), ==, cases[i].columns);
}

static void test_first_line(void)
{
        static const char *const cases[][2] = {
                { "", "" }, { "one", "one" }, { "one\ntwo", "one" }, { "\ntwo", "" }
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *line = text_first_line(cases[i][0]);

                g_assert_cmpstr(line, ==, cases[i][1]);
        }
}

/* Of any text and at any byte, what stays is valid, and lacks less than a character. */
static void test_whole_characters(void)
{
        static const char text[] = "aé木😀b";

        for (gsize len = 0; len <= strlen(text); len++) {
                gsize whole = text_whole_characters(text, len);

                g_assert_true(g_utf8_validate(text, (gssize)whole, NULL));
                g_assert_cmpuint(whole, <=, len);
                g_assert_cmpuint(len - whole, <, 4);
        }
        g_assert_cmpuint(text_whole_characters("a\xff", 2), ==, 2); /* no character at all */
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/text-cut/characters", test_cut);
        g_test_add_func("/text-cut/bytes", test_bytes);
        g_test_add_func("/text-cut/columns", test_columns);
        g_test_add_func("/text-cut/middle", test_middle);
        g_test_add_func("/text-cut/width", test_width);
        g_test_add_func("/text-cut/first-line", test_first_line);
        g_test_add_func("/text-cut/whole-characters", test_whole_characters);
        return g_test_run();
}
