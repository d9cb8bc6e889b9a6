/* Requests to a builder's proxy, and which of them are allowed. */
#include "agent/allow.h"

#include <string.h>

#include "base/err.h"

static void test_list(void)
{
        static const struct {
                const char *list, *host;
                int port;
                bool has;
        } cases[] = {
                { "pypi.org:443", "pypi.org", 443, true },
                { "pypi.org:443", "pypi.org", 80, false },
                { "pypi.org:443", "evil.org", 443, false },
                { "pypi.org:443", "xpypi.org", 443, false },
                { "pypi.org:443", "pypi.org.evil.org", 443, false },
                { "pypi.org", "pypi.org", 80, true },
                { "pypi.org", "pypi.org", 443, true },
                { "pypi.org", "pypi.org", 8080, false },
                { "a:1,,  B.Example.com:2", "b.example.com", 2, true },
                { "*.example.com", "a.b.example.com", 443, true },
                { "*.example.com", "example.com", 443, false },
                { "*.example.com", "badexample.com", 443, false },
                { "[::1]:8080", "::1", 8080, true },
                { "127.0.0.1:3141", "127.0.0.1", 3141, true },
                { "127.0.0.1:3141", "127.0.0.1", 3142, false },
                { "nonsense:port,[x", "nonsense", 80, false },
                { "", "a", 80, false },
                { NULL, "a", 80, false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_test_message("%s: %s:%d", cases[i].list, cases[i].host, cases[i].port);
                g_assert_true(allow_list_has(cases[i].list, cases[i].host, cases[i].port) == cases[i].has);
        }
}

static void test_ask(void)
{
        static const struct {
                const char *head, *host;
                int port;
                const char *path, *headers; /* host NULL: it is refused */
        } cases[] = {
                { "CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n", "pypi.org", 443, NULL, "" },
                { "CONNECT PyPI.org.:443 HTTP/1.0\r\n\r\n", "pypi.org", 443, NULL, "" },
                { "CONNECT [::1]:8 HTTP/1.1\r\n\r\n", "::1", 8, NULL, "" },
                { "GET http://a/x?y HTTP/1.1\r\nHost: other\r\nAccept: b\r\nProxy-Connection: "
                  "k\r\nconnection: c\r\n\r\n",
                  "a", 80, "/x?y", "Accept: b\r\n" },
                { "GET http://a:81 HTTP/1.1\r\n\r\n", "a", 81, "/", "" },
                { "GET http://a?q HTTP/1.1\r\n\r\n", "a", 80, "/?q", "" },
                { "HEAD http://a/ HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "a", 80, "/",
                  "Content-Length: 0\r\n" },
                { "GET http://a/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" },
                { "POST http://a/ HTTP/1.1\r\n\r\n" },
                { "GET http://a/\tHTTP/1.1\nHost:a\n\nGET\thttp://b/ HTTP/1.1\r\n\r\n" },
                { "GET http://a/\rx HTTP/1.1\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\nHost : b\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\nTransfer-Encoding\t: chunked\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\n: x\r\n\r\n" },
                { "GET / HTTP/1.1\r\nHost: a\r\n\r\n" },
                { "GET https://a/ HTTP/1.1\r\n\r\n" },
                { "GET file:///etc/passwd HTTP/1.1\r\n\r\n" },
                { "GET http://ok@evil/ HTTP/1.1\r\n\r\n" },
                { "GET http://ok\\@evil/ HTTP/1.1\r\n\r\n" },
                { "GET http:///x HTTP/1.1\r\n\r\n" },
                { "CONNECT a HTTP/1.1\r\n\r\n" },
                { "CONNECT a:0 HTTP/1.1\r\n\r\n" },
                { "CONNECT a:65536 HTTP/1.1\r\n\r\n" },
                { "CONNECT a:4x HTTP/1.1\r\n\r\n" },
                { "CONNECT a:1:2 HTTP/1.1\r\n\r\n" },
                { "CONNECT a/b:1 HTTP/1.1\r\n\r\n" },
                { "CONNECT a:1 HTTP/2\r\n\r\n" },
                { "CONNECT a:1\r\n\r\n" },
                { "GET http://a/ b HTTP/1.1\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\nA: b\rX: y\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\nA: b\nX: y\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\n folded: y\r\n\r\n" },
                { "GET http://a/ HTTP/1.1\r\nno header\r\n\r\n" },
                { "\r\n\r\n" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(AllowAsk) ask = { 0 };
                g_autoptr(GError) error = NULL;
                bool ok = allow_ask_parse(cases[i].head, strlen(cases[i].head), &ask, &error);

                g_test_message("%s", cases[i].head);
                g_assert_true(ok == (cases[i].host != NULL));
                g_assert_true(ok == (error == NULL));
                g_assert_cmpstr(ask.host, ==, cases[i].host);
                g_assert_cmpint(ask.port, ==, cases[i].port);
                g_assert_cmpstr(ask.path, ==, cases[i].path);
                g_assert_cmpstr(ask.headers, ==, cases[i].headers);
        }
}

static void test_direct(void)
{
        static const struct {
                const char *no_proxy, *host;
                bool direct;
        } cases[] = {
                { NULL, "a", false },   { "*", "a", true },
                { "a.b", "a.b", true }, { "a.b, .c", "x.c", true },
                { "*.c", "x.c", true }, { "c", "xc", false },
                { ",,", "a", false },   { "127.0.0.1", "127.0.0.1", true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(allow_is_direct(cases[i].no_proxy, cases[i].host) == cases[i].direct);
}

static void test_proxy(void)
{
        static const struct {
                const char *url, *host;
                int port;
                const char *authorization;
        } cases[] = {
                { "http://p:3128", "p", 3128, NULL },
                { "p:3128/", "p", 3128, NULL },
                { "http://P", "p", 80, NULL },
                { "http://u:s%20x@p:1", "p", 1, "Basic dTpzIHg=" },
                { "socks5://p:1" },
                { "https://p" },
                { "http://" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(AllowProxy) proxy = { 0 };
                bool ok = allow_proxy_parse(cases[i].url, &proxy, NULL);

                g_test_message("%s", cases[i].url);
                g_assert_true(ok == (cases[i].host != NULL));
                g_assert_cmpstr(proxy.host, ==, cases[i].host);
                g_assert_cmpint(proxy.port, ==, cases[i].port);
                g_assert_cmpstr(proxy.authorization, ==, cases[i].authorization);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/allow/list", test_list);
        g_test_add_func("/allow/ask", test_ask);
        g_test_add_func("/allow/direct", test_direct);
        g_test_add_func("/allow/proxy", test_proxy);
        return g_test_run();
}
