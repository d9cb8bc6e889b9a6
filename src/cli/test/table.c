/* Tables and the widths of text. */
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
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *out = text_visible(cases[i].in);

                g_assert_cmpstr(out, ==, cases[i].out);
        }
}

static void test_cut(void)
{
        static const struct {
                const char *in;
                int max;
                bool utf8;
                const char *out;
        } cases[] = {
                { "hello", 5, true, "hello" },   { "hello!", 5, true, "hell…" },
                { "hello!", 5, false, "he..." }, { "木木木", 5, true, "木木…" },
                { "木木木", 4, true, "木…" },    { "abc", 1, true, "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *out = text_cut(cases[i].in, cases[i].max, cases[i].utf8);

                g_assert_cmpstr(out, ==, cases[i].out);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/table/alignment", test_alignment);
        g_test_add_func("/cli/table/visible", test_visible);
        g_test_add_func("/cli/table/cut", test_cut);
        return g_test_run();
}
