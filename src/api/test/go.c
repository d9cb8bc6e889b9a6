/* Bodies as Go reads them, and errors with this face's codes. */
#include "api/paddleflow/go.h"

#include <string.h>

#include "api/paddleflow/codes.h"

static const GoField inner[] = { { "cpu", GO_STRING }, { "count", GO_INT }, { NULL } };
static const GoField fields[] = {
        { "userName", GO_STRING },
        { "port", GO_INT },
        { "on", GO_BOOL },
        { "labels", GO_MAP },
        { "args", GO_LIST },
        { "limits", GO_STRUCT, inner },
        { "members", GO_STRUCTS, inner },
        { "raw", GO_OBJECT },
        { NULL },
};

/* `says`: a part of the error; NULL: `decoded` is what comes out. */
static void test_decode(void)
{
        static const struct {
                const char *text, *decoded, *says;
        } cases[] = {
                { "{}", "{}", NULL },
                { "{'userName':'a'}", "{'userName':'a'}", NULL },
                { "{'username':'a'}", "{'userName':'a'}", NULL },
                { "{'USERNAME':'a'}", "{'userName':'a'}", NULL },
                { "{'username':'a','userName':'b','USERNAME':'c'}", "{'userName':'b'}", NULL },
                { "{'username':'a','USERNAME':'b'}", "{'userName':'b'}", NULL },
                { "{'userName':'a','userName':'b'}", "{'userName':'b'}", NULL },
                { "{'userName':null,'port':null,'labels':null,'limits':null}", "{}", NULL },
                { "{'other':{'a':[1]},'port':7}", "{'port':7}", NULL },
                { "{'on':true,'labels':{'a':'1','b':null}}", "{'on':true,'labels':{'a':'1','b':''}}", NULL },
                { "{'args':['a',null]}", "{'args':['a','']}", NULL },
                { "{'limits':{'CPU':'1','more':2}}", "{'limits':{'cpu':'1'}}", NULL },
                { "{'members':[{'count':1},null]}", "{'members':[{'count':1},{}]}", NULL },
                { "{'raw':{'Any':{'thing':[null]}}}", "{'raw':{'Any':{'thing':[null]}}}", NULL },
                { "{'userName':7}", NULL, "userName must be a string" },
                { "{'port':'7'}", NULL, "port must be a whole number" },
                { "{'port':7.5}", NULL, "port must be a whole number" },
                { "{'on':'true'}", NULL, "on must be true or false" },
                { "{'labels':['a']}", NULL, "labels must be an object of strings" },
                { "{'labels':{'a':1}}", NULL, "labels.a must be a string" },
                { "{'args':'a'}", NULL, "args must be a list of strings" },
                { "{'args':['a',{}]}", NULL, "args[1] must be a string" },
                { "{'limits':'1'}", NULL, "limits must be an object" },
                { "{'limits':{'cpu':1}}", NULL, "limits.cpu must be a string" },
                { "{'members':{}}", NULL, "members must be a list of objects" },
                { "{'members':[{'count':1},{'count':'x'}]}", NULL,
                  "members[1].count must be a whole number" },
                { "[]", NULL, "not a JSON object" },
                { "null", "{}", NULL },
                { "'text'", NULL, "not a JSON object" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdelimit(g_strdup(cases[i].text), "'", '"');
                g_autofree char *wanted =
                        g_strdelimit(g_strdup(cases[i].decoded ? cases[i].decoded : ""), "'", '"');
                g_autoptr(GError) error = NULL;
                g_autoptr(json_t) value = go_parse(text, strlen(text), &error);
                g_autoptr(json_t) decoded = NULL, expected = NULL;

                g_assert_no_error(error);
                decoded = go_decode(value, fields, &error);
                if (cases[i].says) {
                        g_assert_null(decoded);
                        g_assert_nonnull(strstr(error->message, cases[i].says));
                        continue;
                }
                g_assert_no_error(error);
                expected = json_parse(wanted, strlen(wanted), NULL);
                g_assert_true(json_equal(decoded, expected));
        }
}

static void test_text(void)
{
        g_autoptr(json_t) value = go_parse("{\"a\":\"x\",\"b\":7}", 15, NULL);

        g_assert_cmpstr(go_text(value, "a"), ==, "x");
        g_assert_cmpstr(go_text(value, "b"), ==, "");
        g_assert_cmpstr(go_text(value, "c"), ==, "");
        g_assert_cmpstr(go_text(NULL, "a"), ==, "");
}

/* Deep and broken bodies are refused, whatever is in them. */
static void test_bad(void)
{
        g_autofree char *deep = g_strnfill(100000, '[');
        static const char *const bad[] = { "", "{", "{\"a\":1} x", "{\"a\":\"\\u0000\"}",
                                           "{\"a\":\"\xff\"}" };

        g_assert_null(go_parse(deep, strlen(deep), NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
                g_assert_null(go_parse(bad[i], strlen(bad[i]), NULL));
}

static void test_codes(void)
{
        static const CodeMap map[] = { { ERR_EXISTS, CODE_QueueNameDuplicated }, CODE_MAP_END };
        static const struct {
                ErrCode from;
                const CodeMap *map;
                const char *word;
                int status;
        } cases[] = {
                { ERR_EXISTS, map, "QueueNameDuplicated", 403 },
                { ERR_EXISTS, NULL, "DuplicatedName", 400 },
                { ERR_INVALID, map, "InvalidArguments", 400 },
                { ERR_DENIED, NULL, "AccessDenied", 403 },
                { ERR_METHOD, NULL, "MethodNotAllowed", 405 },
                { ERR_UNAVAILABLE, map, "InternalError", 500 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                GError *error = NULL;

                err_set(&error, cases[i].from, "a thing\nDo this.");
                error = paddleflow_translate(error, cases[i].map);
                g_assert_cmpstr(code_word(code_of(error, NULL)), ==, cases[i].word);
                g_assert_cmpint(code_status(code_of(error, NULL)), ==, cases[i].status);
                g_autofree char *text = paddleflow_message(error);
                g_assert_cmpstr(text, ==, "a thing. Do this.");
                g_error_free(error);
        }
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/api/go/decode", test_decode);
        g_test_add_func("/api/go/text", test_text);
        g_test_add_func("/api/go/bad", test_bad);
        g_test_add_func("/api/go/codes", test_codes);
        return g_test_run();
}
