/* The server as raw sockets see it: dispatch, bodies, limits, deadlines, deferred replies, and its end. */
#include "net/server.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "net/test/fixture.h"

typedef struct {
        HttpServer *server;
        int port;
        char *dir, *socket_path;
        Channel deferred; /* HttpRequest */
        char *last_file;  /* the path of the last HTTP_BODY_FILE */
} Fixture;

/* ---- Handlers ---- */

static void echo(HttpRequest *request, void *arg)
{
        const char *q = http_request_query(request, "q"), *header = http_request_header(request, "x-test");
        g_autoptr(json_t) value = json_pack("{s:s, s:s?, s:s?, s:s?}", "a", http_request_param(request, "a"),
                                            "b", http_request_param(request, "b"), "q", q, "header", header);

        http_reply_header(request, "X-Own", "1\r\nForged: 1");
        http_reply_json(request, 200, value);
}

static void files(HttpRequest *request, void *arg)
{
        const char *path = http_request_param(request, "path");

        http_reply(request, 200, "text/plain", path, strlen(path));
}

static void count_body(HttpRequest *request, void *arg)
{
        gsize len;
        (void)http_request_body(request, &len);
        g_autofree char *text = g_strdup_printf("%" G_GSIZE_FORMAT, len);

        http_reply(request, 200, "text/plain", text, strlen(text));
}

static void count_file(HttpRequest *request, void *arg)
{
        Fixture *fixture = arg;
        struct stat status;

        g_assert_cmpint(stat(http_request_body_file(request), &status), ==, 0);
        g_assert_cmpint(status.st_mode & 0777, ==, 0600);
        g_free(fixture->last_file);
        fixture->last_file = g_strdup(http_request_body_file(request));
        if (http_request_query(request, "keep")) {
                g_autofree char *kept = g_strconcat(fixture->last_file, ".kept", NULL);

                g_assert_cmpint(g_rename(fixture->last_file, kept), ==, 0);
        }
        g_autofree char *text = g_strdup_printf("%ld", (long)status.st_size);
        http_reply(request, 200, "text/plain", text, strlen(text));
}

static void need_json(HttpRequest *request, void *arg)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);

        if (body)
                http_reply_json(request, 200, body);
        else
                http_fail(request, error);
}

static void send_file(HttpRequest *request, void *arg)
{
        Fixture *fixture = arg;
        g_autofree char *path = g_build_filename(fixture->dir, "digits", NULL);

        http_reply_file(request, path, -1, 10, 100, "text/plain"); /* the bytes 10 to 109 of a longer file */
}

static void missing_file(HttpRequest *request, void *arg)
{
        http_reply_file(request, "/nonexistent", -1, 0, 1, NULL);
}

static void who(HttpRequest *request, void *arg)
{
        const HttpCaller *caller = http_request_caller(request);
        g_autofree char *text = g_strdup_printf("%s %d", caller->user ? caller->user : "-", caller->admin);

        http_reply(request, 200, "text/plain", text, strlen(text));
}

static void integer(HttpRequest *request, void *arg)
{
        gint64 n;

        if (!http_request_query_int(request, "n", 1, 100, 7, &n))
                return;
        g_autofree char *text = g_strdup_printf("%d", (int)n);
        http_reply(request, 200, "text/plain", text, strlen(text));
}

static void defer(HttpRequest *request, void *arg)
{
        Fixture *fixture = arg;

        channel_push(&fixture->deferred, http_request_ref(request));
}

static void forget(HttpRequest *request, void *arg)
{
}

static void twice(HttpRequest *request, void *arg)
{
        http_reply(request, 200, "text/plain", "first", 5);
        http_reply(request, 500, "text/plain", "second", 6);
}

static const HttpRoute routes[] = {
        { "GET", "/echo/{a}/{b}", .handler = echo },
        { "GET", "/files/{path...}", .handler = files },
        { "POST", "/memory", .body_max = 4 << 20, .handler = count_body },
        { "POST", "/small", .body_max = 1000, .handler = count_body },
        { "POST", "/file", .body = HTTP_BODY_FILE, .body_max = 8 << 20, .handler = count_file },
        { "POST", "/json", .body_max = 1000, .handler = need_json },
        { "POST", "/none", .handler = who },
        { "GET", "/digits", .handler = send_file },
        { "GET", "/missing", .handler = missing_file },
        { "GET", "/who", .kind = HTTP_USER, .handler = who },
        { "POST", "/known", .kind = HTTP_USER, .body_max = 1 << 20, .handler = count_body },
        { "POST", "/known-file", .kind = HTTP_USER, .body = HTTP_BODY_FILE, .body_max = 8 << 20,
          .handler = count_file },
        { "GET", "/admin", .kind = HTTP_ADMIN, .handler = who },
        { "GET", "/nobody", .kind = HTTP_NOBODY, .handler = who },
        { "GET", "/int", .handler = integer },
        { "GET", "/defer", .handler = defer },
        { "GET", "/forget", .handler = forget },
        { "GET", "/twice", .handler = twice },
        { 0 },
};

static bool authenticate(const char *authorization, uid_t uid, const char *address, char **ret_user,
                         HttpRight *ret_right, void *arg, GError **error)
{
        if (uid != (uid_t)-1) {
                g_assert_cmpstr(address, ==, "unix");
                *ret_user = g_strdup_printf("uid-%u", uid);
                ret_right->admin = true;
                return true;
        }
        g_assert_cmpstr(address, ==, "127.0.0.1");
        if (g_strcmp0(authorization, "Bearer ann") != 0)
                return err_set(error, ERR_UNAUTHENTICATED, "no such token\nAsk an administrator.");
        *ret_user = g_strdup("ann");
        return true;
}

/* The kinds of these routes are who may reach them. */
static HttpAccess by_kind(const HttpRoute *route, const HttpRequest *request, void *arg)
{
        return (HttpAccess)route->kind;
}

static void set_up(Fixture *fixture, const HttpServerConfig *config)
{
        HttpServerConfig own = *config;
        g_autofree char *path = NULL;
        GString *text = g_string_new(NULL);

        fixture->dir = g_dir_make_tmp("net-XXXXXX", NULL);
        fixture->socket_path = g_build_filename(fixture->dir, "s.sock", NULL);
        channel_init(&fixture->deferred);
        path = g_build_filename(fixture->dir, "digits", NULL);
        for (int i = 0; i < 30; i++)
                g_string_append_printf(text, "%010d", i);
        g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
        g_string_free(text, TRUE);
        own.listen = "127.0.0.1:0";
        own.socket_path = fixture->socket_path;
        own.temp_dir = fixture->dir;
        own.authenticate = authenticate;
        own.access = by_kind;
        fixture->server = start_server(&own, routes, fixture);
        fixture->port = http_server_port(fixture->server);
        g_assert_cmpint(fixture->port, >, 0);
}

static void tear_down(Fixture *fixture)
{
        http_server_free(fixture->server);
        g_assert_false(g_file_test(fixture->socket_path, G_FILE_TEST_EXISTS));
        g_assert_true(file_remove_tree(fixture->dir, NULL));
        channel_clear(&fixture->deferred);
        g_free(fixture->socket_path);
        g_free(fixture->last_file);
        g_free(fixture->dir);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, tear_down)

#define CLOSE "Connection: close\r\n\r\n"

/* ---- What comes back for what ---- */

static const struct {
        const char *request;
        int status;
        const char *has; /* in the reply */
} exchanges[] = {
        { "GET /echo/1/2 HTTP/1.1\r\nHost: x\r\n" CLOSE, 200,
          "{\"a\":\"1\",\"b\":\"2\",\"q\":null,\"header\":null}" },
        { "GET /echo/a%20b/c%2Fd/?q=x+y HTTP/1.1\r\nHost: x\r\nX-Test: h\r\n" CLOSE, 200,
          "{\"a\":\"a b\",\"b\":\"c/d\",\"q\":\"x y\",\"header\":\"h\"}" },
        { "GET /echo/1/2 HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "X-Own: 1  Forged: 1\r\n" },
        { "GET /files/a/b%20c/d/ HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "\r\n\r\na/b c/d" },
        { "GET /files HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "Content-Length: 0\r\n" },
        { "GET /files/%2e%2e/x HTTP/1.1\r\nHost: x\r\n" CLOSE, 400, "'..'" },
        { "GET /echo/%zz/b HTTP/1.1\r\nHost: x\r\n" CLOSE, 400, "\"code\":\"invalid\"" },
        { "GET /echo/a/b?q=% HTTP/1.1\r\nHost: x\r\n" CLOSE, 400, "\"code\":\"invalid\"" },
        { "GET /nope HTTP/1.1\r\nHost: x\r\n" CLOSE, 404, "no such route: 'GET /nope'" },
        { "GET /nope HTTP/1.1\r\nHost: x\r\n" CLOSE, 404, "\"request_id\":\"" },
        { "GET /nope HTTP/1.1\r\nHost: x\r\n" CLOSE, 404, "X-Request-Id: " },
        { "PATCH /digits HTTP/1.1\r\nHost: x\r\n" CLOSE, 405, "Allow: GET, HEAD\r\n" },
        { "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" CLOSE "abc", 200, "\r\n\r\n3" },
        { "POST /small HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "\r\n\r\n0" },
        { "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" CLOSE
          "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
          200, "\r\n\r\n5" },
        { "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n" CLOSE, 400, "" },
        { "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n" CLOSE, 400, "" },
        { "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" CLOSE "abc", 400, "takes no body" },
        { "POST /none HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" CLOSE "3\r\nabc\r\n0\r\n\r\n",
          400, "takes no body" },
        { "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" CLOSE, 200, "\r\n\r\n- 0" },
        { "POST /file HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" CLOSE "abc", 200, "\r\n\r\n3" },
        { "POST /file HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "\r\n\r\n0" },
        { "POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n" CLOSE "{\"a\":1}", 200, "{\"a\":1}" },
        { "POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n" CLOSE "[]", 400, "not a JSON object" },
        { "POST /json HTTP/1.1\r\nHost: x\r\n" CLOSE, 400, "the body is empty" },
        { "GET /missing HTTP/1.1\r\nHost: x\r\n" CLOSE, 404, "/nonexistent" },
        { "GET /int HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "\r\n\r\n7" },
        { "GET /int?n=100 HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "\r\n\r\n100" },
        { "GET /int?n=101 HTTP/1.1\r\nHost: x\r\n" CLOSE, 400, "'101'" },
        { "GET /int?n=-1 HTTP/1.1\r\nHost: x\r\n" CLOSE, 400, "'-1'" },
        { "GET /forget HTTP/1.1\r\nHost: x\r\n" CLOSE, 500, "without an answer" },
        { "GET /twice HTTP/1.1\r\nHost: x\r\n" CLOSE, 200, "\r\n\r\nfirst" },
        { "GET /who HTTP/1.1\r\nHost: x\r\n" CLOSE, 401, "WWW-Authenticate: Bearer\r\n" },
        { "GET /who HTTP/1.1\r\nHost: x\r\n" CLOSE, 401, "\"hint\":\"Ask an administrator.\"" },
        { "GET /who HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\n" CLOSE, 200, "\r\n\r\nann 0" },
        { "GET /nobody HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\n" CLOSE, 403,
          "no access rule for" },
        { "GET /admin HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\n" CLOSE, 403,
          "\"code\":\"denied\"" },
        { "nonsense\r\n\r\n", 400, "" },
        { "GET / HTTP/1.1\r\nbroken\r\n\r\n", 400, "" },
};

static void test_exchanges(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        for (gsize i = 0; i < G_N_ELEMENTS(exchanges); i++) {
                g_autofree char *reply = raw_ask(fixture.port, exchanges[i].request);

                if (!*reply && !*exchanges[i].has)
                        continue; /* some that is no HTTP at all is only hung up on */
                if (status_of(reply) != exchanges[i].status || !strstr(reply, exchanges[i].has))
                        g_error("%s\n-- got --\n%s", exchanges[i].request, reply);
        }
}

static void test_head(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        g_autofree char *reply = raw_ask(fixture.port, "HEAD /digits HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_assert_cmpint(status_of(reply), ==, 200);
        g_assert_nonnull(strstr(reply, "Content-Length: 100\r\n"));
        g_assert_true(g_str_has_suffix(reply, "\r\n\r\n"));
}

static void test_range(void)
{
        static const struct {
                const char *range;
                int status;
                const char *content_range, *body;
        } cases[] = {
                { "bytes=0-4", 206, "bytes 0-4/100", "00000" },
                { "bytes=9-9", 206, "bytes 9-9/100", "1" },
                { "bytes=95-", 206, "bytes 95-99/100", "00010" },
                { "bytes=-3", 206, "bytes 97-99/100", "010" },
                { "bytes=98-1000", 206, "bytes 98-99/100", "10" },
                { "bytes=-1000", 206, "bytes 0-99/100", NULL },
                { "bytes=100-", 416, "bytes */100", NULL },
                { "bytes=-0", 416, "bytes */100", NULL },
                { "bytes=5-3", 200, NULL, NULL },
                { "bytes=0-1,4-5", 200, NULL, NULL },
                { "bytes=-", 200, NULL, NULL },
                { "bytes=x-1", 200, NULL, NULL },
                { "lines=0-4", 200, NULL, NULL },
                { "bytes=99999999999999999999-", 200, NULL, NULL },
        };
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *request =
                        g_strdup_printf("GET /digits HTTP/1.1\r\nHost: x\r\nRange: %s\r\n" CLOSE,
                                        cases[i].range);
                g_autofree char *reply = raw_ask(fixture.port, request);
                const char *content_range = strstr(reply, "Content-Range: ");

                g_assert_cmpint(status_of(reply), ==, cases[i].status);
                g_assert_cmpint(content_range != NULL, ==, cases[i].content_range != NULL);
                if (content_range)
                        g_assert_true(g_str_has_prefix(content_range + 15, cases[i].content_range));
                if (cases[i].body)
                        g_assert_cmpstr(strstr(reply, "\r\n\r\n") + 4, ==, cases[i].body);
        }
}

static void test_keep_alive_and_pipelining(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        fd_auto int fd = raw_connect(fixture.port);
        for (int i = 0; i < 3; i++) {
                raw_say(fd, "GET /int?n=5 HTTP/1.1\r\nHost: x\r\n\r\n");
                g_autofree char *reply = raw_reply(fd, true);
                g_assert_true(g_str_has_suffix(reply, "\r\n\r\n5"));
        }
        raw_say(fd, "GET /int?n=1 HTTP/1.1\r\nHost: x\r\n\r\nGET /int?n=2 HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_autofree char *rest = raw_rest(fd);
        g_assert_nonnull(strstr(rest, "\r\n\r\n1HTTP/1.1 200"));
        g_assert_true(g_str_has_suffix(rest, "\r\n\r\n2"));
}

/* ---- Bodies ---- */

static char *ask_body(int port, const char *head, gsize len)
{
        fd_auto int fd = raw_connect(port);
        g_autofree char *body = g_strnfill(len, 'x');

        raw_say(fd, head);
        (void)raw_send(fd, body, len);
        return raw_rest(fd);
}

static void test_large_bodies(void)
{
        static const struct {
                const char *head;
                gsize len;
                int status;
                const char *has;
        } cases[] = {
                { "POST /memory HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\n" CLOSE, 4194304, 200,
                  "\r\n\r\n4194304" },
                { "POST /memory HTTP/1.1\r\nHost: x\r\nContent-Length: 4194305\r\n" CLOSE, 4194305, 413,
                  "4.0 MiB" },
                { "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n" CLOSE, 1001, 413,
                  "\"code\":\"too_large\"" },
                { "POST /file HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n" CLOSE, 8388608, 200,
                  "\r\n\r\n8388608" },
                { "POST /file HTTP/1.1\r\nHost: x\r\nContent-Length: 8388609\r\n" CLOSE, 8388609, 413,
                  "too_large" },
                { "POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n" CLOSE, 9000000, 404,
                  "not_found" },
        };
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *reply = ask_body(fixture.port, cases[i].head, cases[i].len);

                g_assert_cmpint(status_of(reply), ==, cases[i].status);
                g_assert_nonnull(strstr(reply, cases[i].has));
        }
        wait_metric(fixture.server, body_bytes, ==, 0);
}

/* A chunked body shows its size only as it comes: the answer comes in its middle, over the limit, and after
 * what may be thrown away. */
static void test_endless_chunks(void)
{
        g_auto(Fixture) fixture = { 0 };
        g_autofree char *much = g_strnfill(65536, 'x');

        set_up(&fixture, &(HttpServerConfig){ 0 });
        fd_auto int fd = raw_connect(fixture.port);
        raw_say(fd, "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int i = 0; i < 40; i++) /* 2.5 MiB: more than is thrown away for a kept connection */
                if (!raw_send(fd, "10000\r\n", 7) || !raw_send(fd, much, 65536) || !raw_send(fd, "\r\n", 2))
                        break;
        g_autofree char *reply = raw_rest(fd);
        g_assert_cmpint(status_of(reply), ==, 413);
}

/* A refused body that is small enough is read to its end, and the connection stays. */
static void test_refused_and_kept(void)
{
        g_auto(Fixture) fixture = { 0 };
        g_autofree char *body = g_strnfill(2000, 'x');

        set_up(&fixture, &(HttpServerConfig){ 0 });
        fd_auto int fd = raw_connect(fixture.port);
        raw_say(fd, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n");
        g_assert_true(raw_send(fd, body, 2000));
        g_autofree char *refused = raw_reply(fd, true);
        g_assert_cmpint(status_of(refused), ==, 413);
        raw_say(fd, "GET /int HTTP/1.1\r\nHost: x\r\n\r\n");
        g_autofree char *reply = raw_reply(fd, true);
        g_assert_cmpint(status_of(reply), ==, 200);
}

static void test_expect(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        fd_auto int good = raw_connect(fixture.port);
        g_autoptr(GString) text = g_string_new(NULL);
        raw_say(good,
                "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n" CLOSE);
        raw_until(good, text, "HTTP/1.1 100 Continue\r\n\r\n");
        raw_say(good, "abc");
        raw_until(good, text, "\r\n\r\n3");

        fd_auto int bad = raw_connect(fixture.port);
        raw_say(bad,
                "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\nExpect: 100-continue\r\n\r\n");
        g_autofree char *reply = raw_rest(bad); /* nothing was sent, nothing is waited for */
        g_assert_cmpint(status_of(reply), ==, 413);
}

static void test_body_file_goes(void)
{
        g_auto(Fixture) fixture = { 0 };
        g_autofree char *first = NULL, *second = NULL;

        set_up(&fixture, &(HttpServerConfig){ 0 });
        first = raw_ask(fixture.port, "POST /file HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" CLOSE "abc");
        wait_metric(fixture.server, requests, ==, 1);
        g_assert_false(g_file_test(fixture.last_file, G_FILE_TEST_EXISTS));
        second = raw_ask(fixture.port,
                         "POST /file?keep=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n" CLOSE "abc");
        wait_metric(fixture.server, requests, ==, 2);
        g_autofree char *kept = g_strconcat(fixture.last_file, ".kept", NULL);
        g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
}

static void test_bytes_in_flight(void)
{
        g_auto(Fixture) fixture = { 0 };
        g_autofree char *part = g_strnfill(60000, 'x');

        set_up(&fixture, &(HttpServerConfig){ .body_bytes_max = 100000 });
        fd_auto int holder = raw_connect(fixture.port);
        raw_say(holder, "POST /memory HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n");
        g_assert_true(raw_send(holder, part, 60000));
        wait_metric(fixture.server, body_bytes, ==, 60000);
        g_autofree char *announced =
                ask_body(fixture.port, "POST /memory HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n" CLOSE,
                         60000);
        g_assert_cmpint(status_of(announced), ==, 503);
        g_assert_nonnull(strstr(announced, "Retry-After: "));
        fd_auto int chunked = raw_connect(fixture.port);
        raw_say(chunked, "POST /memory HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nEA60\r\n");
        g_assert_true(raw_send(chunked, part, 60000));
        raw_say(chunked, "\r\n0\r\n\r\n");
        g_autofree char *grown = raw_reply(chunked, true);
        g_assert_cmpint(status_of(grown), ==, 503);
        g_assert_true(raw_send(holder, part, 10000));
        g_autofree char *reply = raw_reply(holder, true);
        g_assert_cmpint(status_of(reply), ==, 200);
        wait_metric(fixture.server, body_bytes, ==, 0);
}

/* A body that does not come to its end: of `path`, with so many bytes of it. */
static int hold_body(int port, const char *path, const char *header, gsize len)
{
        g_autofree char *head =
                g_strdup_printf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %" G_GSIZE_FORMAT
                                "\r\n\r\n",
                                path, header, len + 1);
        g_autofree char *part = g_strnfill(len, 'x');
        int fd = raw_connect(port);

        raw_say(fd, head);
        g_assert_true(raw_send(fd, part, len));
        return fd;
}

/* Bodies are bounded for a user, for all callers that are not known, and for one holder among these. */
static void test_shares_of_bytes(void)
{
        static const char ann[] = "Authorization: Bearer ann\r\n";
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ .body_bytes_max = 300000,
                                              .user_bytes_max = 100000,
                                              .stranger_bytes_max = 80000 });
        fd_auto int user = hold_body(fixture.port, "/known", ann, 90000);
        wait_metric(fixture.server, body_bytes, ==, 90000);
        fd_auto int user_more = hold_body(fixture.port, "/known", ann, 20000);
        raw_say(user_more, "x");
        g_autofree char *refused = raw_reply(user_more, true);
        g_assert_cmpint(status_of(refused), ==, 503);
        g_assert_nonnull(strstr(refused, "requests of 'ann'"));

        fd_auto int stranger = hold_body(fixture.port, "/memory", "", 9000);
        wait_metric(fixture.server, body_bytes, ==, 99000);
        fd_auto int stranger_more = hold_body(fixture.port, "/memory", "", 2000); /* an eighth is 10,000 */
        raw_say(stranger_more, "x");
        g_autofree char *refused_too = raw_reply(stranger_more, true);
        g_assert_cmpint(status_of(refused_too), ==, 503);
        g_assert_nonnull(strstr(refused_too, "127.0.0.1"));

        raw_say(user, "x");
        g_autofree char *reply = raw_reply(user, true);
        g_assert_cmpint(status_of(reply), ==, 200);
        wait_metric(fixture.server, body_bytes, ==, 9000);
        raw_say(stranger, "x");
        g_autofree char *reply_too = raw_reply(stranger, true);
        g_assert_cmpint(status_of(reply_too), ==, 200);
        wait_metric(fixture.server, body_bytes, ==, 0);
}

typedef struct {
        atomic_int bytes, files, most_files;
} DiskHold;

static bool hold(const char *user, gint64 bytes, int files, void *arg, GError **error)
{
        DiskHold *held = arg;

        g_assert_cmpstr(user, ==, "ann");
        held->bytes += (int)bytes;
        held->files += files;
        held->most_files = MAX(held->most_files, held->files);
        return true;
}

static void release(const char *user, gint64 bytes, int files, void *arg)
{
        DiskHold *held = arg;

        held->bytes -= (int)bytes;
        held->files -= files;
}

/* However many pieces a body comes in, it is one file, and all of it is released with the answer. */
static void test_held_on_disk(void)
{
        static const struct {
                const char *head;
                bool chunked;
        } cases[] = {
                { "Content-Length: 3145728\r\n", false },
                { "Transfer-Encoding: chunked\r\n", true },
        };
        g_autofree char *piece = g_strnfill(1 << 20, 'x');

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                DiskHold held = { 0 };
                g_auto(Fixture) fixture = { 0 };

                set_up(&fixture, &(HttpServerConfig){ .hold = hold, .release = release, .hold_arg = &held });
                fd_auto int fd = raw_connect(fixture.port);
                raw_say(fd, "POST /known-file HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\n");
                raw_say(fd, cases[i].head);
                raw_say(fd, "\r\n");
                for (int n = 0; n < 3; n++) {
                        if (cases[i].chunked)
                                raw_say(fd, "100000\r\n");
                        g_assert_true(raw_send(fd, piece, 1 << 20));
                        if (cases[i].chunked)
                                raw_say(fd, "\r\n");
                }
                if (cases[i].chunked)
                        raw_say(fd, "0\r\n\r\n");
                g_autofree char *reply = raw_reply(fd, true);
                g_assert_cmpint(status_of(reply), ==, 200);
                g_assert_cmpint(held.bytes, ==, 0);
                g_assert_cmpint(held.files, ==, 0);
                g_assert_cmpint(held.most_files, ==, 1);
        }
}

/* A body that came fast may not stand still, and one of a caller who is not known ends in any case. */
static void test_standing_still(void)
{
        static const struct {
                HttpServerConfig config;
                const char *path, *header;
        } cases[] = {
                { { .body_grace_ms = 100, .body_min_rate = 100 }, "/known", "Authorization: Bearer ann\r\n" },
                { { .stranger_body_ms = 100 }, "/memory", "" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(Fixture) fixture = { 0 };

                set_up(&fixture, &cases[i].config);
                fd_auto int fd = hold_body(fixture.port, cases[i].path, cases[i].header, 100000);
                g_autofree char *reply = raw_rest(fd); /* an average of 100 bytes a second would be 1,000 s */
                g_assert_true(g_str_has_prefix(reply, "HTTP/1.1 408 "));
        }
}

/* ---- Slow clients ---- */

/* Sends one byte at a time until the server hangs up; what it said meanwhile. */
static char *drip(int fd, const char *text, char then)
{
        GString *out = g_string_new(NULL);

        raw_say(fd, text);
        for (;;) {
                struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

                if (poll(&poll_fd, 1, 20) == 1) {
                        if (!raw_more(fd, out))
                                return g_string_free(out, FALSE);
                } else {
                        (void)raw_send(fd, &then, 1);
                }
        }
}

static void test_slow(void)
{
        /* What has to arrive before the deadline, so that there is a 408 to it, has a later one. */
        static const struct {
                HttpServerConfig config;
                const char *text;
                char then;
                const char *reply;
        } cases[] = {
                { { .header_deadline_ms = 200 }, "GE", 'T', "" },
                { { .header_deadline_ms = 3000 }, "GET / HTTP/1.1\r\nA: ", 'x', "HTTP/1.1 408 " },
                { { .body_grace_ms = 200, .body_min_rate = 1000 },
                  "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n",
                  'x',
                  "HTTP/1.1 408 " },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(Fixture) fixture = { 0 };

                set_up(&fixture, &cases[i].config);
                fd_auto int fd = raw_connect(fixture.port);
                g_autofree char *reply = drip(fd, cases[i].text, cases[i].then);

                g_assert_true(g_str_has_prefix(reply, cases[i].reply));
                wait_metric(fixture.server, connections, ==, 0);
        }
}

/* Slow, but faster than the least rate: what comes first is enough for ten seconds. */
static void test_slow_enough(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ .body_grace_ms = 100, .body_min_rate = 1 });
        fd_auto int fd = raw_connect(fixture.port);
        raw_say(fd, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nxxxxxxxxxx");
        for (int i = 0; i < 30; i++) {
                raw_say(fd, "x");
                g_usleep(10000); /* the test's subject */
        }
        g_autofree char *reply = raw_reply(fd, true);
        g_assert_cmpint(status_of(reply), ==, 200);
}

static void test_connection_limit(void)
{
        g_auto(Fixture) fixture = { 0 };
        int fds[4];

        set_up(&fixture, &(HttpServerConfig){ .max_connections = 4 });
        for (int i = 0; i < 4; i++) {
                fds[i] = raw_connect(fixture.port);
                raw_say(fds[i], "GET /int HTTP/1.1\r\nHost: x\r\n\r\n");
                g_autofree char *reply = raw_reply(fds[i], true);
                g_assert_cmpint(status_of(reply), ==, 200);
        }
        g_autofree char *refused = raw_ask(fixture.port, "GET /int HTTP/1.1\r\nHost: x\r\n\r\n");
        g_assert_cmpint(status_of(refused), ==, 503);
        g_assert_nonnull(strstr(refused, "4 connections"));
        wait_metric(fixture.server, refused, ==, 1);
        for (int i = 0; i < 4; i++)
                close(fds[i]);
        wait_metric(fixture.server, connections, ==, 0);
        g_autofree char *reply = raw_ask(fixture.port, "GET /int HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_assert_cmpint(status_of(reply), ==, 200);
}

static int ask_on(int fd)
{
        raw_say(fd, "GET /int HTTP/1.1\r\nHost: x\r\n\r\n");
        g_autofree char *reply = raw_reply(fd, true);

        return status_of(reply);
}

/* Who reaches the port alone cannot keep out who reaches the socket. */
static void test_socket_share(void)
{
        g_auto(Fixture) fixture = { 0 };
        int fds[20], n = 0;

        set_up(&fixture, &(HttpServerConfig){ .max_connections = 16 });
        for (; n < 17; n++) {
                fds[n] = raw_connect(fixture.port);
                g_assert_cmpint(ask_on(fds[n]), ==, n < 14 ? 200 : 503);
        }
        for (; n < 20; n++) {
                fds[n] = raw_connect_unix(fixture.socket_path);
                g_assert_cmpint(ask_on(fds[n]), ==, n < 19 ? 200 : 503);
        }
        while (n > 0)
                close(fds[--n]);
        wait_metric(fixture.server, connections, ==, 0);
        for (; n < 16; n++) { /* all of them when nobody else is there */
                fds[n] = raw_connect_unix(fixture.socket_path);
                g_assert_cmpint(ask_on(fds[n]), ==, 200);
        }
        while (n > 0)
                close(fds[--n]);
}

/* ---- The Unix socket ---- */

static void test_unix(void)
{
        g_auto(Fixture) fixture = { 0 };
        struct stat status;

        set_up(&fixture, &(HttpServerConfig){ 0 });
        g_assert_cmpint(stat(fixture.socket_path, &status), ==, 0);
        g_assert_cmpint(status.st_mode & 0777, ==, geteuid() == 0 ? 0660 : 0600);
        fd_auto int fd = raw_connect_unix(fixture.socket_path);
        raw_say(fd, "GET /admin HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_autofree char *reply = raw_rest(fd), *want = g_strdup_printf("\r\n\r\nuid-%u 1", getuid());
        g_assert_true(g_str_has_suffix(reply, want));
}

static void test_listen_errors(void)
{
        g_auto(Fixture) fixture = { 0 };
        const HttpRoute *const list[] = { routes, NULL };
        g_autoptr(GError) taken = NULL, live = NULL, stale = NULL;

        set_up(&fixture, &(HttpServerConfig){ 0 });
        g_autofree char *listen = g_strdup_printf("127.0.0.1:%d", fixture.port);
        g_assert_null(http_server_new(&(HttpServerConfig){ .listen = listen }, list, NULL, &taken));
        g_assert_true(err_is(taken, ERR_EXISTS));
        g_assert_nonnull(strstr(taken->message, listen));
        g_assert_null(http_server_new(&(HttpServerConfig){ .socket_path = fixture.socket_path }, list, NULL,
                                      &live));
        g_assert_true(err_is(live, ERR_EXISTS));
        static const char *const bad[] = { "x",       ":80",      "127.0.0.1:x", "127.0.0.1:70000",
                                           "[::1:80", "127.0.0.1" };
        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(http_server_new(&(HttpServerConfig){ .listen = bad[i] }, list, NULL, &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }

        /* A socket left behind by a killed server is no obstacle. */
        g_autofree char *left = g_build_filename(fixture.dir, "left.sock", NULL);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        g_strlcpy(address.sun_path, left, sizeof address.sun_path);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        g_assert_cmpint(bind(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        close(fd);
        g_autoptr(HttpServer) server =
                http_server_new(&(HttpServerConfig){ .socket_path = left }, list, NULL, &stale);
        g_assert_no_error(stale);
        g_assert_nonnull(server);
}

/* ---- Deferred replies and the end ---- */

static gpointer answer_all(gpointer data)
{
        Channel *queue = data;

        for (;;) {
                HttpRequest *request = channel_pop(queue);

                if ((gpointer)request == (gpointer)queue)
                        return NULL;
                http_reply(request, 200, "text/plain", "late", 4);
                http_request_unref(request);
        }
}

/* Answers race with suspensions: none may be lost. */
static void test_deferred(void)
{
        g_auto(Fixture) fixture = { 0 };
        GThread *thread;
        int fds[8];

        set_up(&fixture, &(HttpServerConfig){ 0 });
        thread = g_thread_new("answer", answer_all, &fixture.deferred);
        for (int i = 0; i < 8; i++)
                fds[i] = raw_connect(fixture.port);
        for (int round = 0; round < 200; round++) {
                for (int i = 0; i < 8; i++)
                        raw_say(fds[i], "GET /defer HTTP/1.1\r\nHost: x\r\n\r\n");
                for (int i = 0; i < 8; i++) {
                        g_autofree char *reply = raw_reply(fds[i], true);
                        g_assert_true(g_str_has_suffix(reply, "\r\n\r\nlate"));
                }
        }
        for (int i = 0; i < 8; i++)
                close(fds[i]);
        channel_push(&fixture.deferred, &fixture.deferred);
        g_thread_join(thread);
        wait_metric(fixture.server, requests, ==, 1600);
        wait_metric(fixture.server, suspended, ==, 0);
}

/* ---- Records ---- */

typedef struct {
        int status;
        void (*done)(void *arg);
        void *arg;
} Held;

/* `arg` is a Channel of what waits. */
static bool record(const HttpRequest *request, int status, void (*done)(void *arg), void *done_arg, void *arg)
{
        Held *held;

        if (!done)
                return false;
        held = g_new(Held, 1);
        *held = (Held){ status, done, done_arg };
        channel_push(arg, held);
        return true;
}

static void let_go(Held *held)
{
        held->done(held->arg);
        g_free(held);
}

static gpointer record_all(gpointer data)
{
        Channel *queue = data;

        for (;;) {
                Held *held = channel_pop(queue);

                if ((gpointer)held == (gpointer)queue)
                        return NULL;
                let_go(held);
        }
}

/* Answers of handlers, at once or later, wait for their records, which race with suspensions; what is refused
 * before does not. */
static void test_recorded(void)
{
        g_auto(Fixture) fixture = { 0 };
        Channel records;
        GThread *answers, *recorder;
        int fds[8];

        channel_init(&records);
        set_up(&fixture, &(HttpServerConfig){ .record = record, .arg = &records });
        fds[0] = raw_connect(fixture.port);
        raw_say(fds[0], "GET /int HTTP/1.1\r\nHost: x\r\n" CLOSE);
        wait_metric(fixture.server, suspended, ==, 1); /* it was answered, and is held */
        let_go(channel_pop(&records));
        g_autofree char *late = raw_rest(fds[0]);
        g_assert_nonnull(strstr(late, "\r\n\r\n7"));
        close(fds[0]);
        fds[0] = raw_connect(fixture.port);
        raw_say(fds[0], "GET /who HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_autofree char *refused = raw_rest(fds[0]);
        g_assert_cmpint(status_of(refused), ==, 401);
        close(fds[0]);

        answers = g_thread_new("answer", answer_all, &fixture.deferred);
        recorder = g_thread_new("record", record_all, &records);
        for (int i = 0; i < 8; i++)
                fds[i] = raw_connect(fixture.port);
        for (int round = 0; round < 100; round++) {
                for (int i = 0; i < 8; i++)
                        raw_say(fds[i], i % 2 ? "GET /defer HTTP/1.1\r\nHost: x\r\n\r\n"
                                              : "GET /int HTTP/1.1\r\nHost: x\r\n\r\n");
                for (int i = 0; i < 8; i++) {
                        g_autofree char *reply = raw_reply(fds[i], true);
                        g_assert_true(g_str_has_suffix(reply, i % 2 ? "\r\n\r\nlate" : "\r\n\r\n7"));
                }
        }
        for (int i = 0; i < 8; i++)
                close(fds[i]);
        wait_metric(fixture.server, suspended, ==, 0);
        channel_push(&fixture.deferred, &fixture.deferred);
        g_thread_join(answers);
        channel_push(&records, &records);
        g_thread_join(recorder);
        channel_clear(&records);
}

/* A server that stops does not wait for records, and says what was done. */
static void test_stop_while_recording(void)
{
        Fixture fixture = { 0 };
        Channel records;
        Held *held[3];
        int fds[3];

        channel_init(&records);
        set_up(&fixture, &(HttpServerConfig){ .record = record, .arg = &records });
        for (int i = 0; i < 3; i++) {
                fds[i] = raw_connect(fixture.port);
                raw_say(fds[i], "GET /int HTTP/1.1\r\nHost: x\r\n\r\n");
                held[i] = channel_pop(&records);
        }
        wait_metric(fixture.server, suspended, ==, 3);
        let_go(held[0]);
        tear_down(&fixture);
        for (int i = 0; i < 3; i++) {
                g_autofree char *reply = raw_rest(fds[i]);

                g_assert_cmpint(status_of(reply), ==, 200);
                g_assert_nonnull(strstr(reply, "\r\n\r\n7"));
                close(fds[i]);
                if (i > 0)
                        let_go(held[i]); /* the server is gone */
        }
        channel_clear(&records);
}

typedef struct {
        gint written, freed;
} Writing;

static char *write_body(void *arg, gsize *ret_len)
{
        g_atomic_int_inc(&((Writing *)arg)->written);
        *ret_len = 5;
        return g_strdup("whole");
}

static void written_free(void *arg)
{
        g_atomic_int_inc(&((Writing *)arg)->freed);
}

/* A body that the worker writes when it sends it; nobody writes the one of a second answer. */
static void test_written(void)
{
        g_auto(Fixture) fixture = { 0 };
        Writing first = { 0 }, second = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        fd_auto int fd = raw_connect(fixture.port);
        raw_say(fd, "GET /defer HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_metric(fixture.server, suspended, ==, 1);
        HttpRequest *request = channel_pop(&fixture.deferred);
        http_reply_written(request, 201, "text/plain", write_body, &first, written_free);
        http_reply_written(request, 200, "text/plain", write_body, &second, written_free);
        http_request_unref(request);
        g_autofree char *reply = raw_reply(fd, true);
        g_assert_cmpint(status_of(reply), ==, 201);
        g_assert_true(g_str_has_suffix(reply, "\r\n\r\nwhole"));
        g_assert_cmpint(g_atomic_int_get(&first.written), ==, 1);
        g_assert_cmpint(g_atomic_int_get(&first.freed), ==, 1);
        g_assert_cmpint(g_atomic_int_get(&second.written), ==, 0);
        g_assert_cmpint(g_atomic_int_get(&second.freed), ==, 1);
}

/* The last to keep a request lets go of it without an answer. */
static void test_given_up(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        fd_auto int fd = raw_connect(fixture.port);
        raw_say(fd, "GET /defer HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_metric(fixture.server, suspended, ==, 1);
        http_request_unref(channel_pop(&fixture.deferred));
        g_autofree char *reply = raw_reply(fd, true);
        g_assert_cmpint(status_of(reply), ==, 500);
}

/* A client that left: the answer goes nowhere, and nothing breaks. */
static void test_client_left(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture, &(HttpServerConfig){ 0 });
        int fd = raw_connect(fixture.port);
        raw_say(fd, "GET /defer HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_metric(fixture.server, suspended, ==, 1);
        close(fd);
        HttpRequest *request = channel_pop(&fixture.deferred);
        http_reply(request, 200, "text/plain", "late", 4);
        wait_metric(fixture.server, connections, ==, 0);
        g_assert_null(http_request_header(request, "Host")); /* the connection is gone, the request is not */
        http_reply(request, 200, "text/plain", "again", 5);
        http_request_unref(request);
}

static void test_stop_while_waiting(void)
{
        Fixture fixture = { 0 };
        int fds[5];
        HttpRequest *requests[5];

        set_up(&fixture, &(HttpServerConfig){ 0 });
        for (int i = 0; i < 5; i++) {
                fds[i] = i % 2 ? raw_connect(fixture.port) : raw_connect_unix(fixture.socket_path);
                raw_say(fds[i], "GET /defer HTTP/1.1\r\nHost: x\r\n\r\n");
                requests[i] = channel_pop(&fixture.deferred);
        }
        fd_auto int idle = raw_connect(fixture.port);
        wait_metric(fixture.server, suspended, ==, 5);
        tear_down(&fixture);
        for (int i = 0; i < 5; i++) {
                g_autofree char *reply = raw_rest(fds[i]);

                g_assert_cmpint(status_of(reply), ==, 503);
                g_assert_nonnull(strstr(reply, "stopping"));
                close(fds[i]);
                http_reply(requests[i], 200, "text/plain", "late", 4); /* the server is gone */
                g_assert_null(http_stream(requests[i], &(HttpStream){ .type = "x" }));
                http_request_unref(requests[i]);
        }
}

static void test_metrics(void)
{
        g_auto(Fixture) fixture = { 0 };
        HttpMetrics metrics;
        gint64 sum = 0;

        set_up(&fixture, &(HttpServerConfig){ 0 });
        g_autofree char *good = raw_ask(fixture.port, "GET /int HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_autofree char *bad = raw_ask(fixture.port, "GET /nope HTTP/1.1\r\nHost: x\r\n" CLOSE);
        g_autofree char *worse = raw_ask(fixture.port, "GET /forget HTTP/1.1\r\nHost: x\r\n" CLOSE);
        wait_metric(fixture.server, requests, ==, 3);
        http_server_metrics(fixture.server, &metrics);
        g_assert_cmpint(metrics.errors_4xx, ==, 1);
        g_assert_cmpint(metrics.errors_5xx, ==, 1);
        for (gsize i = 0; i < G_N_ELEMENTS(metrics.latency_bucket); i++)
                sum += metrics.latency_bucket[i];
        g_assert_cmpint(sum, ==, 3);
        g_assert_cmpint(metrics.latency_count, ==, 3);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/net/server/exchanges", test_exchanges);
        g_test_add_func("/net/server/recorded", test_recorded);
        g_test_add_func("/net/server/stop-while-recording", test_stop_while_recording);
        g_test_add_func("/net/server/head", test_head);
        g_test_add_func("/net/server/range", test_range);
        g_test_add_func("/net/server/keep-alive", test_keep_alive_and_pipelining);
        g_test_add_func("/net/server/large-bodies", test_large_bodies);
        g_test_add_func("/net/server/endless-chunks", test_endless_chunks);
        g_test_add_func("/net/server/refused-and-kept", test_refused_and_kept);
        g_test_add_func("/net/server/expect", test_expect);
        g_test_add_func("/net/server/body-file", test_body_file_goes);
        g_test_add_func("/net/server/bytes-in-flight", test_bytes_in_flight);
        g_test_add_func("/net/server/shares-of-bytes", test_shares_of_bytes);
        g_test_add_func("/net/server/held-on-disk", test_held_on_disk);
        g_test_add_func("/net/server/standing-still", test_standing_still);
        g_test_add_func("/net/server/slow", test_slow);
        g_test_add_func("/net/server/slow-enough", test_slow_enough);
        g_test_add_func("/net/server/connection-limit", test_connection_limit);
        g_test_add_func("/net/server/socket-share", test_socket_share);
        g_test_add_func("/net/server/unix", test_unix);
        g_test_add_func("/net/server/listen-errors", test_listen_errors);
        g_test_add_func("/net/server/deferred", test_deferred);
        g_test_add_func("/net/server/written", test_written);
        g_test_add_func("/net/server/given-up", test_given_up);
        g_test_add_func("/net/server/client-left", test_client_left);
        g_test_add_func("/net/server/stop-while-waiting", test_stop_while_waiting);
        g_test_add_func("/net/server/metrics", test_metrics);
        return g_test_run();
}
