/* Replies as bytes, cut in all ways: what they mean, and which are refused. */
#include "net/reply-parser.h"

#include <string.h>

#include "base/err.h"

static const struct {
        const char *bytes;
        bool head_only;
        int status; /* 0: refused */
        const char *body;
        bool keeps;
} cases[] = {
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false, 200, "abc", true },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", false, 200, "abc", true },
        { "HTTP/1.1 204 No Content\r\n\r\n", false, 204, "", true },
        { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false, 200, "", false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, CLOSE\r\n\r\n", false, 200, "", false },
        { "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, 200, "a", false },
        { "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\na", false, 200, "a", true },
        { "HTTP/1.1 200 OK\r\n\r\nto the end", false, 200, "to the end", false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, 200, "", true },
        { "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nz", false, 201, "z",
          true },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n", false,
          200, "abcde", true },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n",
          false, 200, "0123456789", true },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n", false, 0, NULL,
          false },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", false, 0, NULL, false },
        { "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", false, 0, NULL, false },
        { "HTTP/1.1 2x0 OK\r\n\r\n", false, 0, NULL, false },
        { "HTTP/1.1 2000 OK\r\n\r\n", false, 0, NULL, false },
        { "SSH-2.0-OpenSSH_9.2p1 Debian\r\n", false, 0, NULL, false },
        { "", false, 0, NULL, false },
};

static bool parse(const char *bytes, gsize len, gsize step, ReplyParser *parser, GError **error)
{
        for (gsize at = 0; at < len; at += step) {
                gsize part = MIN(step, len - at), used;

                if (!reply_parser_feed(parser, bytes + at, part, &used, error))
                        return false;
                if (used < part)
                        break;
        }
        return reply_parser_end(parser, error);
}

static void test_replies(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (gsize step = 1; step <= strlen(cases[i].bytes) + 1; step++) {
                        HttpCall call = { .method = "GET" };
                        g_auto(HttpReply) reply = { 0 };
                        Exchange exchange = { .call = &call, .reply = &reply };
                        g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, cases[i].head_only);
                        g_autoptr(GError) error = NULL;
                        bool ok = parse(cases[i].bytes, strlen(cases[i].bytes), step, parser, &error);

                        g_assert_cmpint(ok, ==, cases[i].status != 0);
                        if (!ok) {
                                g_assert_true(err_is(error, ERR_UNAVAILABLE));
                                continue;
                        }
                        g_assert_cmpint(reply.status, ==, cases[i].status);
                        g_assert_cmpstr(reply.body->str, ==, cases[i].body);
                        g_assert_cmpint(reply_parser_keeps(parser), ==, cases[i].keeps);
                }
}

static void test_headers(void)
{
        static const char bytes[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A:  1 \r\nx-a: "
                                    "2\r\nContent-Length: 0\r\n\r\n";
        HttpCall call = { .method = "GET" };
        g_auto(HttpReply) reply = { 0 };
        Exchange exchange = { .call = &call, .reply = &reply };
        g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, false);

        g_assert_true(parse(bytes, strlen(bytes), 7, parser, NULL));
        g_assert_cmpstr(reply.type, ==, "text/plain");
        g_assert_cmpstr(g_hash_table_lookup(reply.headers, "x-a"), ==, "1, 2");
}

/* Neither one long line nor many short ones, nor interim replies without end, make the client hold more than
 * its bound. */
static void test_bounds(void)
{
        static const char *const pieces[] = { "x", "a: b\r\n", "\r\nHTTP/1.1 100 Continue\r\n" };

        for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
                HttpCall call = { .method = "GET" };
                g_auto(HttpReply) reply = { 0 };
                Exchange exchange = { .call = &call, .reply = &reply };
                g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, false);
                g_autoptr(GError) error = NULL;
                gsize used, total = 0;

                g_assert_true(reply_parser_feed(parser, "HTTP/1.1 100 Continue\r\n",
                                                strlen("HTTP/1.1 100 Continue\r\n"), &used, NULL));
                while (reply_parser_feed(parser, pieces[i], strlen(pieces[i]), &used, &error))
                        g_assert_cmpuint(total += used, <=, 4 * REPLY_HEAD_MAX);
                g_assert_true(err_is(error, ERR_UNAVAILABLE));
        }
}

static void test_body_max(void)
{
        static const char bytes[] = "HTTP/1.1 200 OK\r\n\r\n0123456789";
        HttpCall call = { .method = "GET", .body_max = 9 };
        g_auto(HttpReply) reply = { 0 };
        Exchange exchange = { .call = &call, .reply = &reply };
        g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, false);
        g_autoptr(GError) error = NULL;

        g_assert_false(parse(bytes, strlen(bytes), 4, parser, &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/net/reply-parser/replies", test_replies);
        g_test_add_func("/net/reply-parser/headers", test_headers);
        g_test_add_func("/net/reply-parser/bounds", test_bounds);
        g_test_add_func("/net/reply-parser/body-max", test_body_max);
        return g_test_run();
}
