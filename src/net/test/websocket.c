/* WebSockets against a server: the handshake, talk both ways, goodbyes from either side, clients that break
 * rules, read slowly or leave, and the server's end. */
#include "net/websocket.h"

#include "net/test/fixture.h"

/* What the server's side of the sockets did. */
typedef struct {
        HttpServer *server;
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        WebSocket *last; /* opened last; a reference */
        int opened, refused, closed;
        bool greet; /* sends before the handshake is answered */
        const char *user;
} Hub;

typedef struct {
        Hub *hub;
} Peer;

static void on_text(void *arg, const char *text, gsize len)
{
        Peer *peer = arg;
        Hub *hub = peer->hub;

        pthread_mutex_lock(&hub->mutex);
        WebSocket *socket = websocket_ref(hub->last);
        pthread_mutex_unlock(&hub->mutex);
        g_assert_cmpint(text[len], ==, 0);
        if (g_str_equal(text, "quit"))
                websocket_close(socket, 1000, "as you wish");
        else
                (void)websocket_send_text(socket, text, len); /* false: it has gone */
        websocket_unref(socket);
}

static void on_closed(void *arg)
{
        Peer *peer = arg;
        Hub *hub = peer->hub;

        pthread_mutex_lock(&hub->mutex);
        hub->closed++;
        pthread_cond_broadcast(&hub->changed);
        pthread_mutex_unlock(&hub->mutex);
        g_free(peer);
}

static void open_socket(HttpRequest *request, void *arg)
{
        Hub *hub = arg;
        Peer *peer = g_new0(Peer, 1);
        WebSocketOps ops = { .on_text = on_text, .on_closed = on_closed };

        peer->hub = hub;
        pthread_mutex_lock(&hub->mutex);
        ops.user = hub->user;
        pthread_mutex_unlock(&hub->mutex);
        WebSocket *socket = http_upgrade_websocket(request, &ops, peer);
        if (socket && hub->greet)
                g_assert_true(websocket_send_text(socket, "hello", 5));
        pthread_mutex_lock(&hub->mutex);
        if (socket) {
                websocket_unref(hub->last);
                hub->last = socket;
                hub->opened++;
        } else {
                hub->refused++;
        }
        pthread_cond_broadcast(&hub->changed);
        pthread_mutex_unlock(&hub->mutex);
}

static const HttpRoute routes[] = {
        { "GET", "/ws", .handler = open_socket },
        { 0 },
};

static void hub_start(Hub *hub, HttpServerConfig config)
{
        pthread_mutex_init(&hub->mutex, NULL);
        pthread_cond_init(&hub->changed, NULL);
        config.listen = "127.0.0.1:0";
        hub->server = start_server(&config, routes, hub);
}

static void hub_wait(Hub *hub, const int *count, int want)
{
        pthread_mutex_lock(&hub->mutex);
        while (*count < want)
                pthread_cond_wait(&hub->changed, &hub->mutex);
        g_assert_cmpint(*count, ==, want);
        pthread_mutex_unlock(&hub->mutex);
}

static void hub_set_user(Hub *hub, const char *user)
{
        pthread_mutex_lock(&hub->mutex);
        hub->user = user;
        pthread_mutex_unlock(&hub->mutex);
}

/* Opened last; borrowed while nobody opens another. */
static WebSocket *hub_last(Hub *hub)
{
        pthread_mutex_lock(&hub->mutex);
        WebSocket *socket = hub->last;
        pthread_mutex_unlock(&hub->mutex);
        return socket;
}

/* The end of the server; every socket was closed once by then. */
static void hub_stop(Hub *hub)
{
        http_server_free(hub->server);
        g_assert_cmpint(hub->closed, ==, hub->opened + hub->refused);
        websocket_unref(hub->last);
        pthread_cond_destroy(&hub->changed);
        pthread_mutex_destroy(&hub->mutex);
}

/* The key and its answer are those of RFC 6455, section 1.3. */
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define ASK(headers) "GET /ws HTTP/1.1\r\nHost: x\r\n" headers "\r\n"
#define HANDSHAKE                                                                                            \
        ASK("Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" KEY "Sec-WebSocket-Version: 13\r\n")

/* Shakes hands; `out` gets what came behind the reply's head. */
static int ws_open(Hub *hub, GString *out)
{
        int fd = raw_connect(http_server_port(hub->server));

        raw_say(fd, HANDSHAKE);
        raw_until(fd, out, "\r\n\r\n");
        g_assert_cmpint(status_of(out->str), ==, 101);
        g_string_erase(out, 0, strstr(out->str, "\r\n\r\n") + 4 - out->str);
        return fd;
}

/* The reply to one request; the caller's. */
static char *ask(Hub *hub, const char *text)
{
        fd_auto int fd = raw_connect(http_server_port(hub->server));

        raw_say(fd, text);
        return raw_reply(fd, true);
}

/* Reads until exactly these bytes have come. */
static void ws_expect(int fd, GString *out, const char *bytes, gsize len)
{
        while (out->len < len)
                g_assert_true(raw_more(fd, out));
        g_assert_cmpmem(out->str, len, bytes, len);
        g_string_erase(out, 0, (gssize)len);
}

#define SAY(fd, bytes) g_assert_true(raw_send(fd, bytes, sizeof(bytes) - 1))
#define EXPECT(fd, out, bytes) ws_expect(fd, out, bytes, sizeof(bytes) - 1)
#define EXPECT_END(fd, out)                                                                                  \
        do {                                                                                                 \
                g_assert_false(raw_more(fd, out));                                                           \
                g_assert_cmpuint((out)->len, ==, 0);                                                         \
        } while (0)
#define ZEROS "\0\0\0\0"

static void test_handshake(void)
{
        static const struct {
                const char *ask;
                int status;
                const char *has;
        } cases[] = {
                { HANDSHAKE, 101, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" },
                { ASK("upgrade: WebSocket\r\nconnection: UPGRADE\r\n" KEY "Sec-WebSocket-Version: 13\r\n"),
                  101, "\r\nUpgrade: websocket\r\n" },
                { ASK(""), 400, "\r\nContent-Type: text/plain" },
                { ASK("Upgrade: websocket\r\n" KEY "Sec-WebSocket-Version: 13\r\n"), 400, "text/plain" },
                { ASK("Connection: Upgrade\r\n" KEY "Sec-WebSocket-Version: 13\r\n"), 400, "text/plain" },
                { ASK("Upgrade: h2c\r\nConnection: Upgrade\r\n" KEY "Sec-WebSocket-Version: 13\r\n"), 400,
                  "text/plain" },
                { ASK("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"), 400,
                  "Sec-WebSocket-Key" },
                { ASK("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n"),
                  400, "Sec-WebSocket-Key" },
                { ASK("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q==\r\n"),
                  400, "Sec-WebSocket-Key" },
                { ASK("Upgrade: websocket\r\nConnection: Upgrade\r\n" KEY), 426,
                  "\r\nSec-WebSocket-Version: 13\r\n" },
                { ASK("Upgrade: websocket\r\nConnection: Upgrade\r\n" KEY "Sec-WebSocket-Version: 8\r\n"),
                  426, "\r\nSec-WebSocket-Version: 13\r\n" },
                { "GET /ws HTTP/1.0\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" KEY
                  "Sec-WebSocket-Version: 13\r\n\r\n",
                  400, "text/plain" },
        };
        Hub hub = { 0 };

        hub_start(&hub, (HttpServerConfig){ 0 });
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *reply = ask(&hub, cases[i].ask);

                g_assert_cmpint(status_of(reply), ==, cases[i].status);
                g_assert_nonnull(strstr(reply, cases[i].has));
        }
        hub_wait(&hub, &hub.closed, G_N_ELEMENTS(cases));
        hub_wait(&hub, &hub.opened, 2);
        hub_stop(&hub);
}

static void test_talk(void)
{
        Hub hub = { .greet = true };
        g_autoptr(GString) out = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ 0 });
        fd_auto int fd = ws_open(&hub, out);
        EXPECT(fd, out, "\x81\x05hello"); /* sent before there was a connection for it */
        wait_metric(hub.server, websockets, ==, 1);
        SAY(fd, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
        EXPECT(fd, out, "\x81\x05Hello");
        SAY(fd, "\x01\x81" ZEROS "a\x89\x82" ZEROS "hi\x80\x81" ZEROS "b");
        EXPECT(fd, out,
               "\x8a\x02hi\x81\x02"
               "ab");
        SAY(fd, "\x8a\x80" ZEROS); /* a pong nobody asked for */
        SAY(fd, "\x88\x85" ZEROS "\x03\xe8"
                "bye");
        EXPECT(fd, out, "\x88\x02\x03\xe8");
        EXPECT_END(fd, out);
        shutdown(fd, SHUT_WR);
        hub_wait(&hub, &hub.closed, 1);
        g_assert_false(websocket_send_text(hub_last(&hub), "x", 1));
        wait_metric(hub.server, websockets, ==, 0);
        wait_metric(hub.server, connections, ==, 0);
        hub_stop(&hub);
}

/* Frames that come in one packet with the handshake are not lost. */
static void test_eager(void)
{
        static const char eager[] = HANDSHAKE "\x81\x82" ZEROS "me";
        Hub hub = { 0 };
        g_autoptr(GString) out = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ 0 });
        fd_auto int fd = raw_connect(http_server_port(hub.server));
        g_assert_true(raw_send(fd, eager, sizeof eager - 1));
        raw_until(fd, out, "\r\n\r\n");
        g_string_erase(out, 0, strstr(out->str, "\r\n\r\n") + 4 - out->str);
        EXPECT(fd, out, "\x81\x02me");
        hub_stop(&hub);
}

static void test_server_closes(void)
{
        Hub hub = { 0 };
        g_autoptr(GString) out = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ 0 });
        fd_auto int fd = ws_open(&hub, out);
        SAY(fd, "\x81\x84" ZEROS "quit");
        EXPECT(fd, out,
               "\x88\x0d\x03\xe8"
               "as you wish");
        g_assert_false(websocket_send_text(hub_last(&hub), "x", 1));
        SAY(fd, "\x88\x82" ZEROS "\x03\xe8");
        EXPECT_END(fd, out);
        shutdown(fd, SHUT_WR);
        hub_wait(&hub, &hub.closed, 1);
        hub_stop(&hub);
}

/* A client that does not answer our goodbye is left after a while, and so is one that breaks the rules. */
static void test_broken(void)
{
        static const struct {
                const char *say;
                gsize len;
                const char *close;
        } cases[] = {
                { "\x81\x05Hello", 7, "\x88\x02\x03\xea" },
                { "\x82\x80" ZEROS, 6, "\x88\x02\x03\xeb" },
                { "\x81\x82" ZEROS "\xc3(", 8, "\x88\x02\x03\xef" },
                { "\x81\xfe\x10\x00" ZEROS, 8, "\x88\x02\x03\xf1" },
                { "\x81\x84" ZEROS "quit", 10, "\x88\x0d\x03\xe8" },
        };
        Hub hub = { 0 };

        int fds[G_N_ELEMENTS(cases)];

        hub_start(&hub, (HttpServerConfig){ .websocket_message_max = 1000 });
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GString) out = g_string_new(NULL);

                fds[i] = ws_open(&hub, out);
                g_assert_true(raw_send(fds[i], cases[i].say, cases[i].len));
                ws_expect(fds[i], out, cases[i].close, 4);
        }
        hub_wait(&hub, &hub.closed, G_N_ELEMENTS(cases));
        wait_metric(hub.server, connections, ==, 0);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                close(fds[i]);
        hub_stop(&hub);
}

#define BYTES(text) text, sizeof(text) - 1
#define QUIT "\x81\x84" ZEROS "quit"
#define QUITTED                                                                                              \
        "\x88\x0d\x03\xe8"                                                                                   \
        "as you wish"
#define BYE "\x88\x82" ZEROS "\x03\xe8"
#define BYE_TOO "\x88\x02\x03\xe8"

/* Frames of a client one after another, and all that the server sends until its half of the connection ends. The
 * server echoes messages, and closes after "quit". By RFC 6455. */
static const struct {
        const char *name, *say;
        gsize say_len;
        const char *replies;
        gsize replies_len;
} sequences[] = {
        /* 5.5.2: a pong with the same data */
        { "a ping", BYTES("\x89\x82" ZEROS "hi" BYE), BYTES("\x8a\x02hi" BYE_TOO) },
        /* 5.4: control frames may come between fragments */
        { "a ping between fragments", BYTES("\x01\x81" ZEROS "a\x89\x81" ZEROS "p\x80\x81" ZEROS "b" BYE),
          BYTES("\x8a\x01p\x81\x02"
                "ab" BYE_TOO) },
        /* 5.5.3: a pong may come unasked, and has no reply */
        { "a pong", BYTES("\x8a\x81" ZEROS "x\x81\x81" ZEROS "a" BYE),
          BYTES("\x81\x01"
                "a" BYE_TOO) },
        /* 5.5.1: a close is answered by a close with its status; what follows it is not used */
        { "a close of an application", BYTES("\x88\x82" ZEROS "\x0f\xa0"), BYTES("\x88\x02\x0f\xa0") },
        { "a message after a close", BYTES(BYE "\x81\x81" ZEROS "a"), BYTES(BYE_TOO) },
        { "a ping after a close", BYTES(BYE "\x89\x81" ZEROS "p"), BYTES(BYE_TOO) },
        { "two closes", BYTES(BYE BYE), BYTES(BYE_TOO) },
        { "a close between fragments", BYTES("\x01\x81" ZEROS "a" BYE "\x80\x81" ZEROS "b"), BYTES(BYE_TOO) },
        /* 5.5.1: no message after our close; 5.5.2: but a pong, until the client's close; 7.1.1 */
        { "a close of ours", BYTES(QUIT BYE), BYTES(QUITTED) },
        { "a ping after our close", BYTES(QUIT "\x89\x81" ZEROS "p" BYE), BYTES(QUITTED "\x8a\x01p") },
        { "a message after our close", BYTES(QUIT "\x81\x81" ZEROS "a" BYE), BYTES(QUITTED) },
        { "a second quit", BYTES(QUIT QUIT BYE), BYTES(QUITTED) },
        /* 7.1.7: a fault is told once, and nothing that follows is used */
        { "a fault",
          BYTES("\x81\x01"
                "a"
                "\x81\x81" ZEROS "a"),
          BYTES("\x88\x02\x03\xea") },
        { "a fault after our close", BYTES(QUIT "\xc1\x80" ZEROS BYE), BYTES(QUITTED) },
        { "a ping after a fault", BYTES("\xc1\x80" ZEROS "\x89\x80" ZEROS), BYTES("\x88\x02\x03\xea") },
};

static void test_sequences(void)
{
        Hub hub = { 0 };

        hub_start(&hub, (HttpServerConfig){ 0 });
        for (gsize i = 0; i < G_N_ELEMENTS(sequences); i++) {
                g_autoptr(GString) out = g_string_new(NULL);
                fd_auto int fd = ws_open(&hub, out);

                g_test_message("%s", sequences[i].name);
                g_assert_true(raw_send(fd, sequences[i].say, sequences[i].say_len));
                while (raw_more(fd, out))
                        ;
                g_assert_cmpmem(out->str, out->len, sequences[i].replies, sequences[i].replies_len);
        }
        hub_wait(&hub, &hub.closed, G_N_ELEMENTS(sequences));
        hub_stop(&hub);
}

static void test_client_leaves(void)
{
        Hub hub = { 0 };
        g_autoptr(GString) out = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ 0 });
        close(ws_open(&hub, out));
        hub_wait(&hub, &hub.closed, 1);
        wait_metric(hub.server, connections, ==, 0);
        hub_stop(&hub);
}

enum { BEAT_MS = 200, LIFE_US = 3 * BEAT_MS * 1000 }; /* LIFE_US: of a silent client */

/* Answers pings for longer than a silent client would live. False when the machine held this thread up for so
 * long that it was a silent client itself. */
static bool answer_pings(Hub *hub, int *ret_fd)
{
        g_autoptr(GString) out = g_string_new(NULL);
        gint64 said_us = g_get_monotonic_time();
        fd_auto int fd = ws_open(hub, out);

        for (int i = 0; i < 5; i++) {
                while (out->len < 2) {
                        if (raw_more(fd, out))
                                continue;
                        g_assert_cmpint(g_get_monotonic_time() - said_us, >, LIFE_US);
                        return false;
                }
                g_assert_cmpmem(out->str, 2, "\x89\x00", 2);
                g_string_erase(out, 0, 2);
                said_us = g_get_monotonic_time();
                if (!raw_send(fd, "\x8a\x80" ZEROS, 6))
                        return false;
        }
        *ret_fd = fd_steal(&fd);
        return true;
}

static void test_silence(void)
{
        Hub hub = { 0 };
        fd_auto int fd = -1;
        int late = 0;

        hub_start(&hub, (HttpServerConfig){ .heartbeat_ms = BEAT_MS });
        while (!answer_pings(&hub, &fd))
                late++;
        hub_wait(&hub, &hub.closed, late + 1); /* which comes by itself */
        hub_stop(&hub);
}

/* A client that reads nothing is dropped; nobody waits for it. */
static void test_slow(void)
{
        Hub hub = { 0 };
        g_autoptr(GString) out = g_string_new(NULL);
        g_autofree char *text = g_strnfill(10000, 'x');
        gsize said = 0;

        hub_start(&hub, (HttpServerConfig){ .websocket_out_max = 100000 });
        fd_auto int fd = ws_open(&hub, out);
        while (websocket_send_text(hub_last(&hub), text, 10000))
                g_assert_cmpuint(said += 10000, <, 1 << 30);
        g_assert_cmpuint(websocket_pending(hub_last(&hub)), <=, 110100);
        hub_wait(&hub, &hub.closed, 1);
        g_assert_cmpuint(websocket_pending(hub_last(&hub)), ==, 0);
        g_assert_false(websocket_send_text(hub_last(&hub), "x", 1));
        wait_metric(hub.server, connections, ==, 0);
        hub_stop(&hub);
}

/* All of much arrives, in order, at a client that reads. */
static void test_much(void)
{
        enum { COUNT = 20000 };
        Hub hub = { 0 };
        g_autoptr(GString) out = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ 0 });
        fd_auto int fd = ws_open(&hub, out);
        for (int i = 0; i < COUNT; i++) {
                char text[101];

                g_snprintf(text, sizeof text, "%0100d", i);
                g_assert_true(websocket_send_text(hub_last(&hub), text, 100));
        }
        while (out->len < COUNT * 102)
                g_assert_true(raw_more(fd, out));
        for (int i = 0; i < COUNT; i++) {
                char text[103];

                g_snprintf(text, sizeof text, "\x81\x64%0100d", i);
                g_assert_cmpmem(out->str + i * 102, 102, text, 102);
        }
        hub_stop(&hub);
}

static void test_limits(void)
{
        Hub hub = { .user = "ann" };
        g_autoptr(GString) out = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ .max_streams = 3, .max_streams_per_user = 2 });
        fd_auto int one = ws_open(&hub, out), two = ws_open(&hub, out);
        g_autofree char *third = ask(&hub, HANDSHAKE);
        g_assert_cmpint(status_of(third), ==, 503);
        g_assert_nonnull(strstr(third, "user 'ann' follows 2"));
        hub_set_user(&hub, "bob");
        fd_auto int three = ws_open(&hub, out);
        hub_set_user(&hub, "cid");
        g_autofree char *fourth = ask(&hub, HANDSHAKE);
        g_assert_cmpint(status_of(fourth), ==, 503);
        g_assert_nonnull(strstr(fourth, "3 followers"));
        hub_wait(&hub, &hub.closed, 2);
        close(fd_steal(&one));
        hub_wait(&hub, &hub.closed, 3);
        wait_metric(hub.server, websockets, ==, 2); /* its end is told first, then it counts no more */
        fd_auto int again = ws_open(&hub, out);
        hub_wait(&hub, &hub.refused, 2);
        hub_stop(&hub);
}

/* The server's end tells every client, and does not wait long for those that do not listen. */
static void test_stop(void)
{
        Hub hub = { 0 };
        g_autoptr(GString) polite = g_string_new(NULL), deaf = g_string_new(NULL);

        hub_start(&hub, (HttpServerConfig){ 0 });
        fd_auto int first = ws_open(&hub, polite), second = ws_open(&hub, deaf);
        hub_wait(&hub, &hub.opened, 2);
        gint64 start = g_get_monotonic_time();
        hub_stop(&hub);
        g_assert_cmpint(g_get_monotonic_time() - start, <, 15 * G_USEC_PER_SEC);
        EXPECT(first, polite, "\x88\x18\x03\xe9the server is stopping");
        EXPECT(second, deaf, "\x88\x18\x03\xe9the server is stopping");
}

typedef struct {
        Hub *hub;
        int port;
} Storm;

static gpointer storm(gpointer data)
{
        Storm *self = data;

        for (int i = 0; i < 50; i++) {
                g_autoptr(GString) out = g_string_new(NULL);
                fd_auto int fd = raw_connect(self->port);

                raw_say(fd, HANDSHAKE);
                if (i % 5 == 0)
                        continue; /* leaves at once */
                raw_until(fd, out, "\r\n\r\n");
                raw_say(fd, i % 3 ? "\x81\x05Hello" : "");
        }
        return NULL;
}

static gpointer chatter(gpointer data)
{
        Hub *hub = data;

        for (int i = 0; i < 2000; i++) {
                pthread_mutex_lock(&hub->mutex);
                WebSocket *socket = hub->last ? websocket_ref(hub->last) : NULL;
                pthread_mutex_unlock(&hub->mutex);
                if (socket)
                        (void)websocket_send_text(socket, "news", 4); /* it may have gone */
                websocket_unref(socket);
                g_thread_yield();
        }
        return NULL;
}

/* Opening, sending, closing and leaving at once, from many threads, into the server's end. */
static void test_races(void)
{
        Hub hub = { .greet = true };
        GThread *threads[4];

        hub_start(&hub, (HttpServerConfig){ .heartbeat_ms = 40 });
        Storm self = { &hub, http_server_port(hub.server) };
        for (int i = 0; i < 4; i++)
                threads[i] =
                        i < 3 ? g_thread_new("storm", storm, &self) : g_thread_new("news", chatter, &hub);
        for (int i = 0; i < 4; i++)
                g_thread_join(threads[i]);
        hub_stop(&hub);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/websocket/handshake", test_handshake);
        g_test_add_func("/websocket/talk", test_talk);
        g_test_add_func("/websocket/eager", test_eager);
        g_test_add_func("/websocket/server-closes", test_server_closes);
        g_test_add_func("/websocket/broken", test_broken);
        g_test_add_func("/websocket/sequences", test_sequences);
        g_test_add_func("/websocket/client-leaves", test_client_leaves);
        g_test_add_func("/websocket/silence", test_silence);
        g_test_add_func("/websocket/slow", test_slow);
        g_test_add_func("/websocket/much", test_much);
        g_test_add_func("/websocket/limits", test_limits);
        g_test_add_func("/websocket/stop", test_stop);
        g_test_add_func("/websocket/races", test_races);
        return g_test_run();
}
