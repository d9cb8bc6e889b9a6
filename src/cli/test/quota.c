/* Bars of quota: the lengths of the parts match the figures. */
#include "base/text-cut.h"
#include "cli/quota.h"

#include <string.h>

#include "cli/table.h"

static void test_bars(void)
{
        static const struct {
                Quota quota;
                const char *ascii, *utf8;
        } rows[] = {
                /* used, min, lent, whole, open; ten cells */
                { { 0, 0, 0, 10, false }, "[..........]", "[░░░░░░░░░░]" },
                { { 5, 5, 0, 10, false }, "[#####|....]", "[█████│░░░░]" },
                { { 8, 5, 0, 10, false }, "[#####|++..]", "[█████│▓▓░░]" },
                { { 2, 6, 3, 10, false }, "[##---.|...]", "[██▒▒▒░│░░░]" },
                { { 10, 0, 0, 10, true }, "[++++++++++]", "[▓▓▓▓▓▓▓▓▓▓]" },
                { { 10, 10, 0, 10, false }, "[##########]", "[██████████]" },
                { { 1, 1, 0, 1000, false }, "[#|........]", "[█│░░░░░░░░]" }, /* a small part is visible */
                { { 12, 5, 0, 10, false }, "[#####|++++]", "[█████│▓▓▓▓]" },  /* above a max that shrank */
                { { 0, 0, 0, 0, true }, "            ", "            " },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(GString) ascii = g_string_new(NULL), utf8 = g_string_new(NULL);

                quota_bar(ascii, &rows[i].quota, 12, false, false);
                quota_bar(utf8, &rows[i].quota, 12, true, false);
                g_assert_cmpstr(ascii->str, ==, rows[i].ascii);
                g_assert_cmpstr(utf8->str, ==, rows[i].utf8);
                g_assert_cmpint(text_columns(utf8->str), ==, 12);
        }
}

/* Colours are closed, and do not change the width. */
static void test_colours(void)
{
        g_autoptr(GString) out = g_string_new(NULL);
        Quota quota = { 2, 6, 3, 10, false };

        quota_bar(out, &quota, 12, false, true);
        g_assert_true(g_str_has_suffix(out->str, "\033[0m]"));
        g_assert_nonnull(strstr(out->str, "\033[32m##"));
        g_assert_nonnull(strstr(out->str, "\033[35m---"));
}

static void test_lines(void)
{
        const char *text = "{\"used\":{\"cpu\":\"12\",\"nvidia.com/"
                           "gpu\":\"1\"},\"min\":{\"cpu\":\"8\",\"nvidia.com/gpu\":\"4\"},"
                           "\"max\":{\"cpu\":\"16\"},\"lent\":{\"nvidia.com/gpu\":\"3\"}}";
        g_autoptr(json_t) figures = json_parse(text, strlen(text), NULL);
        ResourceLimits total = { .amount = { .cpu_milli = 64000, .gpus = 8, .memory = 1 << 30 } };
        Terminal terminal = { .width = 80 };
        g_autofree char *lines = NULL;
        g_auto(GStrv) rows = NULL;

        g_assert_nonnull(figures);
        lines = quota_lines(figures, &total, &terminal);
        rows = g_strsplit(lines, "\n", -1);
        g_assert_true(g_pattern_match_simple("  cpu *12 used, min 8, max 16, 4 borrowed", rows[0]));
        g_assert_true(g_pattern_match_simple("  memory *0 used, of 1Gi in all", rows[1]));
        g_assert_true(
                g_pattern_match_simple("  nvidia.com/gpu *1 used, min 4, of 8 in all, 3 lent", rows[2]));
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/quota/bars", test_bars);
        g_test_add_func("/cli/quota/colours", test_colours);
        g_test_add_func("/cli/quota/lines", test_lines);
        return g_test_run();
}
