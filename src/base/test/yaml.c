/* YAML: the core schema, the bounds, positions in errors, and a writer whose text reads back as the same
 * value. */
#include "base/yaml.h"

#include <malloc.h>
#include <string.h>

#include "base/err.h"
#include "base/test/seed.h"

static void test_values(void)
{
        static const struct {
                const char *yaml, *json;
        } cases[] = {
                { "", "null" },
                { "# only a remark\n", "null" },
                { "---\n...\n", "null" },
                { "a: 1\nb: [x, 'y', \"z\\n\"]\n", "{\"a\":1,\"b\":[\"x\",\"y\",\"z\\n\"]}" },
                { "n: [~, null, Null, '', ]", "{\"n\":[null,null,null,\"\"]}" },
                { "empty:\nother: x", "{\"empty\":null,\"other\":\"x\"}" },
                { "[true, FALSE, yes, on]", "[true,false,\"yes\",\"on\"]" },
                { "[0, -7, +3, 012, 0o17, 0xFf, -9223372036854775808]",
                  "[0,-7,3,12,15,255,-9223372036854775808]" },
                { "[1.5, -.5, 2e3, 1., .e3, e3, 1.2.3, 0x, 0o8, '12']",
                  "[1.5,-0.5,2000.0,1.0,\".e3\",\"e3\",\"1.2.3\",\"0x\",\"0o8\",\"12\"]" },
                { "1: x\ntrue: y", "{\"1\":\"x\",\"true\":\"y\"}" },
                { "a: |\n  two\n  lines\nb: >-\n  fold\n  ed\n",
                  "{\"a\":\"two\\nlines\\n\",\"b\":\"fold ed\"}" },
                { "base: &b {x: 1}\ncopy: *b\n", "{\"base\":{\"x\":1},\"copy\":{\"x\":1}}" },
                { "a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}" },
                { "a: !!str 12\nb: !!int 12\nc: ! 12", "{\"a\":\"12\",\"b\":12,\"c\":\"12\"}" },
                { "image: docker.io //default is docker.io",
                  "{\"image\":\"docker.io //default is docker.io\"}" },
                { "u: grün ☃", "{\"u\":\"grün ☃\"}" },
                { "{\"json\": [1, {\"too\": null}]}", "{\"json\":[1,{\"too\":null}]}" },
                { "{\"pair\": \"\\ud83d\\ude00\"}", "{\"pair\":\"\U0001F600\"}" },
                { "{\"a\": 1, # not JSON\n}", "{\"a\":1}" },
                { "'''''xyz'", "\"''xyz\"" },
                { "a: '''''''a''b''''c''''''d e f g h i j k'", "{\"a\":\"'''a'b''c'''d e f g h i j k\"}" },
                { "'': 1", "{\"\":1}" },
                { "? a\n: 1\n", "{\"a\":1}" },
                { "\xef\xbb\xbf"
                  "a: 1\r\nb: 2\r\n",
                  "{\"a\":1,\"b\":2}" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = yaml_parse(cases[i].yaml, strlen(cases[i].yaml), "f", &error);
                g_autofree char *text = NULL;

                g_test_message("%s", cases[i].yaml);
                g_assert_no_error(error);
                text = json_format(value);
                g_assert_cmpstr(text, ==, cases[i].json);
        }
}

static void test_refused(void)
{
        static const struct {
                const char *yaml, *begins;
        } cases[] = {
                { "a: 1\na: 2\n", "j.yaml: line 2, column 1: the key 'a' is given twice" },
                { "a: [1\nb: 2\n",
                  "j.yaml: line 2, column 2: expected ',' or ']' of the list that begins in line 1, column 4" },
                { "a:\n\t- x\n", "j.yaml: line 2, column 1: a tab is not allowed here" },
                { "a: 'x\nb: 1\n", "j.yaml: line 1, column 4: the quote that begins here has no end" },
                { "a: b: c\n",
                  "j.yaml: line 1, column 5: a ':' is not possible here\nPut a value that contains ': '" },
                { "a:\n  b\nc: 1\n  d: 2\n", "j.yaml: line 4, column 4: a ':' is not possible here\n" },
                { "a: - 1\n", "j.yaml: line 1, column 4: a '-' is not possible here\n" },
                { "a: 1\nb\nc: 2\n", "j.yaml: line 2, column 1: a key without ':'\n" },
                { "a: \"x\\d\"\n", "j.yaml: line 1, column 6: double quotes have no such escape\n" },
                { "a: @x\n", "j.yaml: line 1, column 4: a value cannot begin with '@'\nPut it in quotes." },
                { "a: \"x\" y\n",
                  "j.yaml: line 1, column 8: expected a key of the map that begins in line 1, column 1\n" },
                { "a:\n    b: 1\n  c: 2\n",
                  "j.yaml: line 3, column 3: expected a key of the map that begins in line 1" },
                { "- a\nb: 1\n",
                  "j.yaml: line 2, column 1: expected an item of the list that begins in line 1" },
                { "a: {b: 1\nc: 2\n",
                  "j.yaml: line 2, column 2: expected ',' or '}' of the map that begins in line 1" },
                { "a: [1, , 2]\n", "j.yaml: line 1, column 8: expected a value" },
                { "{a: 1}\nb: 2\n", "j.yaml: line " },
                { "ok: 1\na: \x07", "j.yaml: line 2, column 4: the character U+0007 is not allowed" },
                { "- &b:\n", "j.yaml: line 1, column 3: a key must be text" },
                { "{\"a\": \"\\ud83d\"}", "j.yaml: line 1, column " },
                { "? [x]\n: 1\n", "j.yaml: line 1, column 3: a key must be text" },
                { "a: {{b.c}}\n", "j.yaml: line 1, column 5: a key must be text, not a map\n"
                                  "Put a value with braces in quotes: \"{{...}}\"." },
                { "a: *none", "j.yaml: line 1, column 4: '*none' names no value that is finished before it" },
                { "a: &x [*x]", "j.yaml: line 1, column 8: '*x' names no value that is finished before it" },
                { "a: !python/object x", "j.yaml: line 1, column " },
                { "a: 99999999999999999999",
                  "j.yaml: line 1, column 4: '99999999999999999999' is not a number that can be held" },
                { "a: 1e999", "j.yaml: line 1, column 4: '1e999' is not a number that can be held" },
                { "a: .inf", "j.yaml: line 1, column 4: '.inf' is not a number that can be held" },
                { "a: .nan", "j.yaml: line 1, column 4: " },
                { "a: \"x\\0y\"", "j.yaml: line 1, column 4: text with a NUL" },
                { "a: 1\n---\nb: 2\n", "j.yaml: line 3, column 1: a second document; only one is read" },
                { "ok: 1\nbad: \xff", "j.yaml: line 2, column 6: not UTF-8 text" },
                { "a: b: c", "j.yaml: line 1, column " },
                { "%YAML 9.0\n--- x", "j.yaml: line " },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = yaml_parse(cases[i].yaml, strlen(cases[i].yaml), "j.yaml", &error);
                g_autofree char *shown = g_strescape(cases[i].yaml, NULL);

                g_test_message("%s: %s", shown, error ? error->message : "taken");
                g_assert_null(value);
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_true(g_str_has_prefix(error->message, cases[i].begins));
        }
}

static void test_depth(void)
{
        for (int deep = 64; deep <= 65; deep++) {
                g_autoptr(GString) text = g_string_new(NULL);
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = NULL;

                for (int i = 0; i < deep; i++)
                        g_string_append_c(text, '[');
                for (int i = 0; i < deep; i++)
                        g_string_append_c(text, ']');
                value = yaml_parse(text->str, text->len, "f", &error);
                g_assert_cmpint(value != NULL, ==, deep == 64);
        }
}

/* An alias at a deep level cannot exceed the limit of depth. */
static void test_depth_by_alias(void)
{
        g_autoptr(GString) text = g_string_new("a: &a ");
        g_autoptr(GError) error = NULL;

        for (int i = 0; i < 40; i++)
                g_string_append_c(text, '[');
        for (int i = 0; i < 40; i++)
                g_string_append_c(text, ']');
        g_string_append(text, "\nb: ");
        for (int i = 0; i < 40; i++)
                g_string_append_c(text, '[');
        g_string_append(text, "*a");
        for (int i = 0; i < 40; i++)
                g_string_append_c(text, ']');
        g_assert_null(yaml_parse(text->str, text->len, "f", &error));
        g_assert_nonnull(strstr(error->message, "nested deeper than 64"));
}

/* Nine levels of nine aliases each would be 387 million values. */
static void test_bomb(void)
{
        g_autoptr(GString) text = g_string_new("a: &a [x,x,x,x,x,x,x,x,x]\n");
        g_autoptr(GError) error = NULL;

        for (int c = 'b'; c <= 'i'; c++) {
                g_string_append_printf(text, "%c: &%c [", c, c);
                for (int i = 0; i < 9; i++)
                        g_string_append_printf(text, "%s*%c", i ? "," : "", c - 1);
                g_string_append(text, "]\n");
        }
        g_assert_null(yaml_parse(text->str, text->len, "f", &error));
        g_assert_nonnull(strstr(error->message, "aliases stand for more than 10000 values"));
}

/* Each alias copies its text: 1000 of them would make 300 MB from 300 KB. */
static void test_bomb_of_text(void)
{
        static const char *const wholes[] = { "%s", "[%s]", "{%s: 1}" };
        g_autofree char *word = g_strnfill(900, 'x'), *words = g_strnfill(300 * 1024, 'x');

        for (size_t i = 0; i < G_N_ELEMENTS(wholes); i++) {
                g_autofree char *whole = g_strdup_printf(wholes[i], i == 2 ? word : words);
                g_autoptr(GString) text = g_string_new(NULL);
                g_autoptr(GError) error = NULL;

                g_string_printf(text, "a: &a %s\nb:\n", whole);
                for (int n = 0; n < 2000; n++)
                        g_string_append(text, "- *a\n");
                g_assert_null(yaml_parse(text->str, text->len, "f", &error));
                g_assert_nonnull(error);
                g_assert_nonnull(strstr(error->message, "aliases stand for more than 1048576 bytes of text"));
        }
}

static void test_size(void)
{
        g_autofree char *large = g_malloc(1024 * 1024 + 1);
        g_autoptr(GString) keys = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = NULL;

        memset(large, ' ', 1024 * 1024 + 1);
        g_assert_null(yaml_parse(large, 1024 * 1024 + 1, "f", &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
        g_clear_error(&error);
        for (int i = 0; keys->len < 1024 * 1024 - 16; i++)
                g_string_append_printf(keys, "k%d: 1\n", i);
        value = yaml_parse(keys->str, keys->len, "f", &error); /* the time is linear in the number of keys */
        g_assert_no_error(error);
        g_assert_cmpint(json_object_size(value), >, 90000);
}

/* The time is linear in the length of the text, also if all lines are blank. */
static void test_blank_lines(void)
{
        enum { LINES = 1000 * 1000 };
        static const struct {
                const char *begin, *end, *value_begin, *value_end;
        } cases[] = {
                { "|\n x\n", " y\n", "x\n", "y\n" }, { "|+\n x\n", "", "x\n", "" },
                { ">\n x\n", " y\n", "x", "y\n" },   { "x\n", " y", "x", "y" },
                { "'x\n", " y'", "x", "y" },         { "\"x\n", " y\"", "x", "y" },
        };
        g_autofree char *lines = g_strnfill(LINES, '\n');

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strconcat(cases[i].begin, lines, cases[i].end, NULL);
                g_autofree char *wanted = g_strconcat(cases[i].value_begin, lines, cases[i].value_end, NULL);
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = yaml_parse(text, strlen(text), "f", &error);

                g_test_message("%s", cases[i].begin);
                g_assert_no_error(error);
                g_assert_true(g_str_equal(json_string_value(value), wanted));
        }
}

/* libyaml's time is quadratic in the number of these lines. */
static void test_directives(void)
{
        g_autoptr(GString) text = g_string_new("--- x\n");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = NULL;

        for (int i = 0; i < 100; i++) {
                g_autofree char *line = g_strdup_printf("%%TAG !%d! tag:x:\n", i);

                g_string_prepend(text, line);
        }
        value = yaml_parse(text->str, text->len, "f", &error);
        g_assert_no_error(error);
        g_assert_cmpstr(json_string_value(value), ==, "x");
        g_string_prepend(text, "%TAG !100! tag:x:\n");
        g_assert_null(yaml_parse(text->str, text->len, "f", &error));
        g_assert_true(err_is(error, ERR_INVALID));
        g_assert_cmpstr(error->message, ==, "f: more than 100 times '%TAG'");
}

/* ---- memory ---- */

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
        return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                       : mallinfo2().uordblks;
}

static bool is_taken(const char *text, gsize len)
{
        g_autoptr(json_t) value = yaml_parse(text, len, "f", NULL);

        return value != NULL;
}

/* Parses each prefix of the text; returns the number of invalid ones. */
static int parse_beginnings(const char *text, gsize len)
{
        int broken = 0;

        for (gsize part = 0; part <= len; part++)
                broken += !is_taken(text, part);
        return broken;
}

static int parse_folder(const char *path)
{
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        int broken = 0;

        g_assert_nonnull(dir);
        for (const char *name; (name = g_dir_read_name(dir));) {
                g_autofree char *file = g_build_filename(path, name, NULL), *text = NULL;
                gsize len;

                g_assert_true(g_file_get_contents(file, &text, &len, NULL));
                broken += parse_beginnings(text, len);
        }
        return broken;
}

static int parse_broken(void)
{
        static const char *const folders[] = { "yaml", "config", "kube_config", "sched_trace" };
        static const char quotes[] = "a: '''''''''''''''''''''''''''''''''''''''''''''''''''''";
        int broken = parse_beginnings(quotes, strlen(quotes));

        for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
                g_autofree char *path = g_build_filename(FUZZ_CORPUS, folders[i], NULL);

                broken += parse_folder(path);
        }
        return broken;
}

/* A server reads broken texts for months, so none may leak memory. glibc keeps less than 256 KiB of freed
 * memory for reuse. LeakSanitizer finds smaller leaks. */
static void test_memory(void)
{
        int broken = parse_broken();
        size_t before = allocated();

        g_assert_cmpint(broken, >, 1000);
        for (int i = 0; i < 20; i++)
                g_assert_cmpint(parse_broken(), ==, broken);
        g_assert_cmpuint(allocated(), <, before + 256 * 1024);
}

static void test_format(void)
{
        static const struct {
                const char *json, *yaml;
        } cases[] = {
                { "null", "null\n" },
                { "\"x\"", "x\n" },
                { "[]", "[]\n" },
                { "{\"a\":{},\"b\":[],\"c\":null}", "a: {}\nb: []\nc: null\n" },
                { "{\"a\":{\"b\":[1,true,\"t\"]}}", "a:\n  b:\n    - 1\n    - true\n    - t\n" },
                { "[{\"a\":1,\"b\":2},[3,[4]]]", "- a: 1\n  b: 2\n- - 3\n  - - 4\n" },
                { "[\"yes\",\"12\",\"1.5\",\"null\",\"\",\"-x\",\"a: b\",\"a #b\",\" x\",\"x "
                  "\",\"k:\",\"2026-03-01\",\"12:30\"]",
                  "- \"yes\"\n- \"12\"\n- \"1.5\"\n- \"null\"\n- \"\"\n- \"-x\"\n- \"a: b\"\n- \"a #b\"\n- "
                  "\" x\"\n- \"x \"\n- \"k:\"\n"
                  "- \"2026-03-01\"\n- \"12:30\"\n" },
                { "[\"\\u007f\\u0085\\u2028\\ufeff\\ufffe\U0001F600\"]",
                  "- \"\\u007f\\u0085\\u2028\\ufeff\\ufffe\U0001F600\"\n" },
                { "[\"a b\",\"/pfs/x\",\"a:b\",\"4k2m\",\"K=V\",\"two\\nlines\",\"500m\"]",
                  "- a b\n- /pfs/x\n- a:b\n- 4k2m\n- K=V\n- |-\n  two\n  lines\n- 500m\n" },
                { "{\"a\":{\"c\":\"if x; then\\n  echo: y # z\\n\\nfi\\n\",\"d\":[\"a\\n---\\nb\"]}}",
                  "a:\n  c: |\n    if x; then\n      echo: y # z\n\n    fi\n  d:\n    - |-\n      a\n      ---\n      b\n" },
                { "[\"\\n\",\"a\\n\\n\",\" a\\nb\",\"\\na\",\"a \\nb\",\"a\\n\\tb\",\"a\\n \\nb\",\"a\\r\\nb\",\"a\\nb \"]",
                  "- \"\\n\"\n- \"a\\n\\n\"\n- \" a\\nb\"\n- \"\\na\"\n- \"a \\nb\"\n- \"a\\n\\tb\"\n- \"a\\n \\nb\"\n"
                  "- \"a\\r\\nb\"\n- \"a\\nb \"\n" },
                { "{\"k\":\"a\\n\"}", "k: |\n  a\n" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = json_parse(cases[i].json, strlen(cases[i].json), &error),
                                  back = NULL;
                g_autofree char *text = yaml_format(value);

                g_assert_cmpstr(text, ==, cases[i].yaml);
                back = yaml_parse(text, strlen(text), "f", &error);
                g_assert_no_error(error);
                g_assert_true(json_equal(value, back));
        }
}

/* Any text of a few troublesome characters is read back as it was. */
static void test_format_lines(void)
{
        static const char characters[] = "a\n\t -#:'|\r\x1b\x7f";
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed_of_test());

        for (int i = 0; i < 20000; i++) {
                char text[9] = "";
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = NULL, back = NULL;
                g_autofree char *yaml = NULL;

                for (int k = 0, n = g_rand_int_range(rand, 1, 9); k < n; k++)
                        text[k] = characters[g_rand_int_range(rand, 0, sizeof(characters) - 1)];
                value = json_pack("{s:[s, {s:s}], s:s}", "a", text, "b", text, "c", text);
                yaml = yaml_format(value);
                back = yaml_parse(yaml, strlen(yaml), "f", &error);
                g_assert_no_error(error);
                g_assert_true(json_equal(value, back));
        }
}

/* A key of more than 1024 characters is only read in the form "? KEY". */
static void test_format_long_keys(void)
{
        for (gsize len = 990; len <= 1030; len++) {
                g_autofree char *key = g_strnfill(len, 'k'), *text = NULL;
                g_autoptr(json_t) value = json_pack("[{s:[i], s:i}]", key, 1, "z", 2), back = NULL;
                g_autoptr(GError) error = NULL;

                text = yaml_format(value);
                back = yaml_parse(text, strlen(text), "f", &error);
                g_assert_no_error(error);
                g_assert_true(json_equal(value, back));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/yaml/values", test_values);
        g_test_add_func("/yaml/refused", test_refused);
        g_test_add_func("/yaml/depth", test_depth);
        g_test_add_func("/yaml/depth-by-alias", test_depth_by_alias);
        g_test_add_func("/yaml/bomb", test_bomb);
        g_test_add_func("/yaml/bomb-of-text", test_bomb_of_text);
        g_test_add_func("/yaml/size", test_size);
        g_test_add_func("/yaml/blank-lines", test_blank_lines);
        g_test_add_func("/yaml/directives", test_directives);
        g_test_add_func("/yaml/memory", test_memory);
        g_test_add_func("/yaml/format", test_format);
        g_test_add_func("/yaml/format-lines", test_format_lines);
        g_test_add_func("/yaml/format-long-keys", test_format_long_keys);
        return g_test_run();
}
