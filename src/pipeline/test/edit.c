/* Parameters that are changed at a pause (see edit.h): tables. */
#include "pipeline/edit.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "pipeline/test/parse.h"

#define STEPS                                                                                                \
        "entry_points:\n"                                                                                    \
        "  a:\n    command: c\n    parameters:\n      any: 1\n      epochs: {type: int, default: 1}\n"       \
        "      data: {type: path, default: /d}\n      rates: {type: list, default: [1]}\n"                   \
        "  bare: {command: c}\n"                                                                             \
        "  r: {reference: {component: lib}, parameters: {n: 3}}\n"                                           \
        "components:\n  lib: {command: c, parameters: {n: {type: int, default: 1}, m: x}}\n"

static void test_values(void)
{
        static const struct {
                const char *step, *name, *given, *becomes, *says; /* JSON with ' for " */
        } cases[] = {
                { "a", "any", "'x'", "'x'", NULL },
                { "a", "any", "''", "''", NULL },
                { "a", "epochs", "'7'", "7", NULL },
                { "a", "epochs", "''", "null", NULL },
                { "a", "rates", "'[1, 2]'", "[1, 2]", NULL },
                { "a", "data", "'/new/path'", "'/new/path'", NULL },
                { "r", "n", "'7'", "7", NULL },
                { "r", "m", "'y'", "'y'", NULL },
                { "a", "data", "'/d; rm x'", NULL,
                  "the parameter 'data' of 'a' must be a path of letters, digits, '.', '/', '_' and '-', "
                  "not '/d; rm x'" },
                { "a", "epochs", "1.5", NULL,
                  "the parameter 'epochs' of 'a' must be a whole number, not '1.5'" },
                { "r", "n", "'x'", NULL, "the parameter 'n' of 'r' must be a whole number, not 'x'" },
                { "a", "any", "true", NULL,
                  "the parameter 'any' of 'a' must be a number, text or list, not 'true'" },
                { "a", "any", "'{{b.x}}'", NULL,
                  "the parameter 'any' of 'a' must be given without templates, not '{{b.x}}'" },
                { "a", "epoch", "1", NULL, "'a' has no parameter 'epoch'\nDid you mean 'epochs'?" },
                { "a", "zzzzzzz", "1", NULL,
                  "'a' has no parameter 'zzzzzzz'\nIts parameters: any, epochs, data, rates" },
                { "bare", "x", "1", NULL, "'bare' has no parameter 'x'\nIt has no parameters." },
        };
        g_autoptr(Definition) definition = parse_valid(STEPS, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text =
                        g_strdelimit(g_strdup_printf("[%s, %s]", cases[i].given,
                                                     cases[i].becomes ? cases[i].becomes : "0"),
                                     "'", '"');
                g_autoptr(json_t) both = json_parse(text, strlen(text), NULL);
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = edit_value(definition, component_named(definition, cases[i].step),
                                                     cases[i].name, json_array_get(both, 0), &error);

                g_assert_cmpstr(error ? error->message : NULL, ==, cases[i].says);
                g_assert_true(cases[i].says ? !value : json_equal(value, json_array_get(both, 1)));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/edit/values", test_values);
        return g_test_run();
}
