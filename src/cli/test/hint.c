/* Hints in lines that are too narrow. */
#include "base/text-cut.h"
#include "cli/hint.h"

#include "cli/table.h"

#define SEE "; see `paddle logs digits --member worker-0`"

static void test_drop(void)
{
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "", "" },
                { "waits for 2 cores", "waits for 2 cores" },
                { "failed" SEE, "failed" },
                { "worker-0 exited with status 1" SEE, "worker-0 exited with status 1" },
                { "worker-0 exited with status 1" SEE "; last line: KeyError: 'lr'",
                  "worker-0: KeyError: 'lr'" },
                { "attempt 1 failed: worker-0 exited with status 1" SEE
                  "; last line: a; tried again in 1.0 s",
                  "attempt 1 failed: worker-0: a; tried again in 1.0 s" },
                { "worker-0 exited with status 1; disk quota: 5 MiB" SEE "; last line: a",
                  "worker-0 exited with status 1; disk quota: 5 MiB: a" },
                { "failed" SEE "; last line: KeyError: 'lr'", "failed: KeyError: 'lr'" },
                { "attempt 1 failed: it ended" SEE "; tried again in 1.0 s",
                  "attempt 1 failed: it ended; tried again in 1.0 s" },
                { "cut; see `paddle", "cut; see `paddle" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *out = hint_drop(cases[i].in);

                g_assert_cmpstr(out, ==, cases[i].out);
        }
}

static void test_cut(void)
{
        static const struct {
                const char *in;
                int max;
                const char *out;
        } cases[] = {
                { "its environment is being built" SEE, 80, "its environment is being built" SEE },
                { "its environment is being built" SEE, 74, "its environment is being built" SEE },
                { "its environment is being built" SEE, 73, "its environment is being built" },
                { "its environment is being built in all of its parts" SEE, 80,
                  "its environment is being built in a…" SEE },
                { "its environment is being built" SEE, 20, "its environment is …" },
                { "waits for 2 cores", 10, "waits for…" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *out = hint_cut(cases[i].in, cases[i].max, true);

                g_assert_cmpstr(out, ==, cases[i].out);
                g_assert_cmpint(text_columns(out), <=, cases[i].max);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hint/drop", test_drop);
        g_test_add_func("/hint/cut", test_cut);
        return g_test_run();
}
