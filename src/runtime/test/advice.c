/* Advice about the errors of programs: which lines have one, and that it takes nothing else of them. */
#include "runtime/advice.h"

#define MODULE(package, module)                                                                              \
        "unless '" module "' is a module of your own, add " package                                          \
        " to requirements.txt, or use an image that has it"

static void test_lines(void)
{
        static const struct {
                const char *line, *advice;
        } cases[] = {
                { "ModuleNotFoundError: No module named 'six'", MODULE("six", "six") },
                { "ModuleNotFoundError: No module named 'yaml'", MODULE("pyyaml", "yaml") },
                { "ModuleNotFoundError: No module named 'paddle.vision'", MODULE("paddlepaddle", "paddle") },
                { "ModuleNotFoundError: No module named 'a.b'; 'a' is not a package", MODULE("a", "a") },
                { "[rank1]: ModuleNotFoundError: No module named 'six'", MODULE("six", "six") },
                { "ModuleNotFoundError: No module named ''", NULL },
                { "ModuleNotFoundError: No module named '.x'", NULL },
                { "ModuleNotFoundError: No module named 'a b'", NULL },
                { "ModuleNotFoundError: No module named '\033[31m'", NULL },
                { "ModuleNotFoundError: No module named 'six", NULL },
                { "ModuleNotFoundError: No module named 'a`rm -r x`'", NULL },
                { "handled: ModuleNotFoundError: No module named 'six'", NULL },
                { "KeyError: 'lr'", NULL },
                { "", NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *advice = advice_of(cases[i].line);

                g_assert_cmpstr(advice, ==, cases[i].advice);
        }
}

static void test_long_name(void)
{
        g_autofree char *name = g_strnfill(65, 'x');
        g_autofree char *line = g_strdup_printf("ModuleNotFoundError: No module named '%s'", name);
        g_autofree char *advice = advice_of(line);

        g_assert_null(advice);
}

static void test_errors(void)
{
        static const struct {
                const char *line;
                bool error;
        } cases[] = {
                { "KeyError: 'lr'", true },
                { "AssertionError", true },
                { "[rank0]: torch.OutOfMemoryError: CUDA out of memory", true },
                { "subprocess.SubprocessException: x", true },
                { "make: *** [train] Error 1", false },
                { "the Error: x", false },
                { "WARNING: KeyError", false },
                { "", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(advice_is_error(cases[i].line) == cases[i].error);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/runtime/advice/lines", test_lines);
        g_test_add_func("/runtime/advice/long-name", test_long_name);
        g_test_add_func("/runtime/advice/errors", test_errors);
        return g_test_run();
}
