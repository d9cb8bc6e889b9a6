/* The target of a request as the server decodes it: path, query, and the route it finds. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "net/client.h"
#include "net/route.h"
#include "net/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const HttpRoute routes[] = {
        { "GET", "/" },
        { "GET", "/v1/jobs/{job}/logs/{member}" },
        { "GET", "/v1/jobs/all" },
        { "GET", "/v1/files/{path...}" },
        { 0 },
};

/* What was decoded, encoded and decoded again, is the same. */
static void check_escape(const char *text)
{
        g_autofree char *escaped = url_escape(text), *query = g_strconcat("x=", escaped, NULL);
        g_autoptr(GArray) pairs = url_query_parse(query, NULL);

        g_assert_cmpstr(url_query_get(pairs, "x"), ==, text);
}

static void check_path(const char *target, gsize len)
{
        static RouteTable *table;
        const HttpRoute *const lists[] = { routes, NULL };
        g_auto(UrlPath) path = { 0 };
        const char *allow = NULL;

        if (!table)
                table = route_table_new(lists, NULL);
        if (!url_path_parse(target, len, &path, NULL))
                return;
        g_assert_cmpuint(path.count, <=, PATH_SEGMENTS_MAX);
        g_assert_cmpuint(strlen(path.text->str), ==, path.text->len);
        g_assert_true(g_utf8_validate(path.text->str, -1, NULL));
        for (guint i = 0; i < path.count; i++)
                g_assert_cmpuint(path.segments[i].at + path.segments[i].len, <=, path.text->len);
        (void)route_find(table, "GET", &path, &allow, NULL);
        check_escape(path.text->str);
}

/* As faces read it, where nothing of a query is an error. */
static void check_exact(const char *target, gsize len)
{
        g_auto(UrlPath) path = { 0 };
        g_autoptr(GArray) query = url_query_parse_exact(target[len] ? target + len + 1 : "");

        g_assert_cmpuint(query->len, <=, QUERY_PAIRS_MAX);
        for (guint i = 0; i < query->len; i++)
                check_escape(g_array_index(query, UrlPair, i).value);
        if (!url_path_parse_exact(target, len, &path, NULL))
                return;
        g_assert_true(g_utf8_validate(path.text->str, (gssize)path.text->len, NULL));
        for (guint i = 0; i < path.count; i++)
                g_assert_true(path.segments[i].len > 0 &&
                              path.segments[i].at + path.segments[i].len <= path.text->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size > 1 << 15)
                return 0;
        g_autofree char *target = g_strndup((const char *)data, size); /* a target has no NUL */
        gsize len = strcspn(target, "?");

        check_path(target, len);
        check_exact(target, len);
        g_autoptr(GArray) query = url_query_parse(target[len] ? target + len + 1 : "", NULL);
        for (guint i = 0; query && i < query->len; i++) {
                const UrlPair *pair = &g_array_index(query, UrlPair, i);

                g_assert_true(g_utf8_validate(pair->name, -1, NULL) &&
                              g_utf8_validate(pair->value, -1, NULL));
                check_escape(pair->value);
        }
        return 0;
}
