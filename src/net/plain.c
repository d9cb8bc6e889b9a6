/* HTTP/1.1 over a Unix socket or loopback TCP, without any library: what a command of a few milliseconds can
 * afford. One connection, kept between calls. The socket does not block; every wait is a poll with the call's
 * bound of silence. */
#include "net/exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "net/reply-parser.h"

enum { RECEIVE_SIZE = 64 << 10, SENDFILE_STEP = 1 << 20 };

struct Transport {
        const Endpoint *endpoint;
        int fd; /* kept, or -1 */
        char *buffer;
};

typedef enum {
        SENT,
        SEND_STOPPED,
        SEND_FAILED
} SendResult; /* stopped: the reply is there already, or the peer is gone */

static Transport *plain_new(const Endpoint *endpoint, GError **error)
{
        Transport *transport = g_new0(Transport, 1);

        transport->endpoint = endpoint;
        transport->fd = -1;
        transport->buffer = g_malloc(RECEIVE_SIZE);
        return transport;
}

static void drop(Transport *transport)
{
        if (transport->fd >= 0)
                close(transport->fd);
        transport->fd = -1;
}

static void plain_free(Transport *transport)
{
        drop(transport);
        g_free(transport->buffer);
        g_free(transport);
}

/* ---- Connecting ---- */

static bool set_unreachable(const Endpoint *endpoint, int err, GError **error)
{
        if (err == EACCES)
                return err_set(
                        error, ERR_UNREACHABLE,
                        "cannot reach the server at '%s': %s\nIt lets in its own user and the group of its "
                        "socket; others need its TCP address and a token.",
                        endpoint->url, g_strerror(err));
        return err_set(error, ERR_UNREACHABLE, "cannot reach the server at '%s': %s\n%s", endpoint->url,
                       err == EINPROGRESS || err == EAGAIN ? "no answer" : g_strerror(err),
                       endpoint->socket_path ? UNREACHED_SOCKET : UNREACHED);
}

/* True, or the errno in *ret_err. The time limit of connect() is the socket's for sending. */
static bool connect_to(int family, const void *address, socklen_t len, gint64 limit_ms, int *ret_fd,
                       int *ret_err)
{
        struct timeval limit = { .tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000 };
        fd_auto int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int on = 1;

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
            connect(fd, address, len) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
                *ret_err = errno;
                return false;
        }
        if (family != AF_UNIX)
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* only speed */
        *ret_fd = fd_steal(&fd);
        return true;
}

static bool connect_tcp(const Endpoint *endpoint, gint64 limit_ms, int *ret_fd, int *ret_err)
{
        bool named = g_ascii_strcasecmp(endpoint->host, "localhost") == 0;
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((guint16)endpoint->port) };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((guint16)endpoint->port) };

        *ret_err = EADDRNOTAVAIL;
        if (inet_pton(AF_INET, named ? "127.0.0.1" : endpoint->host, &v4.sin_addr) == 1 &&
            connect_to(AF_INET, &v4, sizeof v4, limit_ms, ret_fd, ret_err))
                return true;
        int first = *ret_err;
        if (inet_pton(AF_INET6, named ? "::1" : endpoint->host, &v6.sin6_addr) == 1 &&
            connect_to(AF_INET6, &v6, sizeof v6, limit_ms, ret_fd, ret_err))
                return true;
        if (named)
                *ret_err = first;
        return false;
}

static bool connect_unix(const Endpoint *endpoint, gint64 limit_ms, int *ret_fd, int *ret_err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        *ret_err = ENAMETOOLONG;
        return g_strlcpy(address.sun_path, endpoint->socket_path, sizeof address.sun_path) <
                       sizeof address.sun_path &&
               connect_to(AF_UNIX, &address, sizeof address, limit_ms, ret_fd, ret_err);
}

static bool plain_connect(Transport *transport, const HttpCall *call, GError **error)
{
        bool (*connect_one)(const Endpoint *, gint64, int *, int *) =
                transport->endpoint->socket_path ? connect_unix : connect_tcp;
        int err = 0;

        if (connect_one(transport->endpoint, call_connect_ms(call), &transport->fd, &err))
                return true;
        return set_unreachable(transport->endpoint, err, error);
}

/* A kept connection that has anything to say has been closed by the server. */
static bool is_alive(int fd)
{
        struct pollfd poll_fd = { .fd = fd, .events = POLLIN | POLLRDHUP };

        return poll(&poll_fd, 1, 0) == 0;
}

/* ---- Sending ---- */

/* Waits for any of `events`; false with ERR_TIMEOUT after the call's silence, or at its end. */
static bool wait_for(int fd, short events, const HttpCall *call, short *ret_events, GError **error)
{
        struct pollfd poll_fd = { .fd = fd, .events = events };
        gint64 limit = call_timeout_ms(call), now = g_get_monotonic_time(), until = now + limit * 1000;

        if (call->until_us && (limit < 0 || call->until_us < until)) {
                limit = MAX(0, (call->until_us - now) / 1000);
                until = call->until_us;
        }
        for (;;) {
                gint64 left = limit < 0 ? -1 : MAX(0, (until - g_get_monotonic_time() + 999) / 1000);
                int ready = poll(&poll_fd, 1, (int)MIN(left, G_MAXINT));

                if (ready > 0) {
                        *ret_events = poll_fd.revents;
                        return true;
                }
                if (ready == 0)
                        return err_set(error, ERR_TIMEOUT, "no answer for %" G_GINT64_FORMAT " ms", limit);
                if (errno != EINTR)
                        return err_set_errno(error, errno, "cannot wait for the connection");
        }
}

/* After a short write: SENT to go on. */
static SendResult wait_to_send(int fd, const HttpCall *call, GError **error)
{
        short events;

        if (errno == EINTR)
                return SENT;
        if (errno != EAGAIN)
                return SEND_STOPPED; /* the peer is gone, but its reply may be here */
        if (!wait_for(fd, POLLIN | POLLOUT, call, &events, error))
                return SEND_FAILED;
        return events & POLLIN ? SEND_STOPPED : SENT;
}

static SendResult send_memory(int fd, const HttpCall *call, const void *data, gsize len, int flags,
                              GError **error)
{
        for (gsize done = 0; done < len;) {
                ssize_t part = send(fd, (const char *)data + done, len - done, flags | MSG_NOSIGNAL);

                if (part > 0) {
                        done += (gsize)part;
                        continue;
                }
                SendResult result = wait_to_send(fd, call, error);
                if (result != SENT)
                        return result;
        }
        return SENT;
}

/* sendfile() knows no MSG_NOSIGNAL: a SIGPIPE of ours is blocked and eaten. */
static ssize_t sendfile_quietly(int to, int from, off_t *at, gsize len)
{
        struct timespec now = { 0 };
        sigset_t pipe_set, before, pending;

        sigemptyset(&pipe_set);
        sigaddset(&pipe_set, SIGPIPE);
        sigpending(&pending);
        pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
        ssize_t part = sendfile(to, from, at, len);
        int err = errno;
        if (part < 0 && err == EPIPE && !sigismember(&pending, SIGPIPE))
                (void)sigtimedwait(&pipe_set, NULL, &now);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        errno = err;
        return part;
}

static SendResult send_file(int fd, const HttpCall *call, GError **error)
{
        off_t at = (off_t)call->body_offset;
        gsize left = call->body_len;

        while (left > 0) {
                ssize_t part = sendfile_quietly(fd, call->body_fd, &at, MIN(left, SENDFILE_STEP));

                if (part > 0) {
                        left -= (gsize)part;
                        continue;
                }
                if (part == 0) {
                        err_set(error, ERR_FAILED, "the file to send became shorter");
                        return SEND_FAILED;
                }
                if (errno != EAGAIN && errno != EINTR && errno != EPIPE && errno != ECONNRESET) {
                        err_set_errno(error, errno, "cannot send the file");
                        return SEND_FAILED;
                }
                SendResult result = wait_to_send(fd, call, error);
                if (result != SENT)
                        return result;
        }
        return SENT;
}

static SendResult send_call(const Transport *transport, const HttpCall *call, const GPtrArray *headers,
                            GError **error)
{
        const Endpoint *endpoint = transport->endpoint;
        g_autoptr(GString) head = g_string_new(NULL);
        bool file = call->body_fd > 0 && call->body_len;
        bool inline_body = !file && call->body_len && call->body_len <= RECEIVE_SIZE;

        g_string_append_printf(head, "%s %s HTTP/1.1\r\n", call->method, call->path);
        if (endpoint->socket_path)
                g_string_append(head, "Host: localhost\r\n");
        else
                g_string_append_printf(head,
                                       strchr(endpoint->host, ':') ? "Host: [%s]:%d\r\n" : "Host: %s:%d\r\n",
                                       endpoint->host, endpoint->port);
        for (guint i = 0; i < headers->len; i++)
                g_string_append_printf(head, "%s\r\n", (const char *)headers->pdata[i]);
        if (call->body_len || strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0)
                g_string_append_printf(head, "Content-Length: %" G_GSIZE_FORMAT "\r\n", call->body_len);
        g_string_append(head, "\r\n");
        if (inline_body) /* one packet, one system call */
                g_string_append_len(head, call->body, (gssize)call->body_len);

        SendResult result =
                send_memory(transport->fd, call, head->str, head->len, file ? MSG_MORE : 0, error);
        if (result != SENT || inline_body || !call->body_len)
                return result;
        return file ? send_file(transport->fd, call, error)
                    : send_memory(transport->fd, call, call->body, call->body_len, 0, error);
}

/* ---- Receiving ---- */

static bool receive_reply(Transport *transport, const HttpCall *call, ReplyParser *parser, bool *ret_clean,
                          GError **error)
{
        *ret_clean = false;
        while (!reply_parser_is_done(parser)) {
                short events;
                gsize used = 0;
                ssize_t len = recv(transport->fd, transport->buffer, RECEIVE_SIZE, 0);

                if (len < 0 && errno == EAGAIN) {
                        if (!wait_for(transport->fd, POLLIN, call, &events, error))
                                return false;
                        continue;
                }
                if (len < 0 && errno == EINTR)
                        continue;
                if (len <= 0)
                        return reply_parser_end(parser, error);
                if (!reply_parser_feed(parser, transport->buffer, (gsize)len, &used, error))
                        return false;
                *ret_clean = used == (gsize)len;
        }
        return true;
}

/* One try on the present connection; *ret_begun tells whether any byte of a reply came. */
static bool try_call(Transport *transport, const HttpCall *call, const GPtrArray *headers, Exchange *exchange,
                     bool *ret_begun, GError **error)
{
        g_autoptr(ReplyParser) parser = reply_parser_new(exchange, strcmp(call->method, "HEAD") == 0);
        SendResult sent = send_call(transport, call, headers, error);
        bool clean = false;
        bool ok = sent != SEND_FAILED && receive_reply(transport, call, parser, &clean, error);

        *ret_begun = reply_parser_has_begun(parser);
        if (!ok || sent != SENT || !clean || !reply_parser_keeps(parser))
                drop(transport);
        return ok || exchange->stopped;
}

static bool plain_perform(Transport *transport, const HttpCall *call, const GPtrArray *headers,
                          Exchange *exchange, GError **error)
{
        g_autoptr(GError) lost = NULL;
        bool begun = false;

        if (transport->fd >= 0 && !is_alive(transport->fd))
                drop(transport);
        bool kept = transport->fd >= 0;
        if (!kept && !plain_connect(transport, call, error))
                return false;
        if (try_call(transport, call, headers, exchange, &begun, &lost))
                return true;
        /* The server may have closed a kept connection while the request was on its way. */
        if (kept && !begun && call_is_repeatable(call) && err_is(lost, ERR_UNAVAILABLE)) {
                g_clear_error(&lost);
                if (!plain_connect(transport, call, error))
                        return false;
                if (try_call(transport, call, headers, exchange, &begun, &lost))
                        return true;
        }
        if (!begun && !kept && transport->endpoint->host && err_is(lost, ERR_UNAVAILABLE))
                return err_set(error, ERR_UNAVAILABLE, "%s %s%s: %s\nIf it speaks TLS, name it by https://.",
                               call->method, transport->endpoint->url, call->path, lost->message);
        g_propagate_prefixed_error(error, g_steal_pointer(&lost), "%s %s%s: ", call->method,
                                   transport->endpoint->url, call->path);
        return false;
}

const TransportOps transport_plain = { plain_new, plain_free, plain_perform };
