/* The client against our server, and against a listener that misbehaves as the test says. Both transports
 * where it matters. */
#include "net/client.h"

#include <fcntl.h>
#include <poll.h>

#include "net/exchange.h"
#include "net/test/fixture.h"

/* ---- A server that answers properly ---- */

typedef struct {
        HttpServer *server;
        char *dir, *url, *unix_url;
        gint busy; /* how many 503s are still to be given */
        gint asked;
        const char *wait; /* the Retry-After of /full, or NULL */
} Fixture;

static void reflect(HttpRequest *request, void *arg)
{
        gsize len;
        const char *body = http_request_body(request, &len),
                   *type = http_request_header(request, "Content-Type");
        g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)body, len);
        g_autoptr(json_t) value =
                json_pack("{s:s, s:s?, s:s?, s:s, s:I}", "path", http_request_path(request), "type", type,
                          "token", http_request_header(request, "Authorization"), "sum", sum, "len",
                          (json_int_t)len);

        http_reply_json(request, 200, value);
}

static void fail(HttpRequest *request, void *arg)
{
        g_autoptr(GError) error = NULL;

        err_set(&error, ERR_QUOTA, "queue 'q' has no room\nWait, or ask for less.");
        http_fail(request, error);
}

static void plain_fail(HttpRequest *request, void *arg)
{
        http_reply(request, 404, "text/html", "<p>no", 5);
}

static void nothing(HttpRequest *request, void *arg)
{
        http_reply(request, 204, NULL, NULL, 0);
}

static void large(HttpRequest *request, void *arg)
{
        http_reply_take(request, 200, "text/plain", g_strnfill(3 << 20, 'y'), 3 << 20);
}

static void busy(HttpRequest *request, void *arg)
{
        Fixture *fixture = arg;

        if (g_atomic_int_add(&fixture->busy, -1) > 0) {
                http_reply_header(request, "Retry-After", "0");
                http_reply(request, 503, "text/plain", "later", 5);
        } else {
                http_reply(request, 200, "text/plain", "now", 3);
        }
}

static void full(HttpRequest *request, void *arg)
{
        Fixture *fixture = arg;

        g_atomic_int_inc(&fixture->asked);
        if (fixture->wait)
                http_reply_header(request, "Retry-After", fixture->wait);
        http_reply(request, 429, "text/plain", "full", 4);
}

typedef struct {
        int next, end;
} Counter;

static StreamState pull(GString *out, void *arg)
{
        Counter *counter = arg;

        while (counter->next < counter->end && out->len < 65536) {
                g_autofree char *id = g_strdup_printf("%d", ++counter->next);
                sse_append(out, id, "tick", id);
        }
        return counter->next < counter->end ? STREAM_MORE : STREAM_END;
}

static void events(HttpRequest *request, void *arg)
{
        Counter *counter = g_new0(Counter, 1);
        gint64 since;

        if (!http_request_query_int(request, "since", 0, 1000000, 0, &since)) {
                g_free(counter);
                return;
        }
        *counter = (Counter){ (int)since, 20000 };
        (void)http_stream(request, &(HttpStream){ .type = "text/event-stream",
                                                  .pull = pull,
                                                  .close = g_free,
                                                  .arg = counter });
}

static const HttpRoute routes[] = {
        { "GET", "/reflect/{x}", .handler = reflect },
        { "POST", "/reflect/{x}", .body_max = 16 << 20, .handler = reflect },
        { "POST", "/small", .body_max = 10, .handler = reflect },
        { "GET", "/fail", .handler = fail },
        { "GET", "/plain-fail", .handler = plain_fail },
        { "DELETE", "/nothing", .handler = nothing },
        { "GET", "/large", .handler = large },
        { "GET", "/busy", .handler = busy },
        { "POST", "/busy", .body_max = 10, .handler = busy },
        { "GET", "/full", .handler = full },
        { "GET", "/events", .handler = events },
        { 0 },
};

static void set_up(Fixture *fixture)
{
        g_autofree char *socket_path = NULL;

        fixture->dir = g_dir_make_tmp("net-XXXXXX", NULL);
        socket_path = g_build_filename(fixture->dir, "s.sock", NULL);
        fixture->server =
                start_server(&(HttpServerConfig){ .listen = "127.0.0.1:0", .socket_path = socket_path },
                             routes, fixture);
        fixture->url = g_strdup_printf("http://127.0.0.1:%d", http_server_port(fixture->server));
        fixture->unix_url = g_strconcat("unix:", socket_path, NULL);
}

static void tear_down(Fixture *fixture)
{
        http_server_free(fixture->server);
        g_assert_true(file_remove_tree(fixture->dir, NULL));
        g_free(fixture->dir);
        g_free(fixture->url);
        g_free(fixture->unix_url);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Fixture, tear_down)

/* ---- Every transport does the same ---- */

static void check_json(HttpClient *client)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = json_pack("{s:s}", "a", "b"), got = NULL, posted = NULL, empty = NULL;

        g_assert_true(http_call_json(client, "GET", "/reflect/a%20b", NULL, &got, &error));
        g_assert_cmpstr(json_string_value(json_object_get(got, "path")), ==, "/reflect/a b");
        g_assert_cmpstr(json_string_value(json_object_get(got, "token")), ==, "Bearer t0ken");
        g_assert_true(http_call_json(client, "POST", "/reflect/x", body, &posted, &error));
        g_assert_cmpstr(json_string_value(json_object_get(posted, "type")), ==, "application/json");
        g_assert_cmpint(json_integer_value(json_object_get(posted, "len")), ==, 9);
        g_assert_true(http_call_json(client, "DELETE", "/nothing", NULL, &empty, &error));
        g_assert_null(empty);
        g_assert_no_error(error);
}

static void check_errors(HttpClient *client)
{
        g_autoptr(GError) quota = NULL, missing = NULL, method = NULL;

        g_assert_false(http_call_json(client, "GET", "/fail", NULL, NULL, &quota));
        g_assert_true(err_is(quota, ERR_QUOTA));
        g_assert_cmpstr(quota->message, ==, "queue 'q' has no room\nWait, or ask for less.");
        g_assert_false(http_call_json(client, "GET", "/plain-fail", NULL, NULL, &missing));
        g_assert_true(err_is(missing, ERR_NOT_FOUND));
        g_assert_false(http_call_json(client, "PUT", "/fail", NULL, NULL, &method));
        g_assert_true(err_is(method, ERR_METHOD));
}

static void check_body_file(HttpClient *client, const char *dir)
{
        g_autofree char *path = g_build_filename(dir, "body", NULL), *data = g_malloc(5 << 20);
        g_autoptr(GError) error = NULL;

        for (gsize i = 0; i < 5 << 20; i++)
                data[i] = (char)(i * 31 + (i >> 8));
        g_assert_true(g_file_set_contents(path, data, 5 << 20, NULL));
        fd_auto int fd = open(path, O_RDONLY | O_CLOEXEC);
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "POST",
                          .path = "/reflect/x",
                          .type = "application/octet-stream",
                          .body_fd = fd,
                          .body_offset = 1000,
                          .body_len = 4 << 20 };
        g_autofree char *want =
                g_compute_checksum_for_data(G_CHECKSUM_SHA256, (guchar *)data + 1000, 4 << 20);
        g_assert_true(http_call(client, &call, &reply, &error));
        g_assert_no_error(error);
        g_assert_cmpint(reply.status, ==, 200);
        g_assert_nonnull(strstr(reply.body->str, want));
}

static bool count_bytes(const char *data, gsize len, void *arg, GError **error)
{
        gsize *total = arg;

        for (gsize i = 0; i < len; i++)
                g_assert_cmpint(data[i], ==, 'y');
        *total += len;
        return true;
}

static bool refuse_bytes(const char *data, gsize len, void *arg, GError **error)
{
        return arg ? err_set(error, ERR_NO_SPACE, "full") : false;
}

static void check_receive(HttpClient *client)
{
        g_autoptr(GError) error = NULL, large_error = NULL;
        g_auto(HttpReply) reply = { 0 }, stopped = { 0 }, failed = { 0 }, bounded = { 0 };
        gsize total = 0;

        HttpCall call = { .method = "GET", .path = "/large", .receive = count_bytes, .arg = &total };
        g_assert_true(http_call(client, &call, &reply, NULL));
        g_assert_cmpuint(total, ==, 3 << 20);
        g_assert_cmpuint(reply.body->len, ==, 0);
        call = (HttpCall){ .method = "GET", .path = "/large", .receive = refuse_bytes };
        g_assert_true(http_call(client, &call, &stopped, NULL));
        call.arg = client;
        g_assert_false(http_call(client, &call, &failed, &error));
        g_assert_true(err_is(error, ERR_NO_SPACE));
        call = (HttpCall){ .method = "GET", .path = "/large", .body_max = 1 << 20 };
        g_assert_false(http_call(client, &call, &bounded, &large_error));
        g_assert_true(err_is(large_error, ERR_TOO_LARGE));
}

static bool take_tick(const char *id, const char *event, const char *data, void *arg)
{
        int *last = arg;

        g_assert_cmpstr(event, ==, "tick");
        g_assert_cmpstr(id, ==, data);
        g_assert_cmpint((int)g_ascii_strtoull(id, NULL, 10), ==, *last + 1);
        return ++*last != 700;
}

static void check_events(HttpClient *client)
{
        g_autoptr(GError) error = NULL, refused = NULL;
        int last = 0;

        g_assert_true(http_client_events(client, "/events", take_tick, &last, &error));
        g_assert_cmpint(last, ==, 700);
        g_assert_true(http_client_events(client, "/events?since=700", take_tick, &last,
                                         &error)); /* goes on where it was left */
        g_assert_no_error(error);
        g_assert_cmpint(last, ==, 20000);
        g_assert_false(http_client_events(client, "/events?since=x", take_tick, &last, &refused));
        g_assert_true(err_is(refused, ERR_INVALID));
}

static void check_retries(HttpClient *client, Fixture *fixture)
{
        static const char *const key[] = { "Idempotency-Key: 1", NULL };
        const struct {
                const char *method;
                const char *const *headers;
                int busy, retries, status;
        } cases[] = {
                { "GET", NULL, 2, 2, 200 }, { "GET", NULL, 2, 1, 503 },  { "POST", NULL, 1, 5, 503 },
                { "POST", key, 1, 1, 200 }, { "HEAD", NULL, 1, 1, 200 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(HttpReply) reply = { 0 };
                HttpCall call = { .method = cases[i].method,
                                  .path = "/busy",
                                  .headers = cases[i].headers,
                                  .retries = cases[i].retries };

                g_atomic_int_set(&fixture->busy, cases[i].busy);
                g_assert_true(http_call(client, &call, &reply, NULL));
                g_assert_cmpint(reply.status, ==, cases[i].status);
        }
}

/* A full quota is told at once; a rate, which has Retry-After, is waited for. */
static void check_quotas(HttpClient *client, Fixture *fixture)
{
        const struct {
                const char *wait;
                int asked;
        } cases[] = { { NULL, 1 }, { "0", 3 } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(HttpReply) reply = { 0 };
                HttpCall call = { .method = "GET", .path = "/full", .retries = 2 };

                fixture->wait = cases[i].wait;
                g_atomic_int_set(&fixture->asked, 0);
                g_assert_true(http_call(client, &call, &reply, NULL));
                g_assert_cmpint(reply.status, ==, 429);
                g_assert_cmpint(g_atomic_int_get(&fixture->asked), ==, cases[i].asked);
        }
}

/* Far more than the server takes: the refusal is read, though not all could be sent. */
static void check_too_large(HttpClient *client)
{
        g_autofree char *much = g_strnfill(8 << 20, 'x');
        g_autoptr(GError) error = NULL;
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "POST", .path = "/small", .body = much, .body_len = 8 << 20 };

        g_assert_true(http_call(client, &call, &reply, &error));
        g_assert_cmpint(reply.status, ==, 413);
        g_assert_false(http_reply_error(&reply, &error));
        g_assert_true(err_is(error, ERR_TOO_LARGE));
}

static void check_all(const TransportOps *ops, const char *url, Fixture *fixture)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(HttpClient) client = http_client_new_on(ops, url, "t0ken", &error);

        g_assert_no_error(error);
        check_json(client);
        check_errors(client);
        check_body_file(client, fixture->dir);
        check_receive(client);
        check_events(client);
        check_retries(client, fixture);
        check_quotas(client, fixture);
        check_too_large(client);
        check_json(client);
}

static void test_loopback(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture);
        check_all(NULL, fixture.url, &fixture);
}

static void test_unix(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture);
        check_all(NULL, fixture.unix_url, &fixture);
}

static void test_curl(void)
{
        g_auto(Fixture) fixture = { 0 };

        set_up(&fixture);
        check_all(&transport_curl, fixture.url, &fixture);
}

static void test_connection_is_kept(void)
{
        g_auto(Fixture) fixture = { 0 };
        HttpMetrics metrics;

        set_up(&fixture);
        g_autoptr(HttpClient) client = http_client_new(fixture.url, NULL, NULL);
        for (int i = 0; i < 5; i++)
                g_assert_true(http_call_json(client, "GET", "/reflect/x", NULL, NULL, NULL));
        http_server_metrics(fixture.server, &metrics);
        g_assert_cmpint(metrics.connections, ==, 1);
}

/* ---- A listener that misbehaves ---- */

typedef struct {
        int listener, connections;
        const char *const *script; /* one reply per request; "": hang up, "-": say nothing until the client
                                      goes; "|": then hang up */
        GThread *thread;
        char *url;
} Rogue;

static gpointer play(gpointer data)
{
        Rogue *rogue = data;
        int fd = -1;

        for (const char *const *line = rogue->script; *line; line++) {
                g_autoptr(GString) request = g_string_new(NULL);
                bool last = g_str_has_suffix(*line, "|");

                while (!strstr(request->str, "\r\n\r\n")) {
                        if (fd < 0) {
                                fd = accept4(rogue->listener, NULL, NULL, SOCK_CLOEXEC);
                                rogue->connections++;
                        }
                        if (!raw_more(fd, request)) {
                                close(fd);
                                fd = -1;
                        }
                }
                if (strcmp(*line, "-") == 0)
                        while (raw_more(fd, request))
                                ;
                else
                        (void)raw_send(fd, *line, strlen(*line) - last);
                if (last || !**line || strcmp(*line, "-") == 0) {
                        close(fd);
                        fd = -1;
                }
        }
        if (fd >= 0)
                close(fd);
        return NULL;
}

static void rogue_start(Rogue *rogue, const char *const *script)
{
        struct sockaddr_in address = { .sin_family = AF_INET };
        socklen_t len = sizeof address;

        *rogue = (Rogue){ .script = script };
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        rogue->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(bind(rogue->listener, (struct sockaddr *)&address, sizeof address), ==, 0);
        g_assert_cmpint(listen(rogue->listener, 8), ==, 0);
        g_assert_cmpint(getsockname(rogue->listener, (struct sockaddr *)&address, &len), ==, 0);
        rogue->url = g_strdup_printf("http://localhost:%d", ntohs(address.sin_port));
        rogue->thread = g_thread_new("rogue", play, rogue);
}

static void rogue_stop(Rogue *rogue, int connections)
{
        g_thread_join(rogue->thread);
        g_assert_cmpint(rogue->connections, ==, connections);
        close(rogue->listener);
        g_free(rogue->url);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static void test_rogues(void)
{
        static const struct {
                const char *script[4];
                HttpCall call;
                int calls, connections;
                int code; /* -1: success */
        } cases[] = {
                { { OK, OK }, { .method = "GET" }, 2, 1, -1 },
                { { OK "|", OK },
                  { .method = "GET" },
                  2,
                  2,
                  -1 }, /* closed while idle: seen before or after sending */
                { { OK, "", OK },
                  { .method = "GET" },
                  2,
                  2,
                  -1 }, /* closed instead of the second reply: once more */
                { { OK, "" }, { .method = "POST" }, 2, 1, ERR_UNAVAILABLE },
                { { "" }, { .method = "GET" }, 1, 1, ERR_UNAVAILABLE },
                { { "", OK }, { .method = "GET", .retries = 1 }, 1, 2, -1 },
                { { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok|" },
                  { .method = "GET" },
                  1,
                  1,
                  ERR_UNAVAILABLE },
                { { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok|", OK },
                  { .method = "GET", .retries = 1 },
                  1,
                  2,
                  -1 },
                { { "-" }, { .method = "GET", .timeout_ms = 100 }, 1, 1, ERR_TIMEOUT },
                { { "220 mail ready\r\n|" }, { .method = "GET" }, 1, 1, ERR_UNAVAILABLE },
                { { OK "extra", OK },
                  { .method = "GET" },
                  2,
                  2,
                  -1 }, /* bytes nobody asked for: not used again */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Rogue rogue;
                HttpCall call = cases[i].call;
                g_autoptr(GError) error = NULL;
                bool ok = true;

                call.path = "/";
                rogue_start(&rogue, cases[i].script);
                HttpClient *client = http_client_new(rogue.url, NULL, NULL);
                for (int n = 0; ok && n < cases[i].calls; n++) {
                        g_auto(HttpReply) reply = { 0 };

                        ok = http_call(client, &call, &reply, &error);
                        if (ok)
                                g_assert_cmpstr(reply.body->str, ==, "ok");
                }
                g_assert_cmpint(ok ? -1 : error->code, ==, cases[i].code);
                http_client_free(client);
                rogue_stop(&rogue, cases[i].connections);
        }
}

static void test_unreachable(void)
{
        static const struct {
                const char *url;
                const TransportOps *ops;
        } cases[] = { { "http://127.0.0.1:1", NULL },
                      { "unix:/nonexistent/s.sock", NULL },
                      { "http://127.0.0.1:1", &transport_curl } };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(HttpClient) client = http_client_new_on(cases[i].ops, cases[i].url, NULL, NULL);
                g_autoptr(GError) error = NULL;

                g_assert_false(http_call_json(client, "GET", "/", NULL, NULL, &error));
                g_assert_true(err_is(error, ERR_UNREACHABLE));
                g_assert_nonnull(strstr(error->message, cases[i].url));
                if (g_str_has_prefix(cases[i].url, "unix:"))
                        g_assert_cmpstr(err_hint(error), ==,
                                        "Start it with `paddle up`, or name another with --server.");
                else /* `paddle up` starts one of the person's own, not that one */
                        g_assert_null(strstr(err_hint(error), "paddle up"));
        }
}

/* A listener whose queue is full: the kernel answers no connection any more. `fds`: those that fill it. */
static char *fill_listener(GArray *fds)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof address;
        struct pollfd last = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLOUT };

        g_array_append_val(fds, last.fd);
        g_assert_cmpint(bind(last.fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        g_assert_cmpint(listen(last.fd, 0), ==, 0);
        g_assert_cmpint(getsockname(last.fd, (struct sockaddr *)&address, &len), ==, 0);
        do {
                last.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                g_array_append_val(fds, last.fd);
                (void)connect(last.fd, (struct sockaddr *)&address, sizeof address); /* poll tells */
        } while (poll(&last, 1, 200) > 0);
        return g_strdup_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
}

/* Connecting takes no longer than the call may be silent. */
static void test_connecting(void)
{
        static const struct {
                const TransportOps *ops;
                int code;
        } cases[] = { { NULL, ERR_UNREACHABLE }, { &transport_curl, ERR_TIMEOUT } };
        g_autoptr(GArray) fds = g_array_new(FALSE, FALSE, sizeof(int));
        g_autofree char *url = fill_listener(fds);

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(HttpClient) client = http_client_new_on(cases[i].ops, url, NULL, NULL);
                g_autoptr(GError) error = NULL;
                g_auto(HttpReply) reply = { 0 };
                gint64 began = g_get_monotonic_time();

                g_assert_false(http_call(client,
                                         &(HttpCall){ .method = "GET", .path = "/", .timeout_ms = 300 },
                                         &reply, &error));
                g_assert_cmpint(error->code, ==, cases[i].code);
                g_assert_cmpint(g_get_monotonic_time() - began, <,
                                9 * G_USEC_PER_SEC); /* not the usual 10 s */
        }
        for (guint i = 0; i < fds->len; i++)
                close(g_array_index(fds, int, i));
}

static void test_urls(void)
{
        static const char *const good[] = { "http://h:1",  "http://h", "http://h/",
                                            "https://h:8", "unix:/s",  "http://[::1]:80" };
        static const char *const bad[] = {
                "",           "h:1",         "ftp://h",        "http://",       "http://:1",  "http://h:",
                "http://h:0", "http://h:1x", "http://h:99999", "http://h/path", "http://u@h", "unix:"
        };

        for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
                g_autoptr(HttpClient) client = http_client_new(good[i], NULL, NULL);
                g_assert_nonnull(client);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(GError) error = NULL;

                g_assert_null(http_client_new(bad[i], NULL, &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
}

/* Nothing a caller passes breaks out of its line. */
static void test_injection(void)
{
        static const char *const headers[] = { "A: b\r\nC: d", NULL };
        static const HttpCall calls[] = { { .method = "GET", .path = "/a b" },
                                          { .method = "GET", .path = "/a\r\nX: y" },
                                          { .method = "GET", .path = "/", .headers = headers } };
        g_autoptr(HttpClient) client = http_client_new("http://127.0.0.1:1", NULL, NULL);

        g_assert_null(http_client_new("http://127.0.0.1:1", "a\r\nb", NULL));
        for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
                g_auto(HttpReply) reply = { 0 };
                g_autoptr(GError) error = NULL;

                g_assert_false(http_call(client, &calls[i], &reply, &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_unsetenv("http_proxy"); /* libcurl heeds it, and these servers are ours */
        g_test_add_func("/net/client/urls", test_urls);
        g_test_add_func("/net/client/injection", test_injection);
        g_test_add_func("/net/client/unreachable", test_unreachable);
        g_test_add_func("/net/client/loopback", test_loopback);
        g_test_add_func("/net/client/unix", test_unix);
        g_test_add_func("/net/client/curl", test_curl);
        g_test_add_func("/net/client/connection-is-kept", test_connection_is_kept);
        g_test_add_func("/net/client/rogues", test_rogues);
        g_test_add_func("/net/client/connecting", test_connecting);
        return g_test_run();
}
