/* The HTTP client above its transports: what to send, when to try again, and what a reply means. See
 * client.h. */
#include "net/client.h"

#include <errno.h>
#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/number.h"
#include "net/exchange.h"
#include "net/sse.h"

enum {
        BODY_MAX = 64 << 20,
        CONNECT_MS = 10000,
        SILENCE_MS = 60000,
        EVENTS_SILENCE_MS = 45000, /* three heartbeats */
        BACK_OFF_MS = 100,
        BACK_OFF_MAX_MS = 5000,
        RETRY_AFTER_MAX_S = 30,
};

struct HttpClient {
        Endpoint endpoint;
        char *token;
        const TransportOps *ops;
        Transport *transport; /* made by the first call */
};

/* ---- The address ---- */

static bool is_loopback(const char *host)
{
        return g_ascii_strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
               (g_str_has_prefix(host, "127.") && host[strspn(host, "0123456789.")] == '\0');
}

static bool parse_host(const char *url, const char *text, Endpoint *ret, GError **error)
{
        gsize len = strcspn(text, "/");
        g_autofree char *authority = g_strndup(text, len);
        char *port = authority[0] == '[' ? strchr(authority, ']') : strchr(authority, ':');
        gint64 number = ret->tls ? 443 : 80;

        if (text[len] && text[len + 1])
                return err_set(error, ERR_INVALID, "server '%s' has a path\nGive only http://HOST:PORT.",
                               url);
        if (port && *port == ']')
                *port++ = '\0';
        if (port && *port && *port != ':')
                return err_set(error, ERR_INVALID, "server '%s' is not http://HOST:PORT", url);
        if (port && *port) {
                *port++ = '\0';
                if (!number_parse("the port", port, 1, 65535, &number, error))
                        return err_prefix(error, "server '%s': ", url);
        }
        ret->host = g_strdup(authority[0] == '[' ? authority + 1 : authority);
        ret->port = (int)number;
        if (!*ret->host || strpbrk(ret->host, "@ \t\r\n[]?#"))
                return err_set(error, ERR_INVALID, "server '%s' names no host", url);
        ret->local = !ret->tls && is_loopback(ret->host);
        return true;
}

static bool parse_url(const char *url, Endpoint *ret, GError **error)
{
        ret->url = g_strdup(url);
        if (g_str_has_prefix(url, "unix:")) {
                ret->socket_path = g_strdup(url + (g_str_has_prefix(url, "unix://") ? 7 : 5));
                ret->local = true;
                return *ret->socket_path ||
                       err_set(error, ERR_INVALID, "server '%s' names no socket: unix:/path/paddled.sock",
                               url);
        }
        if (g_str_has_suffix(url, "/"))
                ret->url[strlen(url) - 1] = '\0';
        ret->tls = g_str_has_prefix(url, "https://");
        if (!ret->tls && !g_str_has_prefix(url, "http://"))
                return err_set(error, ERR_INVALID,
                               "server '%s' is neither http://HOST:PORT, https://HOST:PORT nor unix:PATH",
                               url);
        return parse_host(url, url + (ret->tls ? 8 : 7), ret, error);
}

HttpClient *http_client_new_on(const TransportOps *ops, const char *url, const char *token, GError **error)
{
        g_autoptr(HttpClient) client = g_new0(HttpClient, 1);

        if (!parse_url(url, &client->endpoint, error))
                return NULL;
        if (token && token[strcspn(token, " \t\r\n")]) {
                err_set(error, ERR_INVALID, "the token has a blank or a line end in it");
                return NULL;
        }
        client->ops = ops ? ops : client->endpoint.local ? &transport_plain : &transport_curl;
        client->token = g_strdup(token);
        return g_steal_pointer(&client);
}

HttpClient *http_client_new(const char *url, const char *token, GError **error)
{
        return http_client_new_on(NULL, url, token, error);
}

void http_client_set_tls(HttpClient *client, const HttpClientTls *tls)
{
        g_autofree char *ca = client->endpoint.ca, *cert = client->endpoint.cert, *key = client->endpoint.key;

        client->endpoint.ca = g_strdup(tls->ca);
        client->endpoint.cert = g_strdup(tls->cert);
        client->endpoint.key = g_strdup(tls->key);
}

void http_client_free(HttpClient *client)
{
        if (!client)
                return;
        if (client->transport)
                client->ops->free(client->transport);
        g_free(client->endpoint.url);
        g_free(client->endpoint.socket_path);
        g_free(client->endpoint.host);
        g_free(client->endpoint.ca);
        g_free(client->endpoint.cert);
        g_free(client->endpoint.key);
        g_free(client->token);
        g_free(client);
}

const char *http_client_url(const HttpClient *client)
{
        return client->endpoint.url;
}

/* ---- The reply as it comes ---- */

void http_reply_clear(HttpReply *reply)
{
        g_free(reply->type);
        if (reply->body)
                g_string_free(reply->body, TRUE);
        if (reply->headers)
                g_hash_table_unref(reply->headers);
        *reply = (HttpReply){ 0 };
}

bool exchange_status(Exchange *exchange, const char *line, gsize len, GError **error)
{
        HttpReply *reply = exchange->reply;
        int status = 0;

        if (len < 12 || strncmp(line, "HTTP/", 5) != 0)
                return err_set(error, ERR_UNAVAILABLE, "that is no HTTP server");
        const char *code = strchr(line, ' ');
        for (int i = 1; i <= 3; i++) {
                if (!code || !g_ascii_isdigit(code[i]))
                        return err_set(error, ERR_UNAVAILABLE, "the server sent a broken status line");
                status = status * 10 + (code[i] - '0');
        }
        exchange->head_len += len;
        if (status < 100 || (code[4] && code[4] != ' ') || exchange->head_len > REPLY_HEAD_MAX)
                return err_set(error, ERR_UNAVAILABLE, "the server sent a broken status line");
        http_reply_clear(reply);
        reply->status = status;
        reply->body = g_string_new(NULL);
        reply->headers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return true;
}

bool exchange_header(Exchange *exchange, const char *line, gsize len, GError **error)
{
        const char *colon = memchr(line, ':', len);
        HttpReply *reply = exchange->reply;

        exchange->head_len += len;
        if (exchange->head_len > REPLY_HEAD_MAX)
                return err_set(error, ERR_UNAVAILABLE, "the server sent more than %d bytes of headers",
                               REPLY_HEAD_MAX);
        if (!colon || colon == line || memchr(line, '\0', len) || !reply->headers)
                return err_set(error, ERR_UNAVAILABLE, "the server sent a broken header");
        char *name = g_ascii_strdown(line, colon - line);
        char *value = g_strstrip(g_strndup(colon + 1, len - (gsize)(colon + 1 - line)));
        const char *before = g_hash_table_lookup(reply->headers, name);
        if (before) {
                char *joined = g_strconcat(before, ", ", value, NULL);

                g_free(value);
                value = joined;
        }
        if (strcmp(name, "content-type") == 0) {
                g_free(reply->type);
                reply->type = g_strdup(value);
        }
        g_hash_table_replace(reply->headers, name, value);
        return true;
}

bool exchange_body(Exchange *exchange, const char *data, gsize len, GError **error)
{
        const HttpCall *call = exchange->call;
        gsize max = call->body_max ? call->body_max : BODY_MAX;

        if (call->receive && exchange->reply->status / 100 == 2) {
                g_autoptr(GError) failed = NULL;

                exchange->delivered = true;
                if (call->receive(data, len, call->arg, &failed))
                        return true;
                exchange->stopped = failed == NULL;
                if (failed)
                        g_propagate_error(error, g_steal_pointer(&failed));
                return false;
        }
        if (len > max - MIN(max, exchange->reply->body->len))
                return err_set(error, ERR_TOO_LARGE, "the reply is larger than %" G_GSIZE_FORMAT " bytes",
                               max);
        g_string_append_len(exchange->reply->body, data, (gssize)len);
        return true;
}

/* ---- A call ---- */

bool call_is_repeatable(const HttpCall *call)
{
        static const char *const methods[] = { "GET", "PUT", "HEAD", "DELETE", NULL };

        for (const char *const *header = call->headers; header && *header; header++)
                if (g_ascii_strncasecmp(*header, "Idempotency-Key:", 16) == 0)
                        return true;
        return g_strv_contains(methods, call->method);
}

gint64 call_timeout_ms(const HttpCall *call)
{
        return call->timeout_ms ? call->timeout_ms : SILENCE_MS;
}

gint64 call_connect_ms(const HttpCall *call)
{
        return call->timeout_ms > 0 ? MIN(call->timeout_ms, CONNECT_MS) : CONNECT_MS;
}

static bool has_header(const HttpCall *call, const char *name)
{
        gsize len = strlen(name);

        for (const char *const *header = call->headers; header && *header; header++)
                if (g_ascii_strncasecmp(*header, name, len) == 0 && (*header)[len] == ':')
                        return true;
        return false;
}

/* The header lines; NULL with ERR_INVALID when one would break out of its line. */
static GPtrArray *make_headers(const HttpClient *client, const HttpCall *call, GError **error)
{
        g_autoptr(GPtrArray) headers = g_ptr_array_new_with_free_func(g_free);

        for (const char *c = call->path; *c; c++)
                if ((unsigned char)*c <= ' ' || *c == 0x7f) {
                        err_set(error, ERR_INVALID, "the path '%s' is not encoded", call->path);
                        return NULL;
                }
        g_ptr_array_add(headers, g_strdup("User-Agent: paddle/" PADDLE_VERSION));
        if (client->token && !has_header(call, "Authorization"))
                g_ptr_array_add(headers, g_strdup_printf("Authorization: Bearer %s", client->token));
        if ((call->body_len || call->type) && !has_header(call, "Content-Type"))
                g_ptr_array_add(headers, g_strdup_printf("Content-Type: %s",
                                                         call->type ? call->type : "application/json"));
        for (const char *const *header = call->headers; header && *header; header++)
                g_ptr_array_add(headers, g_strdup(*header));
        for (guint i = 0; i < headers->len; i++)
                if (strpbrk(headers->pdata[i], "\r\n")) {
                        err_set(error, ERR_INVALID, "a header has a line end in it");
                        return NULL;
                }
        return g_steal_pointer(&headers);
}

static const char *retry_after(const HttpReply *reply)
{
        return reply->headers ? g_hash_table_lookup(reply->headers, "retry-after") : NULL;
}

/* A 429 is a rate, which passes, or a quota, which does not: the server says which. */
static bool is_passing(const HttpReply *reply, const GError *error)
{
        static const int statuses[] = { 502, 503, 504 };

        if (error)
                return err_is(error, ERR_UNREACHABLE) || err_is(error, ERR_UNAVAILABLE);
        if (reply->status == 429)
                return retry_after(reply) != NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(statuses); i++)
                if (reply->status == statuses[i])
                        return true;
        return false;
}

/* At least as long as Retry-After says. */
static void back_off(int attempt, const HttpReply *reply)
{
        gint64 wait_ms = backoff_spread(backoff_delay(BACK_OFF_MS, BACK_OFF_MAX_MS, (guint64)attempt)),
               after_s;
        const char *after = retry_after(reply);

        if (after && number_parse("Retry-After", after, 0, G_MAXINT32, &after_s, NULL))
                wait_ms = MAX(wait_ms, MIN(after_s, RETRY_AFTER_MAX_S) * 1000);
        g_usleep((gulong)wait_ms * 1000);
}

bool http_call(HttpClient *client, const HttpCall *call, HttpReply *ret, GError **error)
{
        g_autoptr(GPtrArray) headers = make_headers(client, call, error);
        bool repeatable = call_is_repeatable(call);

        *ret = (HttpReply){ 0 };
        if (!headers)
                return false;
        if (!client->transport && !(client->transport = client->ops->new (&client->endpoint, error)))
                return false;
        for (int attempt = 0;; attempt++) {
                g_autoptr(GError) failed = NULL;
                Exchange exchange = { .call = call, .reply = ret };
                bool ok = client->ops->perform(client->transport, call, headers, &exchange, &failed);

                if (attempt < call->retries && repeatable && !exchange.delivered && is_passing(ret, failed)) {
                        back_off(attempt, ret);
                        http_reply_clear(ret);
                        continue;
                }
                if (ok) {
                        ret->url = client->endpoint.url;
                        return true;
                }
                http_reply_clear(ret);
                g_propagate_error(error, g_steal_pointer(&failed));
                return false;
        }
}

const Endpoint *http_client_endpoint(const HttpClient *client)
{
        return &client->endpoint;
}

const char *http_client_token(const HttpClient *client)
{
        return client->token;
}

/* ---- What a reply means ---- */

static ErrCode code_of_status(int status)
{
        static const struct {
                int status;
                ErrCode code;
        } codes[] = {
                { 400, ERR_INVALID },     { 401, ERR_UNAUTHENTICATED },
                { 403, ERR_DENIED },      { 404, ERR_NOT_FOUND },
                { 405, ERR_METHOD },      { 408, ERR_TIMEOUT },
                { 409, ERR_CONFLICT },    { 410, ERR_GONE },
                { 413, ERR_TOO_LARGE },   { 429, ERR_QUOTA },
                { 502, ERR_UNAVAILABLE }, { 503, ERR_UNAVAILABLE },
                { 504, ERR_TIMEOUT },     { 507, ERR_NO_SPACE },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(codes); i++)
                if (codes[i].status == status)
                        return codes[i].code;
        return ERR_FAILED;
}

bool http_reply_error(const HttpReply *reply, GError **error)
{
        ErrCode code = code_of_status(reply->status);
        g_autoptr(json_t) body = reply->body ? json_parse(reply->body->str, reply->body->len, NULL) : NULL;
        const char *word = json_string_value(json_object_get(body, "code"));
        const char *message = json_string_value(json_object_get(body, "message"));
        const char *hint = json_string_value(json_object_get(body, "hint"));

        if (!message || !*message)
                return err_set(
                        error, code,
                        "the server at '%s' answered with status %d, and not as paddled does\n"
                        "Check the address: --server, PADDLE_SERVER or `paddleServer` of the configuration. "
                        "Without a port http:// means 80; paddled's is 8999.",
                        reply->url ? reply->url : "", reply->status);
        if (word && err_from_word(word) != ERR_FAILED)
                code = err_from_word(word);
        return err_set(error, code, "%s%s%s", message, hint && *hint ? "\n" : "", hint ? hint : "");
}

bool http_call_json(HttpClient *client, const char *method, const char *path, const json_t *body,
                    json_t **ret, GError **error)
{
        g_autofree char *text = body ? json_format(body) : NULL;
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = method, .path = path, .body = text, .body_len = text ? strlen(text) : 0 };

        if (!http_call(client, &call, &reply, error))
                return false;
        if (reply.status / 100 != 2)
                return http_reply_error(&reply, error);
        g_autoptr(GError) cause = NULL;
        json_t *value = reply.body->len ? json_parse(reply.body->str, reply.body->len, &cause) : NULL;

        if (cause)
                return err_set(error, ERR_FAILED, "the server at '%s' does not answer as paddled does: %s",
                               reply.url, cause->message);
        if (ret)
                *ret = value;
        else
                json_decref(value);
        return true;
}

static bool feed_events(const char *data, gsize len, void *arg, GError **error)
{
        return sse_parser_feed(arg, data, len, error);
}

bool http_client_events(HttpClient *client, const char *path, SseFunc event, void *arg, GError **error)
{
        static const char *const headers[] = { "Accept: text/event-stream", NULL };
        g_autoptr(SseParser) parser = sse_parser_new(event, arg);
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "GET",
                          .path = path,
                          .headers = headers,
                          .timeout_ms = EVENTS_SILENCE_MS,
                          .receive = feed_events,
                          .arg = parser };

        if (!http_call(client, &call, &reply, error))
                return false;
        return reply.status / 100 == 2 || http_reply_error(&reply, error);
}
