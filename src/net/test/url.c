/* Paths and queries: what they decode to, and what is refused. */
#include "net/url.h"

#include <string.h>

#include "base/err.h"
#include "net/client.h"

static void test_path(void)
{
        static const struct {
                const char *raw, *text;
                guint count;
        } cases[] = {
                { "/", "/", 0 },
                { "/a/b", "/a/b", 2 },
                { "/a/b/", "/a/b", 2 },
                { "//a///b", "/a/b", 2 },
                { "/a%20b", "/a b", 1 },
                { "/a%2Fb", "/a/b", 1 },
                { "/a+b", "/a+b", 1 },
                { "/%C3%A4", "/\xc3\xa4", 1 },
                { "", NULL, 0 },
                { "a", NULL, 0 },
                { "/%", NULL, 0 },
                { "/%4", NULL, 0 },
                { "/%4/x", NULL, 0 },
                { "/%zz", NULL, 0 },
                { "/%00", NULL, 0 },
                { "/%ff", NULL, 0 },
                { "/..", NULL, 0 },
                { "/a/./b", NULL, 0 },
                { "/a%2F%2e%2E%2fb", NULL, 0 },
                { "/...", "/...", 1 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(UrlPath) path = { 0 };
                g_autoptr(GError) error = NULL;
                bool ok = url_path_parse(cases[i].raw, strlen(cases[i].raw), &path, &error);

                g_assert_cmpint(ok, ==, cases[i].text != NULL);
                if (ok) {
                        g_assert_cmpstr(path.text->str, ==, cases[i].text);
                        g_assert_cmpuint(path.count, ==, cases[i].count);
                } else {
                        g_assert_true(err_is(error, ERR_INVALID));
                }
        }
}

static void test_path_depth(void)
{
        g_autoptr(GString) raw = g_string_new(NULL);
        g_auto(UrlPath) path = { 0 }, deeper = { 0 };

        for (int i = 0; i < PATH_SEGMENTS_MAX; i++)
                g_string_append(raw, "/x");
        g_assert_true(url_path_parse(raw->str, raw->len, &path, NULL));
        g_string_append(raw, "/x");
        g_assert_false(url_path_parse(raw->str, raw->len, &deeper, NULL));
}

/* As Go does it, where every slash counts. */
static void test_exact_path(void)
{
        static const struct {
                const char *raw, *text;
                guint count;
                ErrCode code;
        } cases[] = {
                { "/a/b", "/a/b", 2, 0 },           { "/a%20b/c", "/a b/c", 2, 0 },
                { "/a%31", "/a%31", 1, 0 }, /* '1' need not be escaped: as it was sent */
                { "/a%20b%31", "/a%20b%31", 1, 0 }, { "/a%2Fb", "/a%2Fb", 1, 0 },
                { "/%C3%A4", "/\xc3\xa4", 1, 0 },   { "/\xc3\xa4", "/\xc3\xa4", 1, 0 },
                { "/a/../b", "/a/../b", 3, 0 },     { "/a/", NULL, 0, ERR_NOT_FOUND },
                { "//a", NULL, 0, ERR_NOT_FOUND },  { "/a//b", NULL, 0, ERR_NOT_FOUND },
                { "/", NULL, 0, ERR_NOT_FOUND },    { "", NULL, 0, ERR_INVALID },
                { "a/b", NULL, 0, ERR_INVALID },    { "/%", NULL, 0, ERR_INVALID },
                { "/%00", NULL, 0, ERR_INVALID },   { "/%ff", NULL, 0, ERR_INVALID },
                { "/\xff", NULL, 0, ERR_INVALID },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(UrlPath) path = { 0 };
                g_autoptr(GError) error = NULL;
                bool ok = url_path_parse_exact(cases[i].raw, strlen(cases[i].raw), &path, &error);

                g_assert_cmpint(ok, ==, cases[i].text != NULL);
                if (ok) {
                        g_assert_cmpstr(path.text->str, ==, cases[i].text);
                        g_assert_cmpuint(path.count, ==, cases[i].count);
                } else {
                        g_assert_true(err_is(error, cases[i].code));
                }
        }
}

static void test_exact_query(void)
{
        static const struct {
                const char *raw, *a, *b;
        } cases[] = {
                { "a=1&b=2", "1", "2" },
                { "a=1;x&b=2", NULL, "2" },
                { "a=%zz&b=%", NULL, NULL },
                { "a=%00&b=%ff", "\xef\xbf\xbd", "\xef\xbf\xbd" },
                { "a=x+y%20z&b", "x y z", "" },
                { "%zz=1&b=a=b", NULL, "a=b" },
                { "", NULL, NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GArray) query = url_query_parse_exact(cases[i].raw);

                g_assert_cmpstr(url_query_get(query, "a"), ==, cases[i].a);
                g_assert_cmpstr(url_query_get(query, "b"), ==, cases[i].b);
        }
}

static void test_query(void)
{
        static const struct {
                const char *raw, *a, *b;
        } cases[] = {
                { "a=1&b=2", "1", "2" }, { "b=2&a=1&a=3", "1", "2" }, { "a=x+y%20z&b", "x y z", "" },
                { "&&b=&", NULL, "" },   { "", NULL, NULL },          { "%61=%3D&b=a=b", "=", "a=b" },
                { "ab=1", NULL, NULL },
        };
        static const char *const bad[] = { "a=%", "a=%zz", "%00=1", "a=%ff" };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(GArray) query = url_query_parse(cases[i].raw, &error);

                g_assert_no_error(error);
                g_assert_cmpstr(url_query_get(query, "a"), ==, cases[i].a);
                g_assert_cmpstr(url_query_get(query, "b"), ==, cases[i].b);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(url_query_parse(bad[i], &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
}

static void test_query_bound(void)
{
        g_autoptr(GString) raw = g_string_new("x");

        for (int i = 1; i < QUERY_PAIRS_MAX; i++)
                g_string_append(raw, "&x");
        g_autoptr(GArray) query = url_query_parse(raw->str, NULL);
        g_assert_nonnull(query);
        g_string_append(raw, "&x");
        g_assert_null(url_query_parse(raw->str, NULL));
}

static void test_escape(void)
{
        g_autofree char *text = url_escape("a b/c?d=\xc3\xa4~");

        g_assert_cmpstr(text, ==, "a%20b%2Fc%3Fd%3D%C3%A4~");
}

static void test_add_query(void)
{
        g_autoptr(GString) path = g_string_new("/v1/runs");

        url_add_query(path, "user", NULL);
        g_assert_cmpstr(path->str, ==, "/v1/runs");
        url_add_query(path, "name", "a b&c");
        url_add_query(path, "state", "");
        g_assert_cmpstr(path->str, ==, "/v1/runs?name=a%20b%26c&state=");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/url/path", test_path);
        g_test_add_func("/net/url/exact-path", test_exact_path);
        g_test_add_func("/net/url/exact-query", test_exact_query);
        g_test_add_func("/net/url/path-depth", test_path_depth);
        g_test_add_func("/net/url/query", test_query);
        g_test_add_func("/net/url/query-bound", test_query_bound);
        g_test_add_func("/net/url/escape", test_escape);
        g_test_add_func("/net/url/add-query", test_add_query);
        return g_test_run();
}
