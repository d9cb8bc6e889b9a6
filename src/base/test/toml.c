/* TOML documents to JSON values: the specification's own examples, and invalid ones. */
#include "base/toml.h"

#include <string.h>

#include "base/err.h"

static const struct {
        const char *toml, *json; /* json NULL: refused */
        const char *says;        /* part of the error message */
} cases[] = {
        { "", "{}", NULL },
        { "# nothing\n\n", "{}", NULL },
        { "a = 1\r\nb = \"x\" # remark\n", "{\"a\":1,\"b\":\"x\"}", NULL },
        { "a.b.c = true\na.d = false", "{\"a\":{\"b\":{\"c\":true},\"d\":false}}", NULL },
        { "\"a b\".'c.d' = 1", "{\"a b\":{\"c.d\":1}}", NULL },
        { "[project]\nname='x'\n[tool.ruff.lint]\nx=1\n[tool]\ny=2",
          "{\"project\":{\"name\":\"x\"},\"tool\":{\"ruff\":{\"lint\":{\"x\":1}},\"y\":2}}", NULL },
        { "[[p]]\nn=1\n[p.s]\nm=2\n[[p.l]]\nk=3\n[[p]]\nn=4",
          "{\"p\":[{\"n\":1,\"s\":{\"m\":2},\"l\":[{\"k\":3}]},{\"n\":4}]}", NULL },
        { "x = [ 1, # one\n 2,\n]\ny = [[], [\"a\"]]", "{\"x\":[1,2],\"y\":[[],[\"a\"]]}", NULL },
        { "d = { name = \"n\", m.k = 'a' }\ne = {}", "{\"d\":{\"name\":\"n\",\"m\":{\"k\":\"a\"}},\"e\":{}}",
          NULL },
        { "s = \"tab\\t \\\"q\\\" \\u00e9 \\U0001F600\"",
          "{\"s\":\"tab\\t \\\"q\\\" \\u00e9 \\uD83D\\uDE00\"}", NULL },
        { "s = 'C:\\dir'", "{\"s\":\"C:\\\\dir\"}", NULL },
        { "s = \"\"\"\none\ntwo \\\n   three\"\"\"", "{\"s\":\"one\\ntwo three\"}", NULL },
        { "s = '''\na''b'''", "{\"s\":\"a''b\"}", NULL },
        { "s = \"\"\"a\"\"\"\"\"", "{\"s\":\"a\\\"\\\"\"}", NULL },
        { "a=+99\nb=-17\nc=1_000\nd=0xDEAD_beef\ne=0o755\nf=0b11",
          "{\"a\":99,\"b\":-17,\"c\":1000,\"d\":3735928559,\"e\":493,\"f\":3}", NULL },
        { "a=3.5\nb=-2e-2\nc=inf", "{\"a\":3.5,\"b\":-0.02,\"c\":\"inf\"}", NULL },
        { "t=1979-05-27T07:32:00Z\nu=1979-05-27 07:32:00\nv=07:32:00\nw=1979-05-27",
          "{\"t\":\"1979-05-27T07:32:00Z\",\"u\":\"1979-05-27 "
          "07:32:00\",\"v\":\"07:32:00\",\"w\":\"1979-05-27\"}",
          NULL },
        /* refused */
        { "a = ", NULL, "f.toml, line 1: a value is missing" },
        { "\na", NULL, "f.toml, line 2: a key needs '='" },
        { "= 1", NULL, "line 1: a key is missing" },
        { "a = 1 b = 2", NULL, "line 1: more text" },
        { "a = 1\na = 2", NULL, "line 2: a key has a value already" },
        { "[a]\n[a]", NULL, "line 2: a table has its header twice" },
        { "a = {x=1}\n[a]", NULL, "line 2: a key has a value already" },
        { "a = [1]\n[[a]]", NULL, "line 2: a key has a value already" },
        { "[[a]]\n[a]\n[a]", NULL, "line 3: a table has its header twice" },
        { "a = 1\n[a.b]", NULL, "line 2: a key has a value already" },
        { "[a", NULL, "line 1: a header does not end" },
        { "a = \"x\ny\"", NULL, "line 1: a string" },
        { "a = \"\"\"x\n", NULL, "line 2: a string does not end" },
        { "a = \"\\q\"", NULL, "line 1: an unknown escape" },
        { "a = \"\\u12\"", NULL, "line 1: \\u needs 4" },
        { "a = \"\\u0000\"", NULL, "line 1: an escape names no character" },
        { "a = [1 2]", NULL, "line 1: a list needs ','" },
        { "a = {x=1", NULL, "line 1: a table needs ','" },
        { "a = [", NULL, "line 1: a value is missing" },
        { "a = yes", NULL, "line 1: a value is missing, or is none" },
        { "a = 1__\xff", NULL, "f.toml is not UTF-8 text" },
};

static void test_cases(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = toml_parse(cases[i].toml, strlen(cases[i].toml), "f.toml", &error);
                g_autoptr(json_t) wanted =
                        cases[i].json ? json_parse(cases[i].json, strlen(cases[i].json), NULL) : NULL;

                g_test_message("%s", cases[i].toml);
                if (wanted) {
                        g_assert_no_error(error);
                        g_assert_true(json_equal(value, wanted));
                        continue;
                }
                g_assert_null(value);
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_nonnull(strstr(error->message, cases[i].says));
        }
}

/* The nesting of values is bounded, so that no text overflows the stack. */
static void test_depth(void)
{
        g_autofree char *lists = g_strnfill(100000, '[');
        g_autofree char *text = g_strconcat("a = ", lists, NULL);
        g_autoptr(GError) error = NULL;

        g_assert_null(toml_parse(text, strlen(text), "f.toml", &error));
        g_assert_nonnull(strstr(error->message, "nested too deep"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/toml/cases", test_cases);
        g_test_add_func("/toml/depth", test_depth);
        return g_test_run();
}
