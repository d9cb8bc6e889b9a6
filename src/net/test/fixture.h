/* What the tests of this room share: a server in the test process, and raw sockets that say to it exactly
 * what a test means. */
#pragma once

#include <arpa/inet.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "net/server.h"

/* A queue between threads whose locks ThreadSanitizer sees, as it does not GLib's. */
typedef struct {
        pthread_mutex_t mutex;
        pthread_cond_t filled;
        GQueue items;
} Channel;

static inline void channel_init(Channel *channel)
{
        pthread_mutex_init(&channel->mutex, NULL);
        pthread_cond_init(&channel->filled, NULL);
        g_queue_init(&channel->items);
}

static inline void channel_clear(Channel *channel)
{
        g_queue_clear(&channel->items);
        pthread_cond_destroy(&channel->filled);
        pthread_mutex_destroy(&channel->mutex);
}

static inline void channel_push(Channel *channel, void *item)
{
        pthread_mutex_lock(&channel->mutex);
        g_queue_push_tail(&channel->items, item);
        pthread_cond_signal(&channel->filled);
        pthread_mutex_unlock(&channel->mutex);
}

static inline void *channel_pop(Channel *channel)
{
        pthread_mutex_lock(&channel->mutex);
        while (g_queue_is_empty(&channel->items))
                pthread_cond_wait(&channel->filled, &channel->mutex);
        void *item = g_queue_pop_head(&channel->items);
        pthread_mutex_unlock(&channel->mutex);
        return item;
}

enum { PATIENCE_MS = 90000 }; /* before a test says that something hangs */

static inline HttpServer *start_server(const HttpServerConfig *config, const HttpRoute *routes, void *arg)
{
        const HttpRoute *const list[] = { routes, NULL };
        g_autoptr(GError) error = NULL;
        HttpServer *server = http_server_new(config, list, arg, &error);

        g_assert_no_error(error);
        g_assert_nonnull(server);
        return server;
}

static inline int raw_connect(int port)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((guint16)port) };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        return fd;
}

static inline int raw_connect_unix(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
        return fd;
}

/* False when the other side does not take it any more. */
static inline bool raw_send(int fd, const char *text, gsize len)
{
        while (len > 0) {
                ssize_t part = send(fd, text, len, MSG_NOSIGNAL);

                if (part <= 0)
                        return false;
                text += part;
                len -= (gsize)part;
        }
        return true;
}

static inline void raw_say(int fd, const char *text)
{
        (void)raw_send(fd, text, strlen(text));
}

/* Appends what comes next; false at the end of the connection. */
static inline bool raw_more(int fd, GString *out)
{
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
        char buffer[16 << 10];

        g_assert_cmpint(poll(&poll_fd, 1, PATIENCE_MS), ==, 1);
        ssize_t len = recv(fd, buffer, sizeof buffer, 0);
        if (len <= 0)
                return false;
        g_string_append_len(out, buffer, len);
        return true;
}

static inline void raw_until(int fd, GString *out, const char *text)
{
        while (!strstr(out->str, text))
                g_assert_true(raw_more(fd, out));
}

/* Everything until the server ends the connection; the caller's. */
static inline char *raw_rest(int fd)
{
        GString *out = g_string_new(NULL);

        while (raw_more(fd, out))
                ;
        return g_string_free(out, FALSE);
}

/* One reply with a Content-Length (`body` false: only its head); the caller's. */
static inline char *raw_reply(int fd, bool body)
{
        GString *out = g_string_new(NULL);

        raw_until(fd, out, "\r\n\r\n");
        const char *length = strstr(out->str, "Content-Length: ");
        gsize head = (gsize)(strstr(out->str, "\r\n\r\n") + 4 - out->str);
        gsize want = head + (body && length ? (gsize)g_ascii_strtoull(length + 16, NULL, 10) : 0);
        while (out->len < want)
                g_assert_true(raw_more(fd, out));
        return g_string_free(out, FALSE);
}

/* One request on its own connection, and all that comes back. */
static inline char *raw_ask(int port, const char *text)
{
        fd_auto int fd = raw_connect(port);

        raw_say(fd, text);
        shutdown(fd, SHUT_WR);
        return raw_rest(fd);
}

static inline int status_of(const char *reply)
{
        g_assert_true(g_str_has_prefix(reply, "HTTP/1."));
        return (int)g_ascii_strtoull(reply + 9, NULL, 10);
}

/* Waits until the metric says so. */
#define wait_metric(server, field, compare, value)                                                           \
        do {                                                                                                 \
                HttpMetrics metrics_;                                                                        \
                gint64 until_ = g_get_monotonic_time() + PATIENCE_MS * 1000;                                 \
                for (;;) {                                                                                   \
                        http_server_metrics(server, &metrics_);                                              \
                        if (metrics_.field compare(value))                                                   \
                                break;                                                                       \
                        g_assert_cmpint(g_get_monotonic_time(), <, until_);                                  \
                        g_usleep(1000);                                                                      \
                }                                                                                            \
        } while (0)
