/* JSON: bounded parsing, and getters whose errors name the field. */
#include "base/json-out.h"

#include <string.h>

#include "base/err.h"

static json_t *parsed(const char *text)
{
        g_autoptr(GError) error = NULL;
        json_t *value = json_parse(text, strlen(text), &error);

        g_assert_no_error(error);
        return value;
}

static void test_refused(void)
{
        static const struct {
                const char *text;
                gsize len; /* 0: all */
        } cases[] = {
                { "" },
                { "{" },
                { "{} x" },
                { "{\"a\":1,\"a\":2}" },
                { "\"a\\u0000b\"" },
                { "[1,]" },
                { "nul" },
                { "{\"a\":1e999}" },
                { "\"\xff\"" },
                { "{}\0", 3 },
                { "99999999999999999999" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;

                g_test_message("case %zu", i);
                g_assert_null(json_parse(cases[i].text, cases[i].len ? cases[i].len : strlen(cases[i].text),
                                         &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
}

static void test_depth(void)
{
        g_autoptr(GString) fits = g_string_new(NULL), over = g_string_new(NULL), text = g_string_new("\"");
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) value = NULL, own = NULL, brackets = NULL;

        for (int i = 0; i <= JSON_DEPTH_MAX; i++)
                g_string_append_c(over, '[');
        for (int i = 0; i <= JSON_DEPTH_MAX; i++)
                g_string_append_c(over, ']');
        g_string_append_len(fits, over->str + 1, (gssize)over->len - 2);
        value = parsed(fits->str);
        g_assert_null(json_parse(over->str, over->len, &error));
        g_assert_cmpstr(error->message, ==, "JSON is nested deeper than 64");
        own = json_parse_own(over->str, over->len, NULL);
        g_assert_cmpint(json_depth(value), ==, 64);
        g_assert_cmpint(json_depth(own), ==, 65);

        for (int i = 0; i < 100; i++)
                g_string_append(text, "[\\\"");
        g_string_append(text, "\"");
        brackets = parsed(text->str); /* within a string they are text */
}

static void test_position(void)
{
        g_autoptr(GError) error = NULL;
        const char *text = "{\n  \"a\": x\n}";

        g_assert_null(json_parse(text, strlen(text), &error));
        g_assert_true(g_str_has_prefix(error->message, "not valid JSON at line 2, column "));
}

static void test_getters(void)
{
        g_autoptr(json_t) object =
                parsed("{\"s\":\"abc\",\"n\":5,\"b\":true,\"l\":[1,2],\"o\":{\"x\":1},\"z\":null}");
        g_autoptr(GError) error = NULL;
        const char *s = "old";
        gint64 n = 9;
        bool b = false;
        json_t *l = NULL, *o = NULL;

        g_assert_true(json_get_string(object, "", "s", 3, &s, &error) && strcmp(s, "abc") == 0);
        g_assert_true(json_get_int(object, "", "n", 0, 5, &n, &error) && n == 5);
        g_assert_true(json_get_bool(object, "", "b", &b, &error) && b);
        g_assert_true(json_get_array(object, "", "l", 2, &l, &error) && l);
        g_assert_true(json_get_object(object, "", "o", 1, &o, &error) && o);
        s = "old";
        g_assert_true(json_get_string(object, "", "z", 3, &s, &error) &&
                      json_get_string(object, "", "none", 3, &s, &error));
        g_assert_cmpstr(s, ==, "old");
        g_assert_no_error(error);
}

static void test_getters_refuse(void)
{
        g_autoptr(json_t) object =
                parsed("{\"s\":\"abcd\",\"n\":-1,\"r\":1.0,\"l\":[1,2,3],\"o\":{\"x\":1,\"y\":2}}");
        const char *s;
        gint64 n;
        bool b;
        json_t *v;
        struct {
                bool ok;
                const char *says;
                GError *error;
        } cases[12] = { 0 };
        size_t k = 0;

#define CASE(call, text) (cases[k].ok = (call), cases[k].says = (text), k++)
        CASE(json_get_string(object, "roles[1].", "s", 3, &s, &cases[k].error),
             "roles[1].s is longer than 3 bytes");
        CASE(json_get_string(object, "", "n", 3, &s, &cases[k].error), "n must be a string");
        CASE(json_get_int(object, "roles[1].", "n", 0, 10, &n, &cases[k].error),
             "roles[1].n: '-1' is not a whole number from 0 to 10");
        CASE(json_get_int(object, "", "r", 0, 10, &n, &cases[k].error),
             "r: '1.0' is not a whole number from 0 to 10");
        CASE(json_get_int(object, "", "s", 0, 10, &n, &cases[k].error),
             "s: '\"abcd\"' is not a whole number from 0 to 10");
        CASE(json_get_bool(object, "", "n", &b, &cases[k].error), "n must be true or false");
        CASE(json_get_array(object, "", "o", 9, &v, &cases[k].error), "o must be a list");
        CASE(json_get_array(object, "", "l", 2, &v, &cases[k].error), "l has more than 2 items");
        CASE(json_get_object(object, "", "l", 9, &v, &cases[k].error), "l must be an object");
        CASE(json_get_object(object, "", "o", 1, &v, &cases[k].error), "o has more than 1 members");
        CASE(json_only(object, "", (const char *const[]){ "s", "n", "r", "l", NULL }, &cases[k].error),
             "'o' is not a known field\nThe fields are s, n, r, l.");
#undef CASE
        for (size_t i = 0; i < k; i++) {
                g_assert_false(cases[i].ok);
                g_assert_true(err_is(cases[i].error, ERR_INVALID));
                g_assert_cmpstr(cases[i].error->message, ==, cases[i].says);
                g_error_free(cases[i].error);
        }
}

/* The text is the one that jansson writes, byte for byte. */
static void test_format(void)
{
        static const char *const texts[] = {
                "null",
                "true",
                "false",
                "0",
                "-1",
                "9223372036854775807",
                "-9223372036854775808",
                "1.5",
                "-0.0",
                "1e300",
                "2.0",
                "\"\"",
                "[]",
                "{}",
                "[[],{},[1,\"a\"],{\"b\":{\"c\":null}}]",
                "{\"z\":1,\"a\":[true,false],\"\":\"x\",\"q\\\"\":0}",
                "\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u0001\\u001f \177 \303\244 \360\237\230\200\"",
        };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(json_t) value = parsed(texts[i]);
                g_autoptr(JsonText) expected = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
                g_autofree char *text = json_format(value);

                g_assert_cmpstr(text, ==, expected);
        }
        g_autofree char *null = json_format(NULL);
        g_assert_cmpstr(null, ==, "null");
}

static char *written(bool brief)
{
        JsonOut out = json_out_begin(0);

        out.brief = brief;
        json_open(&out, '{');
        json_put_text(&out, "text", "a \"b\"\n\303\244");
        json_put_text(&out, "broken", "x\377y");
        json_put_text(&out, "none", NULL);
        json_put_int(&out, "least", G_MININT64);
        json_put_bool(&out, "yes", true);
        json_put_time(&out, "never", 0);
        json_put_time(&out, "begin", 1500);
        json_put_null(&out, "null");
        json_put_value(&out, "tree", json_pack("{s:[i,i]}", "list", 1, 2));
        json_put_value(&out, "bare", json_object());
        json_put_value(&out, "absent", NULL);
        json_open_member(&out, "items", '[');
        json_put_item_text(&out, "one");
        json_put_item(&out, json_pack("{s:i}", "n", 3));
        json_open(&out, '[');
        json_close(&out, ']');
        json_close(&out, ']');
        json_put_members(&out, json_pack("{s:i, s:n, s:{}}", "last", 7, "no", "empty"));
        json_put_written(&out, "\"kept\":[1],\"more\":2", 19);
        json_close(&out, '}');
        return json_out_end(&out);
}

static void test_out(void)
{
        g_autofree char *whole = written(false), *brief = written(true);

        g_assert_cmpstr(whole, ==,
                        "{\"text\":\"a \\\"b\\\"\\n\303\244\",\"broken\":\"x\357\277\275y\",\"none\":null,"
                        "\"least\":-9223372036854775808,\"yes\":true,\"never\":null,"
                        "\"begin\":\"1970-01-01T00:00:01.500Z\",\"null\":null,\"tree\":{\"list\":[1,2]},"
                        "\"bare\":{},\"absent\":{},\"items\":[\"one\",{\"n\":3},[]],\"last\":7,\"no\":null,"
                        "\"empty\":{},\"kept\":[1],\"more\":2}");
        g_assert_cmpstr(
                brief, ==,
                "{\"text\":\"a \\\"b\\\"\\n\303\244\",\"broken\":\"x\357\277\275y\","
                "\"least\":-9223372036854775808,\"yes\":true,\"begin\":\"1970-01-01T00:00:01.500Z\","
                "\"tree\":{\"list\":[1,2]},\"items\":[\"one\",{\"n\":3},[]],\"last\":7,\"kept\":[1],\"more\":2}");
}

static void test_time(void)
{
        g_autoptr(json_t) none = json_time(0), time = json_time(1500);

        g_assert_true(json_is_null(none));
        g_assert_cmpstr(json_string_value(time), ==, "1970-01-01T00:00:01.500Z");
}

static void test_from_error(void)
{
        g_autoptr(GError) error = NULL, bytes = NULL;
        g_autoptr(json_t) body = NULL, odd = NULL;
        g_autofree char *text = NULL;

        err_set(&error, ERR_NOT_FOUND, "job 'a' is not known\nList the jobs.");
        body = json_from_error(error, "r1");
        text = json_format(body);
        g_assert_cmpstr(text, ==,
                        "{\"code\":\"not_found\",\"message\":\"job 'a' is not known\",\"hint\":\"List the "
                        "jobs.\",\"request_id\":\"r1\"}");
        err_set(&bytes, ERR_INVALID, "name '\xff'");
        odd = json_from_error(bytes, NULL);
        g_assert_cmpstr(json_string_value(json_object_get(odd, "code")), ==, "invalid");
        g_assert_nonnull(json_string_value(json_object_get(odd, "message")));
}

/* For people: nothing in it controls a terminal, and it is read back as it was. */
static void test_lines(void)
{
        g_autoptr(json_t) value =
                json_pack("{s:[s], s:s}", "a", "\x1b[2J\a\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8", "b\n",
                          "\xc3\xa9\n\xf0\x9f\x98\x80"),
                          back = NULL;
        g_autofree char *text = json_format_lines(value);

        g_assert_cmpstr(text, ==,
                        "{\n  \"a\": [\n    \"\\u001B[2J\\u0007\\u007F\\u009B\\u202E\\u2028\"\n  ],\n"
                        "  \"b\\n\": \"\xc3\xa9\\n\xf0\x9f\x98\x80\"\n}");
        back = parsed(text);
        g_assert_true(json_equal(back, value));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/json/refused", test_refused);
        g_test_add_func("/json/depth", test_depth);
        g_test_add_func("/json/position", test_position);
        g_test_add_func("/json/getters", test_getters);
        g_test_add_func("/json/getters-refuse", test_getters_refuse);
        g_test_add_func("/json/format", test_format);
        g_test_add_func("/json/out", test_out);
        g_test_add_func("/json/time", test_time);
        g_test_add_func("/json/from-error", test_from_error);
        g_test_add_func("/json/lines", test_lines);
        return g_test_run();
}
