/* Declared types (see declared-type.h): tables. */
#include "pipeline/declared-type.h"

#include <string.h>

#include "base/json.h"

static json_t *value_of(const char *quoted)
{
        g_autofree char *text = g_strdelimit(g_strdup_printf("[%s]", quoted), "'", '"');
        g_autoptr(json_t) list = json_parse(text, strlen(text), NULL);

        g_assert_nonnull(list);
        return json_incref(json_array_get(list, 0));
}

#define PATH "must be a path of letters, digits, '.', '/', '_' and '-'"

static void test_faults(void)
{
        static const struct {
                ValueType type;
                const char *value, *says; /* JSON with ' for "; NULL: it has the type */
        } cases[] = {
                { TYPE_NONE, "'x'", NULL },
                { TYPE_NONE, "[1]", NULL },
                { TYPE_STRING, "'x'", NULL },
                { TYPE_STRING, "1", "must be text" },
                { TYPE_INT, "1", NULL },
                { TYPE_INT, "1.0", NULL },
                { TYPE_INT, "1.5", "must be a whole number" },
                { TYPE_INT, "'1'", "must be a whole number" },
                { TYPE_FLOAT, "1", NULL },
                { TYPE_FLOAT, "1.5", NULL },
                { TYPE_FLOAT, "'1'", "must be a number" },
                { TYPE_PATH, "'/111-1/11.1_2'", NULL },
                { TYPE_PATH, "'/111 / '", PATH },
                { TYPE_PATH, "'$(rm)'", PATH },
                { TYPE_PATH, "''", PATH },
                { TYPE_PATH, "1", PATH },
                { TYPE_LIST, "[]", NULL },
                { TYPE_LIST, "'[]'", "must be a list" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) value = value_of(cases[i].value);

                g_assert_cmpstr(type_json_fault(cases[i].type, value), ==, cases[i].says);
        }
}

/* */
static void test_convert(void)
{
        static const struct {
                ValueType type;
                const char *given, *becomes;
        } cases[] = {
                { TYPE_INT, "'5'", "5" },
                { TYPE_INT, "'-9223372036854775808'", "-9223372036854775808" },
                { TYPE_INT, "'9223372036854775808'", "'9223372036854775808'" },
                { TYPE_INT, "'5.0'", "'5.0'" },
                { TYPE_INT, "5.0", "5" },
                { TYPE_INT, "5.5", "5.5" },
                { TYPE_FLOAT, "'5.5'", "5.5" },
                { TYPE_FLOAT, "'1e3'", "1000.0" },
                { TYPE_FLOAT, "'1e999'", "'1e999'" },
                { TYPE_FLOAT, "'nan'", "'nan'" },
                { TYPE_FLOAT, "'0x10'", "'0x10'" },
                { TYPE_FLOAT, "''", "''" },
                { TYPE_LIST, "'[1, [2.5]]'", "[1, [2.5]]" },
                { TYPE_LIST, "'[true]'", "'[true]'" },
                { TYPE_LIST, "'{}'", "'{}'" },
                { TYPE_STRING, "'5'", "'5'" },
                { TYPE_PATH, "'a b'", "'a b'" },
                { TYPE_NONE, "'5'", "'5'" },
                { TYPE_NONE, "5.0", "5" },
                { TYPE_NONE, "true", "true" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) given = value_of(cases[i].given), expected = value_of(cases[i].becomes);
                g_autoptr(json_t) value = type_convert(cases[i].type, given);

                if (!json_equal(value, expected))
                        g_error("%s became %s", cases[i].given, json_dumps(value, JSON_ENCODE_ANY));
        }
}

static void test_plain(void)
{
        static const struct {
                const char *value;
                bool plain;
        } cases[] = {
                { "1", true },          { "'x'", true },          { "[1, ['x']]", true },
                { "'{{a.b}}'", false }, { "['{{a.b}}']", false }, { "[[true]]", false },
                { "null", false },      { "{}", false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) value = value_of(cases[i].value);

                g_assert_true(type_is_plain(value) == cases[i].plain);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/declared-type/faults", test_faults);
        g_test_add_func("/pipeline/declared-type/convert", test_convert);
        g_test_add_func("/pipeline/declared-type/plain", test_plain);
        return g_test_run();
}
