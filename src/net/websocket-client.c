/* The client's side of a WebSocket (see websocket-client.h): the connection is libcurl's (TLS, Unix sockets,
 * proxies), made with CONNECT_ONLY; the frames are made here. If the library takes only part of a buffer, the
 * rest is passed again unchanged, at the same address: TLS requires that. */
#include "net/websocket-client.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/client-frame.h"
#include "net/curl-api.h"
#include "net/exchange.h"
#include "net/reply-parser.h"
#include "net/websocket-accept.h"

enum {
        MESSAGE_MAX = 1 << 20,
        PIECE = 16 << 10,
        KEY_BYTES = 16,
        OPEN_MS = 30000,
        READS_A_TURN = 64,
        CLOSE_STATUS_BYTES = 2
};

struct WebSocketClient {
        const CurlApi *api;
        CURL *handle;
        curl_socket_t fd;
        char text[CURL_ERROR_SIZE];
        FrameReader *reader;
        WebSocketText found;
        void *found_arg;
        GString *early; /* came with the reply */
        GString *out;
        char piece[PIECE];
        gsize piece_len, sent;
        bool ended;
        char *reason; /* why the server ended it, if it said so */
};

void websocket_client_free(WebSocketClient *socket)
{
        if (!socket)
                return;
        if (socket->handle)
                socket->api->easy_cleanup(socket->handle);
        frame_reader_free(socket->reader);
        g_string_free(socket->out, TRUE);
        g_string_free(socket->early, TRUE);
        g_free(socket->reason);
        g_free(socket);
}

int websocket_client_fd(const WebSocketClient *socket)
{
        return socket->fd;
}

bool websocket_client_wants_write(const WebSocketClient *socket)
{
        return socket->out->len > 0 || socket->sent < socket->piece_len;
}

/* ---- sending ---- */

static bool take_piece(WebSocketClient *socket)
{
        if (socket->sent < socket->piece_len)
                return true;
        socket->sent = 0;
        socket->piece_len = MIN(socket->out->len, PIECE);
        memcpy(socket->piece, socket->out->str, socket->piece_len);
        g_string_erase(socket->out, 0, (gssize)socket->piece_len);
        return socket->piece_len > 0;
}

static bool flush(WebSocketClient *socket, GError **error)
{
        while (take_piece(socket)) {
                size_t part = 0;
                CURLcode code = socket->api->easy_send(socket->handle, socket->piece + socket->sent,
                                                       socket->piece_len - socket->sent, &part);

                socket->sent += part;
                if (code == CURLE_AGAIN)
                        return true;
                if (code != CURLE_OK)
                        return err_set(error, ERR_UNAVAILABLE, "the connection to the server broke off");
        }
        return true;
}

void websocket_client_send(WebSocketClient *socket, const char *text, gsize len)
{
        frame_append_masked(socket->out, FRAME_TEXT, text, len, g_random_int());
}

/* ---- receiving ---- */

/* RFC 6455, 5.5.1: a status of two bytes, then why in words. */
static void take_goodbye(WebSocketClient *socket, const char *data, gsize len)
{
        socket->ended = true;
        if (len > CLOSE_STATUS_BYTES && !socket->reason)
                socket->reason =
                        g_utf8_make_valid(data + CLOSE_STATUS_BYTES, (gssize)len - CLOSE_STATUS_BYTES);
}

static bool on_frame(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        WebSocketClient *socket = arg;

        if (opcode == FRAME_PING)
                frame_append_masked(socket->out, FRAME_PONG, data, len, g_random_int());
        else if (opcode == FRAME_CLOSE)
                take_goodbye(socket, data, len);
        else if (opcode == FRAME_TEXT)
                socket->found(data, len, socket->found_arg);
        return !socket->ended;
}

/* False at the end, with an error or without. */
static bool receive(WebSocketClient *socket, GError **error)
{
        char buffer[PIECE];

        for (int i = 0; i < READS_A_TURN && !socket->ended; i++) {
                size_t got = 0;
                CURLcode code = socket->api->easy_recv(socket->handle, buffer, sizeof buffer, &got);

                if (code == CURLE_AGAIN)
                        return true;
                if (code != CURLE_OK || got == 0)
                        return err_set(error, ERR_UNAVAILABLE, "the server ended the connection");
                if (!frame_reader_feed(socket->reader, buffer, got, error))
                        return false;
        }
        if (socket->reason)
                return err_set(error, ERR_UNAVAILABLE, "the server ended the connection: %s", socket->reason);
        return !socket->ended;
}

bool websocket_client_turn(WebSocketClient *socket, WebSocketText text, void *arg, GError **error)
{
        socket->found = text;
        socket->found_arg = arg;
        if (socket->early->len) {
                if (!frame_reader_feed(socket->reader, socket->early->str, socket->early->len, error))
                        return false;
                g_string_truncate(socket->early, 0);
        }
        return receive(socket, error) && flush(socket, error);
}

/* ---- opening ---- */

static char *make_key(void)
{
        guint32 random[KEY_BYTES / sizeof(guint32)];

        for (gsize i = 0; i < G_N_ELEMENTS(random); i++)
                random[i] = g_random_int();
        return g_base64_encode((const guchar *)random, sizeof random);
}

static bool connect_to(WebSocketClient *socket, const Endpoint *endpoint, GError **error)
{
        CURLcode (*set)(CURL *, CURLoption, ...) = socket->api->easy_setopt;
        CURLcode code;

        set(socket->handle, CURLOPT_URL, endpoint->socket_path ? "http://localhost" : endpoint->url);
        if (endpoint->socket_path)
                set(socket->handle, CURLOPT_UNIX_SOCKET_PATH, endpoint->socket_path);
        if (endpoint->local)
                set(socket->handle, CURLOPT_NOPROXY, "*");
        set(socket->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        set(socket->handle, CURLOPT_CONNECT_ONLY, 1L);
        set(socket->handle, CURLOPT_HTTPPROXYTUNNEL, 1L);
        set(socket->handle, CURLOPT_NOSIGNAL, 1L);
        set(socket->handle, CURLOPT_CONNECTTIMEOUT_MS, (long)OPEN_MS);
        set(socket->handle, CURLOPT_ERRORBUFFER, socket->text);
        endpoint_set_tls(endpoint, socket->api, socket->handle);
        code = socket->api->easy_perform(socket->handle);
        if (code == CURLE_OK)
                code = socket->api->easy_getinfo(socket->handle, CURLINFO_ACTIVESOCKET, &socket->fd);
        if (!endpoint_check_tls(endpoint, code, socket->text, error))
                return false;
        return code == CURLE_OK || err_set(error, ERR_UNREACHABLE, "cannot reach the server at '%s': %s",
                                           endpoint->url, socket->text);
}

static void ask(WebSocketClient *socket, const Endpoint *endpoint, const char *token, const char *path,
                const char *key)
{
        g_string_append_printf(socket->out,
                               "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUser-Agent: paddle/" PADDLE_VERSION "\r\n"
                               "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: %s\r\n",
                               path, endpoint->host ? endpoint->host : "localhost", endpoint->port, key);
        if (token)
                g_string_append_printf(socket->out, "Authorization: Bearer %s\r\n", token);
        g_string_append(socket->out, "\r\n");
}

/* Waits for more of the reply's head; false with an error. */
static bool read_head(WebSocketClient *socket, GString *head, gint64 late_ms, GError **error)
{
        struct pollfd poller = { .fd = socket->fd, .events = POLLIN };
        char buffer[PIECE];
        size_t got = 0;
        CURLcode code;

        if (!flush(socket, error))
                return false;
        if (websocket_client_wants_write(socket))
                poller.events |= POLLOUT;
        code = socket->api->easy_recv(socket->handle, buffer, sizeof buffer, &got);
        if (code == CURLE_OK && got) {
                g_string_append_len(head, buffer, (gssize)got);
                return true;
        }
        if (code != CURLE_AGAIN || head->len > REPLY_HEAD_MAX)
                return err_set(error, ERR_UNAVAILABLE, "the server ended the connection without an answer");
        if (clock_monotonic_ms() > late_ms)
                return err_set(error, ERR_TIMEOUT, "the server did not answer in time");
        (void)poll(&poller, 1, 1000);
        return true;
}

/* The reply is no 101: what it says. */
static bool refusal(const char *path, const GString *head, bool *ret_more, GError **error)
{
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "GET", .path = path };
        Exchange exchange = { .call = &call, .reply = &reply };
        g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, false);
        gsize used;

        if (!reply_parser_feed(parser, head->str, head->len, &used, error))
                return false;
        *ret_more = !reply_parser_is_done(parser);
        return *ret_more || http_reply_error(&reply, error);
}

static bool is_accepted(const GString *head, const char *key)
{
        g_autofree char *accept = websocket_accept(key);
        g_autofree char *line = g_strdup_printf("sec-websocket-accept: %s\r\n", accept);
        g_autofree char *lower = g_ascii_strdown(head->str, -1), *wanted = g_ascii_strdown(line, -1);

        return strstr(lower, wanted) != NULL;
}

/* Waits for the reply; what follows a good one goes to the reader with the first turn. */
static bool shake_hands(WebSocketClient *socket, const char *path, const char *key, GString *ret_rest,
                        GError **error)
{
        g_autoptr(GString) head = g_string_new(NULL);
        gint64 late_ms = clock_monotonic_ms() + OPEN_MS;
        bool more = true;

        while (more) {
                const char *end;

                if (!read_head(socket, head, late_ms, error))
                        return false;
                end = strstr(head->str, "\r\n\r\n");
                if (!end)
                        continue;
                if (g_str_has_prefix(head->str, "HTTP/1.1 101")) {
                        if (!is_accepted(head, key))
                                return err_set(error, ERR_UNAVAILABLE,
                                               "the answer to the WebSocket's opening is not the server's");
                        g_string_append_len(ret_rest, end + 4,
                                            (gssize)(head->len - (gsize)(end + 4 - head->str)));
                        return true;
                }
                if (!refusal(path, head, &more, error))
                        return false;
        }
        return err_set(error, ERR_UNAVAILABLE, "the server did not open a WebSocket");
}

WebSocketClient *websocket_client_open(HttpClient *client, const char *path, GError **error)
{
        const CurlApi *api = curl_api_load(error);
        const Endpoint *endpoint = http_client_endpoint(client);
        g_autoptr(WebSocketClient) socket = NULL;
        g_autofree char *key = make_key();

        if (!api)
                return NULL;
        socket = g_new0(WebSocketClient, 1);
        socket->api = api;
        socket->handle = api->easy_init();
        g_assert(socket->handle); /* out of memory */
        socket->out = g_string_new(NULL);
        socket->early = g_string_new(NULL);
        socket->reader = frame_reader_new(MESSAGE_MAX, on_frame, socket);
        ask(socket, endpoint, http_client_token(client), path, key);
        if (!connect_to(socket, endpoint, error) || !shake_hands(socket, path, key, socket->early, error))
                return NULL;
        return g_steal_pointer(&socket);
}
