/* Bodies on their way in: in memory, counted for who sends them, or in a file; what is refused is read no
 * further than it takes to keep the connection. */
#include "net/connection.h"

#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"
#include "net/shares.h"

enum {
        HOLD_STEP = 1 << 20, /* bytes of a body of unknown length that are held at once */
        STRANGER_SHARE = 8,  /* one holder gets 1/N of the bytes for bodies of unknown callers */
};

bool body_announced(const HttpRequest *request, gint64 *ret, GError **error)
{
        const char *length = lookup_header(request, "Content-Length");

        *ret = 0;
        if (lookup_header(request, "Transfer-Encoding")) {
                *ret = -1;
                return true;
        }
        return !length || number_parse("Content-Length", length, 0, G_MAXINT64, ret, error);
}

static bool set_too_large(const HttpRequest *request, GError **error)
{
        g_autofree char *max = bytes_format(request->entry->route->body_max);

        return err_set(error, ERR_TOO_LARGE, "the body is larger than the %s that '%s %s' takes", max,
                       request->entry->route->method, request->entry->route->path);
}

/* Bytes of a body that wait in memory count for its user, or for where it comes from; who is not known has
 * little of them. Takes them, or refuses with 503. */
static bool take_bytes(HttpRequest *request, gint64 len, GError **error)
{
        HttpServer *server = request->server;
        gint64 max = server->config.body_bytes_max, strangers = server->config.stranger_bytes_max;
        bool known = caller_is_known(request);

        pthread_mutex_lock(&server->bodies_mutex);
        SharesVerdict verdict =
                known ? shares_take(server->bodies, request->caller.user, len, server->config.user_bytes_max,
                                    max - shares_all(server->strangers))
                      : shares_take(server->strangers, request->holder, len,
                                    strangers < max ? strangers / STRANGER_SHARE : strangers,
                                    MIN(strangers, max - shares_all(server->bodies)));
        server->body_bytes = shares_all(server->bodies) + shares_all(server->strangers);
        pthread_mutex_unlock(&server->bodies_mutex);
        if (verdict == SHARES_TAKEN)
                request->accounted += len;
        else if (verdict == SHARES_OWN_FULL)
                return err_set(error, ERR_UNAVAILABLE,
                               "the server holds as many bytes of requests of '%s' as it may of one\n"
                               "Send fewer requests at a time.",
                               known ? request->caller.user : request->holder);
        else
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "the server holds as many bytes of requests as it may\nTry again in a moment.");
        return true;
}

void body_release(HttpRequest *request)
{
        HttpServer *server = request->server;

        if (!request->accounted)
                return;
        pthread_mutex_lock(&server->bodies_mutex);
        if (caller_is_known(request))
                shares_give(server->bodies, request->caller.user, request->accounted);
        else
                shares_give(server->strangers, request->holder, request->accounted);
        server->body_bytes = shares_all(server->bodies) + shares_all(server->strangers);
        pthread_mutex_unlock(&server->bodies_mutex);
        request->accounted = 0;
}

/* Of a body that goes to the disk: `bytes` more of it. */
static bool hold_body(HttpRequest *request, gint64 bytes, GError **error)
{
        const HttpServerConfig *config = &request->server->config;
        int files = request->held_bytes == 0; /* all pieces are one file */

        if (!config->hold || !request->user || bytes <= 0)
                return true;
        if (!config->hold(request->user, bytes, files, config->hold_arg, error))
                return false;
        request->held_bytes += bytes;
        request->release = config->release;
        request->hold_arg = config->hold_arg;
        return true;
}

bool body_open(HttpRequest *request, gint64 announced, GError **error)
{
        HttpServer *server = request->server;
        const HttpRoute *route = request->entry->route;

        if (announced == 0 && route->body != HTTP_BODY_FILE)
                return true;
        if (route->body_max == 0)
                return err_set(error, ERR_INVALID, "'%s %s' takes no body", route->method, route->path);
        if (announced > 0 && (guint64)announced > route->body_max)
                return set_too_large(request, error);
        if (route->body == HTTP_BODY_MEMORY) {
                if (announced > 0 && !take_bytes(request, announced, error))
                        return false;
                body_release(request); /* what is only announced takes nothing from others */
                request->body = g_string_new(NULL);
                return true;
        }
        if (!hold_body(request, announced, error))
                return false;
        request->body_file = g_strdup_printf("%s/body-%s-XXXXXX", server->temp_dir, request->id);
        request->body_fd = g_mkstemp_full(request->body_file, O_RDWR | O_CLOEXEC, 0600);
        if (request->body_fd < 0) {
                int err = errno;
                g_autofree char *path = g_steal_pointer(&request->body_file);

                return err_set_errno(error, err, "cannot create '%s'", path);
        }
        return true;
}

gsize body_discard_max(const HttpRequest *request)
{
        return caller_is_known(request) ? DISCARD_MAX : (gsize)request->server->config.stranger_discard_max;
}

static bool take_piece(HttpRequest *request, const char *data, gsize len, GError **error)
{
        const HttpRoute *route = request->entry->route;

        if (route->body_max == 0)
                return err_set(error, ERR_INVALID, "'%s %s' takes no body", route->method, route->path);
        request->body_len += len;
        if (request->body_len > route->body_max)
                return set_too_large(request, error);
        if (route->body == HTTP_BODY_MEMORY) {
                if (!take_bytes(request, (gint64)len, error))
                        return false;
                g_string_append_len(request->body, data, (gssize)len);
                return true;
        }
        if (request->body_len > (guint64)request->held_bytes &&
            !hold_body(request, MAX(HOLD_STEP, (gint64)request->body_len - request->held_bytes), error))
                return false;
        return file_write_all(request->body_fd, data, len, error) ||
               err_prefix(error, "the body could not be kept: ");
}

enum MHD_Result body_take(HttpRequest *request, Conn *conn, const char *data, size_t *len)
{
        g_autoptr(GError) error = NULL;

        conn->received += (gint64)*len;
        if (request->stage == STAGE_BODY && !take_piece(request, data, *len, &error)) {
                http_fail(request, error);
                request->stage = STAGE_DISCARD;
                body_release(request);
                if (request->body)
                        g_string_free(g_steal_pointer(&request->body), TRUE);
        }
        if (request->stage == STAGE_DISCARD) {
                request->discarded += *len;
                if (request->discarded > body_discard_max(request))
                        return send_refusal(request, conn);
        }
        *len = 0;
        return MHD_YES;
}
