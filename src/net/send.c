/* Replies on their way out: a Reply becomes a response of the library, or, in mid-body, a refusal that is
 * written to the socket behind its back. */
#include "net/connection.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/tls.h"

enum {
        STREAM_BLOCK = 16 << 10,
        LINGER_MAX =
                16 << 20, /* bytes read after a refusal in mid-body, so that the client sees the reply ... */
        LINGERING_MAX = 1024, /* ... of so many connections ... */
        LINGER_MS = 2000,     /* ... and for how long */
};

typedef struct {
        HttpServer *server;
        HttpStreamHandle *stream;
} StreamReply;

static ssize_t read_stream(void *cls, uint64_t pos, char *buf, size_t max)
{
        StreamReply *reply = cls;
        gssize len = stream_read(reply->stream, buf, max);

        /* A client that has gone gets a good end, too: a connection that ends with an error just after it was
         * resumed may be left out of the library's epoll set (0.9.75), and then stays until SILENCE_S. */
        return len == STREAM_READ_END ? MHD_CONTENT_READER_END_OF_STREAM : len;
}

static void free_stream(void *cls)
{
        StreamReply *reply = cls;

        follower_release_stream(reply->server, reply->stream);
        g_free(reply);
}

static struct MHD_Response *memory_response(HttpRequest *request, Reply *reply)
{
        struct MHD_Response *response;

        reply_write(reply);
        if (!reply->body)
                return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
        response = MHD_create_response_from_buffer_with_free_callback(reply->len, reply->body, g_free);
        if (response)
                reply->body = NULL;
        return response;
}

static struct MHD_Response *file_response(HttpRequest *request, Reply *reply)
{
        struct MHD_Response *response;

        if (reply->size == 0)
                return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
        response = MHD_create_response_from_fd_at_offset64(reply->size, reply->fd, reply->offset);
        if (response)
                reply->fd = -1;
        return response;
}

static struct MHD_Response *stream_response(HttpRequest *request, Reply *reply)
{
        StreamReply *cls = g_new(StreamReply, 1);
        struct MHD_Response *response;

        *cls = (StreamReply){ request->server, reply->stream };
        stream_attach(reply->stream, request->connection, &conn_stream_ops);
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, cls,
                                                     free_stream);
        if (response)
                reply->stream = NULL;
        else
                g_free(cls);
        return response;
}

static struct MHD_Response *upgrade_response(HttpRequest *request, Reply *reply)
{
        return MHD_create_response_for_upgrade(follower_upgraded, NULL);
}

static struct MHD_Response *(*const make_response[])(HttpRequest *request, Reply *reply) = {
        [REPLY_MEMORY] = memory_response,
        [REPLY_FILE] = file_response,
        [REPLY_STREAM] = stream_response,
        [REPLY_UPGRADE] = upgrade_response,
};

static bool must_close(const HttpRequest *request, const Conn *conn)
{
        return (!conn_is_served(conn) || request->server->stopping) && request->reply.kind != REPLY_UPGRADE;
}

static void add_headers(struct MHD_Response *response, const HttpRequest *request, const Conn *conn)
{
        const Reply *reply = &request->reply;

        if (reply->type)
                (void)MHD_add_response_header(response, "Content-Type", reply->type);
        if (reply->kind == REPLY_STREAM)
                (void)MHD_add_response_header(response, "Cache-Control", "no-cache");
        (void)MHD_add_response_header(response, "X-Request-Id", request->id);
        for (guint i = 0; reply->headers && i + 1 < reply->headers->len;
             i += 2) /* a malformed one is left out */
                (void)MHD_add_response_header(response, reply->headers->pdata[i],
                                              reply->headers->pdata[i + 1]);
        if (must_close(request, conn))
                (void)MHD_add_response_header(response, "Connection", "close");
}

/* The library sends a body that is in memory right after its head; some replies have none (RFC 9110, 6.4.1).
 */
static bool has_body_at_once(const HttpRequest *request)
{
        const Reply *reply = &request->reply;

        return reply->kind == REPLY_MEMORY && reply->len > 0 && !request->is_head && reply->status >= 200 &&
               reply->status != 204 && reply->status != 304;
}

/* For watch_file. */
static void note_file(Conn *conn, const Reply *reply)
{
        if (reply->kind != REPLY_FILE || reply->size == 0)
                return;
        pthread_mutex_lock(&conn->mutex);
        conn->sent_fd = fcntl(reply->fd, F_DUPFD_CLOEXEC, 0); /* -1: the client waits for SILENCE_S, then */
        conn->sent_end = (guint64)reply->offset + (guint64)reply->size;
        pthread_mutex_unlock(&conn->mutex);
}

enum MHD_Result send_reply(HttpRequest *request, Conn *conn)
{
        struct MHD_Response *response;
        enum MHD_Result result;

        note_file(conn, &request->reply);
        response = make_response[request->reply.kind](request, &request->reply);

        request->stage = STAGE_SENT;
        if (!response)
                return MHD_NO;
        add_headers(response, request, conn);
        if (conn->tls && has_body_at_once(request))
                tls_hold_head(conn->tls);
        result = MHD_queue_response(request->connection, (unsigned)request->reply.status, response);
        MHD_destroy_response(response);
        return result;
}

void fail_with(HttpRequest *request, GError *error)
{
        http_fail(request, error);
        g_clear_error(&error);
}

static void keep_lingering(HttpServer *server, Linger *linger, int fd)
{
        pthread_mutex_lock(&server->mutex);
        if (server->lingering->len < LINGERING_MAX && (linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0) {
                g_array_append_val(server->lingering, *linger);
                pthread_cond_broadcast(&server->changed);
        }
        pthread_mutex_unlock(&server->mutex);
}

enum MHD_Result send_refusal(HttpRequest *request, Conn *conn)
{
        HttpServer *server = conn->server;
        Linger linger = { .until_ms = clock_monotonic_ms() + LINGER_MS, .left = LINGER_MAX };
        const GPtrArray *headers = request->reply.headers;
        g_autoptr(GString) text = g_string_new(NULL);

        reply_write(&request->reply);
        g_string_printf(text,
                        "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nX-Request-Id: "
                        "%s\r\nConnection: close\r\n"
                        "Content-Length: %" G_GSIZE_FORMAT "\r\n",
                        request->reply.status, request->id, request->reply.len);
        for (guint i = 0; headers && i + 1 < headers->len; i += 2)
                g_string_append_printf(text, "%s: %s\r\n", (const char *)headers->pdata[i],
                                       (const char *)headers->pdata[i + 1]);
        g_string_append(text, "\r\n");
        g_string_append_len(text, request->reply.body, (gssize)request->reply.len);
        if (conn->tls)
                tls_say_last(conn->tls, text->str, text->len);
        else
                (void)send(conn->fd, text->str, text->len,
                           MSG_DONTWAIT | MSG_NOSIGNAL); /* at worst the client sees only the end */
        keep_lingering(server, &linger, conn->fd);
        request->stage = STAGE_SENT;
        return MHD_NO;
}
