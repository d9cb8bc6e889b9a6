/* Documents: places, limits, and both readers. base/test/yaml.c tests the YAML reader through yaml_parse();
 * here the JSON reader is compared with jansson. */
#include "base/document.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/test/seed.h"

static Document *parse(const char *text, DocumentPlace *ret_place, GError **error)
{
        return document_parse(text, strlen(text), &document_limits, ret_place, error);
}

static void test_places(void)
{
        static const struct {
                const char *text, *path;
                guint32 line, column;
        } cases[] = {
                { "a:\n  b: 1\n", "a.b", 2, 6 },
                { "a:\n  ü: {x: y}\n", "a.ü.x", 2, 10 },
                { "{\"a\": {\n \"b\" : 7}}", "a.b", 2, 8 },
                { "{\"ü\": [1], \"b\": 7}", "b", 1, 17 },
                { "{\"a\":\n\n{\"ü\"\n:\n  \"x\"}}", "a.ü", 5, 3 },
                { "x: &x {k: 1}\ny: *x\n", "y.k", 1, 11 }, /* a copy has the place of its anchor */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                DocumentPlace place;
                g_autoptr(GError) error = NULL;
                g_autoptr(Document) document = parse(cases[i].text, &place, &error);
                g_auto(GStrv) names = g_strsplit(cases[i].path, ".", -1);
                guint32 at = 0;

                g_assert_no_error(error);
                for (int k = 0; names[k]; k++) {
                        at = document_get(document, at, names[k]);
                        g_assert_cmpuint(at, >, 0);
                }
                g_assert_cmpuint(document->nodes[at].line, ==, cases[i].line);
                g_assert_cmpuint(document->nodes[at].column, ==, cases[i].column);
                g_assert_cmpuint(document->nodes[0].next, ==, document->n_nodes);
        }
}

static void test_refused(void)
{
        static const struct {
                const char *text;
                guint32 line, column;
                const char *says;
        } cases[] = {
                { "{\"a\": 1,\n \"a\": 2}", 2, 2, "the key 'a' is given twice" },
                { "{\"a\": 1,}", 1, 9, "expected a key in double quotes" },
                { "{\"a\" 1}", 1, 6, "expected ':'" },
                { "{\"a\": [1 2]}", 1, 10, "expected ',' or ']'" },
                { "{\"a\": 1", 1, 8, "expected ',' or '}'" },
                { "{\"a\":", 1, 6, "the text ends where a value should be" },
                { "{a: 1}", 1, 2, "expected a key in double quotes" },
                { "{\"a\": nul}", 1, 7, "expected a value" },
                { "{\"a\": 01}", 1, 7, "not a number of JSON" },
                { "{\"a\": \"\\q\"}", 1, 9, "JSON has no such escape" },
                { "{\"a\": \"\\ud83d\"}", 1, 14, "half of a surrogate pair" },
                { "{\"a\": \"\\u0000\"}", 1, 14, "text with a NUL" },
                { "{\"a\": \"x\ny\"}", 1, 9, "a control character in a string" },
                { "{\"a\": 1e999}", 1, 7, "'1e999' is not a number that can be held" },
                { "{} x", 1, 4, "text behind the end of the JSON value" },
                { "a: 1\na: 2\n", 2, 1, "the key 'a' is given twice" },
                { "a: .inf\n", 1, 4, "'.inf' is not a number that can be held" },
                { "a: \xff", 1, 4, "not UTF-8 text" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                DocumentPlace place = { 0 };
                g_autoptr(GError) error = NULL;
                g_autoptr(Document) document = parse(cases[i].text, &place, &error);

                g_test_message("%s", cases[i].says);
                g_assert_null(document);
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_true(g_str_has_prefix(error->message, cases[i].says));
                g_assert_cmpuint(place.line, ==, cases[i].line);
                g_assert_cmpuint(place.column, ==, cases[i].column);
        }
}

/* The 17th key of a map makes a set of all before it. */
static void test_many_keys(void)
{
        for (int n = 1; n < 40; n++) {
                g_autoptr(GString) text = g_string_new(NULL);
                g_autoptr(GError) error = NULL;
                g_autoptr(Document) document = NULL;
                DocumentPlace place;

                for (int i = 0; i < n; i++)
                        g_string_append_printf(text, "k%d: [1, {k0: 2}]\n", i);
                document = parse(text->str, &place, &error);
                g_assert_no_error(error);
                g_assert_cmpuint(document->nodes[0].count, ==, (guint)n);
                g_string_append(text, "k0: 1\n");
                g_assert_null(parse(text->str, &place, &error));
                g_assert_cmpuint(place.line, ==, (guint)n + 1);
        }
}

/* What pipelines take and yaml_parse() does not. */
static void test_pipeline_limits(void)
{
        DocumentPlace place;
        g_autoptr(GError) error = NULL;
        g_autoptr(Document) document = parse("a: 99999999999999999999\n---\nb: [\n", &place, &error);
        guint32 at;

        g_assert_no_error(error);
        at = document_get(document, 0, "a");
        g_assert_cmpint(document->nodes[at].kind, ==, DOCUMENT_FLOAT);
        g_assert_cmpfloat(document->nodes[at].real, ==, 1e20);
        g_clear_pointer(&document, document_free);
        document = parse("{\"a\": -99999999999999999999}", &place, &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(document->nodes[document_get(document, 0, "a")].real, ==, -1e20);
}

static char *nested(int levels)
{
        g_autofree char *open = g_strnfill((gsize)levels, '['), *close = g_strnfill((gsize)levels, ']');

        return g_strconcat("{\"a\":", open, close, "}", NULL);
}

static void test_depth(void)
{
        for (int levels = 511; levels <= 512; levels++) {
                g_autofree char *text = nested(levels);
                g_autoptr(GError) error = NULL;
                DocumentPlace place;
                g_autoptr(Document) json = parse(text, &place, &error);
                g_autoptr(Document) yaml =
                        document_parse_yaml(text, strlen(text), &document_limits, &place, NULL);

                g_assert_cmpint(json != NULL, ==, levels == 511);
                g_assert_cmpint(yaml != NULL, ==, levels == 511);
        }
}

/* Seven levels of ten aliases each would be ten million values. */
static void test_bomb(void)
{
        g_autoptr(GString) text = g_string_new("a: &a [x,x,x,x,x,x,x,x,x,x]\n");
        g_autoptr(GError) error = NULL;
        DocumentPlace place;

        for (int c = 'b'; c <= 'g'; c++) {
                g_string_append_printf(text, "%c: &%c [", c, c);
                for (int i = 0; i < 10; i++)
                        g_string_append_printf(text, "%s*%c", i ? "," : "", c - 1);
                g_string_append(text, "]\n");
        }
        g_assert_null(parse(text->str, &place, &error));
        g_assert_nonnull(strstr(error->message, "more than 2000000 values and keys"));
        g_assert_cmpuint(place.line, >, 1);
}

static void test_size(void)
{
        g_autofree char *large = g_strnfill(document_limits.size + 1, ' ');
        g_autoptr(GError) error = NULL;
        DocumentPlace place;

        g_assert_null(document_parse(large, document_limits.size + 1, &document_limits, &place, &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
        g_assert_cmpuint(place.line, ==, 0);
}

/* The time of places is linear in the length of a line. */
static void test_one_long_line(void)
{
        g_autoptr(GString) text = g_string_new("{\"a\": [0");
        g_autoptr(GError) error = NULL;
        g_autoptr(Document) document = NULL;
        DocumentPlace place;

        for (int i = 0; i < 300 * 1000; i++)
                g_string_append(text, ",\"ü\"");
        g_string_append(text, "]}");
        document = parse(text->str, &place, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(document->nodes[document->n_nodes - 1].column, ==, 8 + 4 * 300 * 1000 - 2);
}

/* ---- beside jansson ---- */

static json_t *tree_of(const Document *document, guint32 at)
{
        const DocumentNode *node = &document->nodes[at];
        json_t *tree;

        switch ((DocumentKind)node->kind) {
        case DOCUMENT_LIST:
                tree = json_array();
                for (guint32 i = at + 1; i < node->next; i = document->nodes[i].next)
                        json_array_append_new(tree, tree_of(document, i));
                return tree;
        case DOCUMENT_MAP:
                tree = json_object();
                for (guint32 i = at + 1; i < node->next; i = document->nodes[i + 1].next)
                        json_object_set_new(tree, document_text(document, i), tree_of(document, i + 1));
                return tree;
        case DOCUMENT_TEXT: return json_string(document_text(document, at));
        case DOCUMENT_INT: return json_integer(node->whole);
        case DOCUMENT_FLOAT: return json_real(node->real);
        case DOCUMENT_BOOL: return json_boolean(node->yes);
        default: return json_null();
        }
}

static void random_value(GRand *rand, GString *text, int depth)
{
        static const char *const scalars[] = {
                "null",
                "true",
                "false",
                "0",
                "-0",
                "17",
                "-9223372036854775808",
                "1.5",
                "-2e3",
                "1E-2",
                "0.0",
                "\"\"",
                "\"a\\u00fc\"",
                "\"\\ud83d\\ude00\"",
                "\"ü\"",
                "01",
                "\"\\/\\n\"",
                "tru",
                "\"\\u0000\"",
                "1.",
                "9223372036854775808",
                "\"\x7f\"",
        };
        int kind = g_rand_int_range(rand, 0, depth > 4 ? 6 : 10), n = g_rand_int_range(rand, 0, 4);

        if (kind < 6) {
                g_string_append(text, scalars[g_rand_int_range(rand, 0, kind == 0 ? 22 : 15)]);
                return;
        }
        g_string_append_c(text, kind < 8 ? '[' : '{');
        for (int i = 0; i < n; i++) {
                g_string_append(text, i ? " ,\n" : " ");
                if (kind >= 8)
                        g_string_append_printf(text, "\"k%d\" :", i + (g_rand_int_range(rand, 0, 40) == 0));
                random_value(rand, text, depth + 1);
        }
        g_string_append_c(text, kind < 8 ? ']' : '}');
}

static void spoil(GRand *rand, GString *text)
{
        static const char bytes[] = "{}[]\",:\\ue0 \n\x01x-";
        guint at = (guint)g_rand_int_range(rand, 0, (gint32)text->len);

        if (g_rand_boolean(rand))
                g_string_erase(text, at, 1);
        else
                g_string_insert_c(text, at, bytes[g_rand_int_range(rand, 0, sizeof(bytes) - 1)]);
}

static void test_beside_jansson(void)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());
        DocumentLimits limits = document_limits;
        int good = 0, bad = 0;

        limits.large_numbers = false;
        for (int i = 0; i < 6000; i++) {
                g_autoptr(GString) text = g_string_new("{\"x\":");
                g_autoptr(Document) document = NULL;
                g_autoptr(json_t) wanted = NULL, got = NULL;
                DocumentPlace place;

                random_value(rand, text, 0);
                g_string_append(text, "}");
                if (i % 3 == 0)
                        spoil(rand, text);
                if (!g_utf8_validate(text->str, (gssize)text->len, NULL))
                        continue;
                wanted = json_parse(text->str, text->len, NULL);
                document = document_parse_json(text->str, text->len, &limits, &place, NULL);
                got = document ? tree_of(document, 0) : NULL;
                g_test_message("%s", text->str);
                g_assert_cmpint(got != NULL, ==, wanted != NULL);
                g_assert_true(!got || json_equal(got, wanted));
                good += got != NULL;
                bad += got == NULL;
        }
        g_assert_cmpint(good, >, 1000);
        g_assert_cmpint(bad, >, 1000);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/document/places", test_places);
        g_test_add_func("/document/refused", test_refused);
        g_test_add_func("/document/many-keys", test_many_keys);
        g_test_add_func("/document/pipeline-limits", test_pipeline_limits);
        g_test_add_func("/document/depth", test_depth);
        g_test_add_func("/document/bomb", test_bomb);
        g_test_add_func("/document/size", test_size);
        g_test_add_func("/document/one-long-line", test_one_long_line);
        g_test_add_func("/document/beside-jansson", test_beside_jansson);
        return g_test_run();
}
