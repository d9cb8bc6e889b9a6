/* The source of a definition: of its values in their order, whatever the text looks like. */
#include "pipeline/source.h"

#include <string.h>

static const char TEXT[] =
        "name: p\nentry_points:\n  a: {command: \"c\", parameters: {n: 1, l: [1, 2.5, yes, null]}}\n";

static char *source_of(const char *text)
{
        return definition_source(text, strlen(text));
}

static void test_same(void)
{
        static const char *const same[] = {
                "# a comment\nname:   p\nentry_points:\n    a:\n        command: 'c'\n        parameters:\n"
                "            n: 1\n            l: [ 1, 2.50, yes, ~ ]\n",
                "{\"name\": \"p\", \"entry_points\": {\"a\": {\"command\": \"c\", \"parameters\": {\"n\": 1,"
                " \"l\": [1, 2.5, \"yes\", null]}}}}",
        };
        g_autofree char *one = source_of(TEXT);

        g_assert_cmpuint(strlen(one), ==, 32);
        for (gsize i = 0; i < G_N_ELEMENTS(same); i++) {
                g_autofree char *other = source_of(same[i]);

                g_assert_cmpstr(other, ==, one);
        }
}

/* A value, a kind, a place, an order. */
static void test_different(void)
{
        static const char *const different[] = {
                "name: p\nentry_points:\n  a: {command: d, parameters: {n: 1, l: [1, 2.5, yes, null]}}\n",
                "name: p\nentry_points:\n  a: {command: c, parameters: {n: '1', l: [1, 2.5, yes, null]}}\n",
                "name: p\nentry_points:\n  a: {command: c, parameters: {n: 1, l: [1, [2.5, yes, null]]}}\n",
                "name: p\nentry_points:\n  a: {command: c, parameters: {l: [1, 2.5, yes, null], n: 1}}\n",
                "name: p\nentry_points:\n  a: {command: c, parameters: {n: 1, l: [1, 2.5, yes, 'null']}}\n",
        };
        g_autofree char *one = source_of(TEXT);

        for (gsize i = 0; i < G_N_ELEMENTS(different); i++) {
                g_autofree char *other = source_of(different[i]);

                g_assert_nonnull(other);
                g_assert_cmpstr(other, !=, one);
        }
}

static void test_no_definition(void)
{
        g_assert_null(source_of("a: [1"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/pipeline/source/same", test_same);
        g_test_add_func("/pipeline/source/different", test_different);
        g_test_add_func("/pipeline/source/no-definition", test_no_definition);
        return g_test_run();
}
