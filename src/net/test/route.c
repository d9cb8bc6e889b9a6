/* The dispatcher: which route a request finds, and what is no route. */
#include "net/route.h"

#include <string.h>

#include "base/err.h"

static const HttpRoute routes[] = {
        { "GET", "/" },
        { "GET", "/v1/jobs" },
        { "POST", "/v1/jobs" },
        { "GET", "/v1/jobs/{job}" },
        { "DELETE", "/v1/jobs/{id}" },
        { "GET", "/v1/jobs/all" },
        { "GET", "/v1/jobs/{job}/logs/{member}" },
        { "GET", "/v1/jobs/all/done" },
        { "GET", "/v1/files/{path...}" },
        { "GET", "/v1/openapi.json" },
        { 0 },
};
static const HttpRoute *const lists[] = { routes, NULL };

static void test_find(void)
{
        static const struct {
                const char *method, *path, *route; /* route NULL: not found; allow: wrong method */
                const char *allow;
        } cases[] = {
                { "GET", "/", "/", NULL },
                { "GET", "/v1/jobs", "/v1/jobs", NULL },
                { "GET", "/v1/jobs/", "/v1/jobs", NULL },
                { "HEAD", "/v1/jobs", "/v1/jobs", NULL },
                { "POST", "/v1/jobs", "/v1/jobs", NULL },
                { "PUT", "/v1/jobs", NULL, "GET, HEAD, POST" },
                { "HEAD", "/v1/nothing", NULL, NULL },
                { "GET", "/v1/jobs/x", "/v1/jobs/{job}", NULL },
                { "DELETE", "/v1/jobs/x", "/v1/jobs/{id}", NULL },
                { "GET", "/v1/jobs/all", "/v1/jobs/all", NULL },
                { "GET", "/v1/jobs/all/logs/m", "/v1/jobs/{job}/logs/{member}", NULL },
                { "GET", "/v1/jobs/all/done", "/v1/jobs/all/done", NULL },
                { "GET", "/v1/jobs/x/done", NULL, NULL },
                { "GET", "/v1/jobs/x/logs", NULL, NULL },
                { "GET", "/v1/files", "/v1/files/{path...}", NULL },
                { "GET", "/v1/files/a/b/c", "/v1/files/{path...}", NULL },
                { "POST", "/v1/files/a", NULL, "GET, HEAD" },
                { "GET", "/v2", NULL, NULL },
                { "get", "/v1/jobs", NULL, "GET, HEAD, POST" },
        };
        g_autoptr(RouteTable) table = route_table_new(lists, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(UrlPath) path = { 0 };
                g_autoptr(GError) error = NULL;
                const char *allow = NULL;

                g_assert_true(url_path_parse(cases[i].path, strlen(cases[i].path), &path, NULL));
                const RouteEntry *entry = route_find(table, cases[i].method, &path, &allow, &error);
                g_assert_cmpstr(entry ? entry->route->path : NULL, ==, cases[i].route);
                g_assert_cmpstr(allow, ==, cases[i].allow);
                if (!entry)
                        g_assert_true(err_is(error, cases[i].allow ? ERR_METHOD : ERR_NOT_FOUND));
        }
}

static void test_hint(void)
{
        g_autoptr(RouteTable) table = route_table_new(lists, NULL);
        g_auto(UrlPath) path = { 0 };
        g_autoptr(GError) error = NULL;
        const char *allow = NULL;

        g_assert_true(url_path_parse("/v1/jbs", 7, &path, NULL));
        g_assert_null(route_find(table, "GET", &path, &allow, &error));
        g_assert_cmpstr(error->message, ==,
                        "no such route: 'GET /v1/jbs'\nGET /v1/openapi.json lists what there is.");
}

static void test_bad_tables(void)
{
        static const char *const paths[] = { "v1", "/v1//x", "/{", "/{}", "/a{b}", "/{a...}/b", "/b}" };
        static const HttpRoute twice[] = { { "GET", "/{a}" }, { "GET", "/{b}" }, { 0 } };
        const HttpRoute *const twice_list[] = { twice, NULL };
        g_autoptr(GError) error = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
                const HttpRoute one[] = { { "GET", paths[i] }, { 0 } };
                const HttpRoute *const list[] = { one, NULL };

                g_assert_null(route_table_new(list, NULL));
        }
        g_assert_null(route_table_new(twice_list, &error));
        g_assert_cmpstr(error->message, ==, "route 'GET /{b}' is the same as 'GET /{a}'");
}

/* Of a face: text goes first for the methods it serves, and HEAD is a method like any other. */
static void test_exact(void)
{
        static const HttpRoute of_face[] = {
                { "GET", "/c/all" }, { "POST", "/c/all" }, { "GET", "/c/{x}" }, { "DELETE", "/c/{x}" }, { 0 },
        };
        static const struct {
                const char *method, *path, *route, *allow;
        } cases[] = {
                { "GET", "/c/all", "/c/all", NULL },       { "POST", "/c/all", "/c/all", NULL },
                { "DELETE", "/c/all", "/c/{x}", NULL },    { "GET", "/c/one", "/c/{x}", NULL },
                { "PUT", "/c/all", NULL, "GET, POST" },    { "PUT", "/c/one", NULL, "GET, DELETE" },
                { "HEAD", "/c/one", NULL, "GET, DELETE" }, { "GET", "/c", NULL, NULL },
        };
        g_autoptr(RouteTable) table = route_table_new_exact(of_face, NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(UrlPath) path = { 0 };
                const char *allow = NULL;

                g_assert_true(url_path_parse_exact(cases[i].path, strlen(cases[i].path), &path, NULL));
                const RouteEntry *entry = route_find(table, cases[i].method, &path, &allow, NULL);
                g_assert_cmpstr(entry ? entry->route->path : NULL, ==, cases[i].route);
                g_assert_cmpstr(allow, ==, cases[i].allow);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/route/find", test_find);
        g_test_add_func("/net/route/exact", test_exact);
        g_test_add_func("/net/route/hint", test_hint);
        g_test_add_func("/net/route/bad-tables", test_bad_tables);
        return g_test_run();
}
