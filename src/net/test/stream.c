/* Streams: wake-ups that race with pulls, heartbeats, ends, caps, and clients that read slowly, never, or
 * leave. */
#include "net/server.h"

#include "net/test/fixture.h"

/* A counter that followers read: each line says the next number. */
typedef struct {
        HttpServer *server;
        pthread_mutex_t mutex;
        int value; /* numbers up to here are there */
        bool ended;
        GPtrArray *followers;
        int opened, closed;
} Source;

typedef struct {
        Source *source;
        HttpStreamHandle *handle;
        int sent;
        bool flood; /* as much as there is room for */
        int late;   /* pulls that find nothing, while the wake for the next comes */
        bool last_closed;
} Follower;

static StreamState pull(GString *out, void *arg)
{
        Follower *follower = arg;
        Source *source = follower->source;

        if (follower->late > 0) {
                http_stream_wake(follower->handle);
                if (--follower->late == 0)
                        g_string_append(out, "late\n");
                return STREAM_WAIT;
        }
        if (follower->flood) {
                for (int i = 0; i < 1000; i++)
                        g_string_append(out, "0123456789012345678901234567890\n");
                return STREAM_MORE;
        }
        pthread_mutex_lock(&source->mutex);
        int value = source->value;
        bool ended = source->ended;
        pthread_mutex_unlock(&source->mutex);
        while (follower->sent < value)
                g_string_append_printf(out, "%d\n", ++follower->sent);
        return ended ? STREAM_END : STREAM_WAIT;
}

static void closed(void *arg)
{
        Follower *follower = arg;
        Source *source = follower->source;

        pthread_mutex_lock(&source->mutex);
        g_assert_false(follower->last_closed);
        follower->last_closed = true;
        source->closed++;
        g_ptr_array_remove(source->followers, follower);
        pthread_mutex_unlock(&source->mutex);
        g_free(follower);
}

static void follow(HttpRequest *request, void *arg)
{
        Source *source = arg;
        Follower *follower = g_new0(Follower, 1);

        follower->source = source;
        follower->flood = http_request_query(request, "flood") != NULL;
        follower->late = http_request_query(request, "late") ? 100 : 0;
        pthread_mutex_lock(&source->mutex);
        source->opened++;
        pthread_mutex_unlock(&source->mutex);
        HttpStreamHandle *handle = http_stream(request, &(HttpStream){ .type = "text/plain",
                                                                       .pull = pull,
                                                                       .close = closed,
                                                                       .heartbeat = "beat\n",
                                                                       .arg = follower });
        if (!handle)
                return;
        pthread_mutex_lock(&source->mutex);
        follower->handle = handle;
        g_ptr_array_add(source->followers, follower);
        pthread_mutex_unlock(&source->mutex);
}

static void ping(HttpRequest *request, void *arg)
{
        http_reply(request, 200, "text/plain", "pong", 4);
}

static const HttpRoute routes[] = {
        { "GET", "/follow", .kind = HTTP_USER, .handler = follow },
        { "GET", "/ping", .handler = ping },
        { 0 },
};

static void advance(Source *source, int by, bool end)
{
        pthread_mutex_lock(&source->mutex);
        source->value += by;
        source->ended = end;
        for (guint i = 0; i < source->followers->len; i++)
                http_stream_wake(((Follower *)source->followers->pdata[i])->handle);
        pthread_mutex_unlock(&source->mutex);
}

static bool any_user(const char *authorization, uid_t uid, const char *address, char **ret_user,
                     HttpRight *ret_right, void *arg, GError **error)
{
        *ret_user = g_strdup(authorization ? authorization : "ann");
        return true;
}

static HttpAccess by_kind(const HttpRoute *route, const HttpRequest *request, void *arg)
{
        return (HttpAccess)route->kind;
}

static void set_up(Source *source, const HttpServerConfig *config)
{
        HttpServerConfig own = *config;

        *source = (Source){ .followers = g_ptr_array_new() };
        pthread_mutex_init(&source->mutex, NULL);
        own.listen = "127.0.0.1:0";
        own.authenticate = any_user;
        own.access = by_kind;
        source->server = start_server(&own, routes, source);
}

static void tear_down(Source *source)
{
        http_server_free(source->server);
        g_assert_cmpint(source->opened, ==, source->closed);
        g_assert_cmpuint(source->followers->len, ==, 0);
        g_ptr_array_unref(source->followers);
        pthread_mutex_destroy(&source->mutex);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Source, tear_down)

static int ask_follow(Source *source, const char *user, const char *query)
{
        g_autofree char *text =
                g_strdup_printf("GET /follow%s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", query,
                                user);
        int fd = raw_connect(http_server_port(source->server));

        raw_say(fd, text);
        return fd;
}

static int ping_status(Source *source)
{
        g_autofree char *reply = raw_ask(http_server_port(source->server),
                                         "GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

        return status_of(reply);
}

/* Many wakes while a pull may be under way: the last number always arrives, without any heartbeat to help. */
static void test_no_wake_is_lost(void)
{
        g_auto(Source) source = { 0 };

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 3600000 });
        fd_auto int fd = ask_follow(&source, "ann", "");
        g_autoptr(GString) text = g_string_new(NULL);
        wait_metric(source.server, streams, ==, 1);
        raw_until(fd, text, "\r\n\r\n");
        for (int round = 1; round <= 500; round++) {
                for (int i = 0; i < 10; i++)
                        advance(&source, 1, false);
                g_autofree char *last = g_strdup_printf("\n%d\n", round * 10);
                raw_until(fd, text, last);
                g_string_erase(text, 0, (gssize)text->len - 8);
        }
        advance(&source, 1, true);
        raw_until(fd, text, "5001\n");
        raw_until(fd, text, "\r\n0\r\n\r\n"); /* a good end */
        wait_metric(source.server, streams, ==, 0);
        wait_metric(source.server, suspended, ==, 0);
}

/* The wake comes in the middle of a pull that finds nothing: there is another pull. */
static void test_wake_during_pull(void)
{
        g_auto(Source) source = { 0 };

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 3600000 });
        fd_auto int fd = ask_follow(&source, "ann", "?late=1");
        g_autoptr(GString) text = g_string_new(NULL);
        raw_until(fd, text, "late\n");
}

static void test_heartbeat(void)
{
        g_auto(Source) source = { 0 };

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 50 });
        fd_auto int fd = ask_follow(&source, "ann", "");
        g_autoptr(GString) text = g_string_new(NULL);
        for (int i = 0; i < 3; i++) {
                raw_until(fd, text, "beat\n");
                g_string_truncate(text, 0);
        }
}

static void test_max_age(void)
{
        g_auto(Source) source = { 0 };

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 40, .stream_max_age_ms = 100 });
        fd_auto int fd = ask_follow(&source, "ann", "");
        g_autoptr(GString) text = g_string_new(NULL);
        raw_until(fd, text, "\r\n0\r\n\r\n");
        raw_say(fd, "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"); /* the connection is as good as new */
        raw_until(fd, text, "pong");
}

/* The first heartbeat after a client left ends its stream, and is not said. The client ends its half only, so
 * that it hears what would be said to one that has left. */
static void test_gone_at_heartbeat(void)
{
        g_auto(Source) source = { 0 };

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 3000 }); /* by then it has left */
        fd_auto int fd = ask_follow(&source, "ann", "");
        shutdown(fd, SHUT_WR);
        g_autoptr(GString) text = g_string_new(NULL);
        while (raw_more(fd, text))
                g_assert_null(strstr(text->str, "beat"));
        g_assert_cmpint(status_of(text->str), ==, 200);
        wait_metric(source.server, streams, ==, 0);
}

/* Gone clients are noticed though nothing is sent before the heartbeat, and `close` runs once for each. */
static void test_client_leaves(void)
{
        g_auto(Source) source = { 0 };
        int fds[20];

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 50 });
        for (int i = 0; i < 20; i++)
                fds[i] = ask_follow(&source, "ann", i % 2 ? "?flood=1" : "");
        wait_metric(source.server, streams, ==, 20);
        for (int i = 0; i < 20; i++)
                close(fds[i]);
        wait_metric(source.server, streams, ==, 0);
        wait_metric(source.server, connections, ==, 0);
        pthread_mutex_lock(&source.mutex);
        g_assert_cmpint(source.closed, ==, 20);
        pthread_mutex_unlock(&source.mutex);
}

static void test_caps(void)
{
        g_auto(Source) source = { 0 };
        int fds[5];
        static const char *const users[] = { "ann", "ann", "bob", "bob", "eve" };

        set_up(&source, &(HttpServerConfig){ .max_streams = 5, .max_streams_per_user = 2 });
        for (int i = 0; i < 5; i++) {
                fds[i] = ask_follow(&source, users[i], "");
                g_autofree char *reply = raw_reply(fds[i], false);
                g_assert_cmpint(status_of(reply), ==, 200);
        }
        fd_auto int all = ask_follow(&source, "joe", "");
        g_autofree char *no_room = raw_reply(all, true);
        g_assert_cmpint(status_of(no_room), ==, 503);
        g_assert_nonnull(strstr(no_room, "5 followers"));
        close(fds[4]);
        /* A write shows that eve is gone; the next frees the place. The server has to come to its turn
         * between them: those who do not read would be dropped once there is too much for them. */
        gint64 until = g_get_monotonic_time() + PATIENCE_MS * G_GINT64_CONSTANT(1000);
        for (HttpMetrics metrics = { .streams = 5 }; metrics.streams == 5;
             http_server_metrics(source.server, &metrics)) {
                g_assert_cmpint(g_get_monotonic_time(), <, until);
                advance(&source, 1, false);
                g_usleep(1000);
        }
        fd_auto int own = ask_follow(&source, "ann", "");
        g_autofree char *too_many = raw_reply(own, true);
        g_assert_cmpint(status_of(too_many), ==, 503);
        g_assert_nonnull(strstr(too_many, "'ann' follows 2"));
        for (int i = 0; i < 4; i++)
                close(fds[i]);
}

/* Followers that never read, though there is ever more to read, cost nobody anything. */
static void test_never_reading(void)
{
        g_auto(Source) source = { 0 };
        int fds[200];

        set_up(&source, &(HttpServerConfig){ .max_streams_per_user = 200, .heartbeat_ms = 50 });
        for (int i = 0; i < 200; i++)
                fds[i] = ask_follow(&source, "ann", "?flood=1");
        wait_metric(source.server, streams, ==, 200);
        for (int i = 0; i < 200; i++)
                g_assert_cmpint(ping_status(&source), ==, 200);
        for (int i = 0; i < 200; i++)
                close(fds[i]);
        wait_metric(source.server, streams, ==, 0);
}

static void test_stop(void)
{
        Source source;
        int fds[10];

        set_up(&source, &(HttpServerConfig){ 0 });
        for (int i = 0; i < 10; i++)
                fds[i] = ask_follow(&source, "ann", "");
        wait_metric(source.server, suspended, ==, 10);
        tear_down(&source);
        for (int i = 0; i < 10; i++) {
                g_autofree char *rest = raw_rest(fds[i]);

                g_assert_true(g_str_has_suffix(rest, "0\r\n\r\n"));
                close(fds[i]);
        }
}

static void test_head_and_old(void)
{
        g_auto(Source) source = { 0 };
        int port;

        set_up(&source, &(HttpServerConfig){ .heartbeat_ms = 50 });
        port = http_server_port(source.server);
        g_autofree char *head =
                raw_ask(port, "HEAD /follow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        g_assert_cmpint(status_of(head), ==, 200);
        wait_metric(source.server, streams, ==, 0);
        advance(&source, 1, true);
        fd_auto int fd = raw_connect(port);
        raw_say(fd, "GET /follow HTTP/1.0\r\n\r\n"); /* no chunks: the end of the connection is the end */
        g_autofree char *old = raw_rest(fd);
        g_assert_true(g_str_has_suffix(old, "\r\n\r\n1\n"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/net/stream/no-wake-is-lost", test_no_wake_is_lost);
        g_test_add_func("/net/stream/wake-during-pull", test_wake_during_pull);
        g_test_add_func("/net/stream/heartbeat", test_heartbeat);
        g_test_add_func("/net/stream/max-age", test_max_age);
        g_test_add_func("/net/stream/client-leaves", test_client_leaves);
        g_test_add_func("/net/stream/gone-at-heartbeat", test_gone_at_heartbeat);
        g_test_add_func("/net/stream/caps", test_caps);
        g_test_add_func("/net/stream/never-reading", test_never_reading);
        g_test_add_func("/net/stream/stop", test_stop);
        g_test_add_func("/net/stream/head-and-old", test_head_and_old);
        return g_test_run();
}
