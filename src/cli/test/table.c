/* Tables and the width of text. */
#include "cli/table.h"

#include <string.h>

static char *printed(Table *table, int indent)
{
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);
        char *copy;

        table_print(table, indent, to);
        fclose(to);
        copy = g_strdup(text);
        free(text);
        return copy;
}

static void test_alignment(void)
{
        static const char *const heads[] = { "NAME", ">SIZE", "REST", NULL };
        g_autoptr(Table) table = table_new(heads);
        g_autofree char *first = NULL;
        g_autofree char *second = NULL;

        table_row(table, (const char *const[]){ "a", "1", NULL });
        table_row(table, (const char *const[]){ "木木木", "12345", "x" });
        first = printed(table, 0);
        g_assert_cmpstr(first, ==,
                        "NAME     SIZE  REST\n"
                        "a           1  -\n"
                        "木木木  12345  x\n");
        table_row(table, (const char *const[]){ "b", "", "y" });
        second = printed(table, 2);
        g_assert_cmpstr(second, ==, "  b           -  y\n");
}

static void test_visible(void)
{
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "plain", "plain" },
                { "\033[31mred", "?[31mred" },
                { "a\nb\tc", "a?b?c" },
                { "gr\xc3\xbc\xc3\x9f", "grüß" },
                { "\xc2\x9b"
                  "31m",
                  "?31m" },
                { "bad\xff", "bad\xef\xbf\xbd" },
                { "a\u2028b\u2029c", "a?b?c" },
                { "evil\u202etxt.exe", "evil?txt.exe" },
                { "\u2066a\u2069\u200f\u061c", "?a???" },
                { "\u0645\u200c\u0646 \u05d0",
                  "\u0645\u200c\u0646 \u05d0" }, /* letters of other scripts are kept */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *out = text_visible(cases[i].in);

                g_assert_cmpstr(out, ==, cases[i].out);
        }
}

static const char *paint(const char *cell)
{
        return strcmp(cell, "bad") == 0 ? "\033[31m" : "";
}

/* Columns stay aligned: colours have no width. */
static void test_paint(void)
{
        static const char *const heads[] = { "STATE", "REST", NULL };
        g_autoptr(Table) table = table_new(heads);
        g_autofree char *text = NULL;

        table_paint(table, 0, paint);
        table_row(table, (const char *const[]){ "bad", "x" });
        table_row(table, (const char *const[]){ "good", "y" });
        text = printed(table, 0);
        g_assert_cmpstr(text, ==, "STATE  REST\n\033[31mbad\033[0m    x\ngood   y\n");
}

/* NAME is always shown, ID is left out first, NOTE is shortened and left out next; numbers are never cut. */
static void test_fit(void)
{
        static const char *const heads[] = { "NAME", "ID", ">SIZE", "NOTE", NULL };
        static const TableFit fits[] = { { 0 }, { 2, TABLE_WHOLE }, { 0 }, { 1, 6 } };
        static const struct {
                int width, indent;
                const char *text;
        } cases[] = {
                { 40, 0, "NAME    ID      SIZE  NOTE\n木木木  abcdef  1234  a long note\n" },
                { 31, 0, "NAME    ID      SIZE  NOTE\n木木木  abcdef  1234  a long n…\n" },
                { 31, 2, "  NAME    ID      SIZE  NOTE\n  木木木  abcdef  1234  a long…\n" },
                { 24, 0, "NAME    SIZE  NOTE\n木木木  1234  a long no…\n" },
                { 22, 0, "NAME    SIZE  NOTE\n木木木  1234  a long …\n" },
                { 19, 0, "NAME    SIZE\n木木木  1234\n" },
                { 11, 0, "NAME   SIZE\n木木…  1234\n" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Table) table = table_new(heads);
                g_autofree char *text = NULL;

                table_fit(table, cases[i].width, true, fits);
                table_row(table, (const char *const[]){ "木木木", "abcdef", "1234", "a long note" });
                text = printed(table, cases[i].indent);
                g_assert_cmpstr(text, ==, cases[i].text);
        }
}

/* Columns that the first page left out stay out, so that later lines match the heads. */
static void test_fit_of_pages(void)
{
        static const char *const heads[] = { "NAME", "NOTE", NULL };
        static const TableFit fits[] = { { .min = TABLE_WHOLE }, { 1 } };
        g_autoptr(Table) table = table_new(heads);
        g_autofree char *first = NULL;
        g_autofree char *second = NULL;

        table_fit(table, 16, false, fits);
        table_row(table, (const char *const[]){ "a", "b" });
        first = printed(table, 0);
        g_assert_cmpstr(first, ==, "NAME  NOTE\na     b\n");
        table_row(table, (const char *const[]){ "a", "a long note" });
        second = printed(table, 0);
        g_assert_cmpstr(second, ==, "a     a long ...\n");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/table/alignment", test_alignment);
        g_test_add_func("/cli/table/visible", test_visible);
        g_test_add_func("/cli/table/paint", test_paint);
        g_test_add_func("/cli/table/fit", test_fit);
        g_test_add_func("/cli/table/fit-of-pages", test_fit_of_pages);
        return g_test_run();
}
