/* The transport for TLS and remote hosts: libcurl, loaded when the first such client makes its first call
 * (curl-api.h). The same meaning as the plain transport:
 * silence is bounded, receive streams, nothing is followed. */
#include "net/exchange.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "net/curl-api.h"

struct Transport {
        const Endpoint *endpoint;
        const CurlApi *api;
        CURL *handle;
};

typedef struct {
        Exchange *exchange;
        const HttpCall *call;
        guint64 sent; /* of the file */
        GError *error;
        char text[CURL_ERROR_SIZE];
} Transfer;

/* ---- The transport ---- */

static Transport *curl_new(const Endpoint *endpoint, GError **error)
{
        const CurlApi *api = curl_api_load(error);

        if (!api)
                return NULL;
        Transport *transport = g_new0(Transport, 1);
        transport->endpoint = endpoint;
        transport->api = api;
        transport->handle = api->easy_init();
        g_assert(transport->handle); /* out of memory */
        return transport;
}

static void curl_free_transport(Transport *transport)
{
        transport->api->easy_cleanup(transport->handle);
        g_free(transport);
}

/* ---- The library's callbacks ---- */

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
        Transfer *transfer = arg;
        size_t len = size * count, text = len;
        bool ok = true;

        while (text && (data[text - 1] == '\n' || data[text - 1] == '\r'))
                text--;
        g_autofree char *line = g_strndup(data, text);
        if (g_str_has_prefix(line, "HTTP/"))
                ok = exchange_status(transfer->exchange, line, text, &transfer->error);
        else if (text)
                ok = exchange_header(transfer->exchange, line, text, &transfer->error);
        return ok ? len : 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
        Transfer *transfer = arg;

        return exchange_body(transfer->exchange, data, size * count, &transfer->error) ? size * count : 0;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *arg)
{
        Transfer *transfer = arg;
        const HttpCall *call = transfer->call;
        gsize want = MIN(size * count, call->body_len - transfer->sent);
        ssize_t len =
                want ? pread(call->body_fd, buffer, want, (off_t)(call->body_offset + transfer->sent)) : 0;

        if (len < 0 || (len == 0 && want)) {
                err_set_errno(&transfer->error, len < 0 ? errno : EIO, "cannot read the file to send");
                return CURL_READFUNC_ABORT;
        }
        transfer->sent += (guint64)len;
        return (size_t)len;
}

static int on_seek(void *arg, curl_off_t offset, int origin)
{
        Transfer *transfer = arg;

        if (origin != SEEK_SET)
                return CURL_SEEKFUNC_CANTSEEK;
        transfer->sent = (guint64)offset;
        return CURL_SEEKFUNC_OK;
}

/* ---- A call ---- */

static void set_body(const Transport *transport, const HttpCall *call)
{
        CURLcode (*set)(CURL *, CURLoption, ...) = transport->api->easy_setopt;
        CURL *handle = transport->handle;

        if (strcmp(call->method, "HEAD") == 0) {
                set(handle, CURLOPT_NOBODY, 1L);
                return;
        }
        if (call->body_fd > 0 && call->body_len) {
                set(handle, CURLOPT_UPLOAD, 1L);
                set(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->body_len);
        } else if (call->body_len || strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0) {
                set(handle, CURLOPT_POST, 1L);
                set(handle, CURLOPT_POSTFIELDS, call->body_len ? call->body : "");
                set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
        }
        set(handle, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_options(const Transport *transport, const char *url, struct curl_slist *headers,
                        Transfer *transfer)
{
        CURLcode (*set)(CURL *, CURLoption, ...) = transport->api->easy_setopt;
        CURL *handle = transport->handle;
        gint64 silence_ms = call_timeout_ms(transfer->call);

        transport->api->easy_reset(handle); /* connections stay */
        set(handle, CURLOPT_URL, url);
        set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
        endpoint_set_tls(transport->endpoint, transport->api, handle);
        set(handle, CURLOPT_NOSIGNAL, 1L);
        set(handle, CURLOPT_HTTPHEADER, headers);
        set(handle, CURLOPT_ERRORBUFFER, transfer->text);
        set(handle, CURLOPT_HEADERFUNCTION, on_header);
        set(handle, CURLOPT_HEADERDATA, transfer);
        set(handle, CURLOPT_WRITEFUNCTION, on_body);
        set(handle, CURLOPT_WRITEDATA, transfer);
        set(handle, CURLOPT_READFUNCTION, on_read);
        set(handle, CURLOPT_READDATA, transfer);
        set(handle, CURLOPT_SEEKFUNCTION, on_seek);
        set(handle, CURLOPT_SEEKDATA, transfer);
        set(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)call_connect_ms(transfer->call));
        if (transfer->call->until_us) /* 0 would be none */
                set(handle, CURLOPT_TIMEOUT_MS,
                    (long)MAX(1, (transfer->call->until_us - g_get_monotonic_time()) / 1000));
        if (silence_ms > 0) { /* it counts whole seconds */
                set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
                set(handle, CURLOPT_LOW_SPEED_TIME, (long)((silence_ms + 999) / 1000));
        }
        set_body(transport, transfer->call);
}

/* Meanings of libcurl's failures. Any other is a broken connection. */
static const struct {
        CURLcode curl;
        ErrCode code;
} failures[] = {
        { CURLE_COULDNT_RESOLVE_HOST, ERR_UNREACHABLE },
        { CURLE_COULDNT_RESOLVE_PROXY, ERR_UNREACHABLE },
        { CURLE_COULDNT_CONNECT, ERR_UNREACHABLE },
        { CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT },
};

static bool set_failure(const Transport *transport, CURLcode curl, Transfer *transfer, GError **error)
{
        const HttpCall *call = transfer->call;
        ErrCode code = ERR_UNAVAILABLE;

        if (transfer->error) {
                g_propagate_prefixed_error(error, g_steal_pointer(&transfer->error),
                                           "%s %s%s: ", call->method, transport->endpoint->url, call->path);
                return false;
        }
        if (!endpoint_check_tls(transport->endpoint, curl, transfer->text, error))
                return false;
        for (gsize i = 0; i < G_N_ELEMENTS(failures); i++)
                if (failures[i].curl == curl)
                        code = failures[i].code;
        if (code == ERR_UNREACHABLE)
                return err_set(error, code, "cannot reach the server at '%s': %s\n" UNREACHED,
                               transport->endpoint->url, transfer->text);
        return err_set(error, code, "%s %s%s: %s", call->method, transport->endpoint->url, call->path,
                       *transfer->text ? transfer->text : "the connection broke off");
}

static bool curl_perform(Transport *transport, const HttpCall *call, const GPtrArray *headers,
                         Exchange *exchange, GError **error)
{
        g_autofree char *url = g_strconcat(transport->endpoint->url, call->path, NULL);
        struct curl_slist *list = NULL;
        Transfer transfer = { .exchange = exchange, .call = call };

        for (guint i = 0; i < headers->len; i++)
                list = transport->api->slist_append(list, headers->pdata[i]);
        if (call->body_len <= 1 << 20)
                list = transport->api->slist_append(list,
                                                    "Expect:"); /* small enough to be sent without asking */
        set_options(transport, url, list, &transfer);
        CURLcode curl = transport->api->easy_perform(transport->handle);
        transport->api->slist_free_all(list);
        bool ok = curl == CURLE_OK || exchange->stopped || set_failure(transport, curl, &transfer, error);
        g_clear_error(&transfer.error);
        return ok;
}

const TransportOps transport_curl = { curl_new, curl_free_transport, curl_perform };
