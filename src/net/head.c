/* The head of a request: what can be decided before its body comes. Where it is from, which route it names,
 * who calls, and whether its end is beyond doubt. */
#include "net/connection.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "net/crowd.h"
#include "net/forwarded.h"
#include "net/framing.h"
#include "net/peer.h"
#include "net/route.h"
#include "net/url.h"

static void take_params(HttpRequest *request)
{
        const UrlPath *path = &request->path;

        for (guint i = 0; i < request->entry->n_params; i++) {
                const RouteParam *param = &request->entry->params[i];

                if (param->segment >= path->count)
                        request->params[i] = g_strdup("");
                else if (param->rest)
                        request->params[i] = g_strdup(path->text->str + path->segments[param->segment].at);
                else
                        request->params[i] = g_strndup(path->text->str + path->segments[param->segment].at,
                                                       path->segments[param->segment].len);
        }
}

static bool resolve(HttpRequest *request, const char *method, GError **error)
{
        const Face *face = request->face;
        gsize len = strcspn(request->target, "?");
        const char *allow = NULL;

        if (!(face ? url_path_parse_exact : url_path_parse)(request->target, len, &request->path, error))
                return false;
        request->entry = route_find(face ? face->routes : request->server->routes, method, &request->path,
                                    &allow, error);
        if (allow)
                http_reply_header(request, "Allow", allow);
        if (!request->entry)
                return false;
        take_params(request);
        if (!request->target[len])
                return true;
        request->query = face ? url_query_parse_exact(request->target + len + 1)
                              : url_query_parse(request->target + len + 1, error);
        return request->query != NULL;
}

static const Face *find_face(const HttpServer *server, const char *target)
{
        for (guint i = 0; i < server->faces->len; i++) {
                const Face *face = &g_array_index(server->faces, Face, i);

                if (g_str_has_prefix(target, face->face.prefix))
                        return face;
        }
        return NULL;
}

static bool set_over(HttpServer *server, const Conn *conn, GError **error)
{
        pthread_mutex_lock(&server->mutex);
        gint64 limit = crowd_limit(server->crowd, conn->peer.local);
        pthread_mutex_unlock(&server->mutex);
        server->refused++;
        if (conn->place == CROWD_OWN_FULL)
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "'%s' has %d connections to the server, as many as one may\nClose some of them.",
                        conn->peer.holder, server->config.max_per_holder);
        return err_set(error, ERR_UNAVAILABLE,
                       "the server has %" G_GINT64_FORMAT
                       " connections, as many as it takes\nTry again later.",
                       limit);
}

/* Proxies append to the header or add a line of their own: all lines are one list, in their order. */
static enum MHD_Result join_forwarded(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
        GString *list = arg;

        if (value && g_ascii_strcasecmp(name, "X-Forwarded-For") == 0)
                g_string_append_printf(list, "%s%s", list->len ? ", " : "", value);
        return MHD_YES;
}

static char *trusted_origin(const HttpRequest *request, const Conn *conn)
{
        const char *const *trusted = conn->peer.ordinary ? NULL : conn->server->config.trusted_proxies;
        g_autoptr(GString) list = g_string_new(NULL);

        if (trusted)
                (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, join_forwarded, list);
        return forwarded_for(conn->peer.address, list->len ? list->str : NULL, trusted);
}

/* Where the request comes from, and for whom it counts until it is known whose it is. */
static void name_origin(HttpRequest *request, const Conn *conn)
{
        g_autofree char *from = trusted_origin(request, conn);

        g_strlcpy(request->address, from, sizeof request->address);
        if (strcmp(from, conn->peer.address) == 0)
                g_strlcpy(request->holder, conn->peer.holder, sizeof request->holder);
        else
                peer_holder(from, (uid_t)-1, request->holder);
        request->caller.address = request->address;
        request->caller.port = conn->peer.port;
        request->caller.pid = conn->peer.pid;
}

/* All that can be said before the body has come. */
static bool accept_head(HttpRequest *request, Conn *conn, const char *method, gint64 *ret_announced,
                        GError **error)
{
        HttpServer *server = conn->server;

        name_origin(request, conn);
        request->face = find_face(server, request->target);
        if (!body_announced(request, ret_announced, error))
                return false;
        if (!conn_is_served(conn))
                return set_over(server, conn, error);
        if (server->stopping)
                return set_stopping(error);
        caller_take_certificate(request, conn);
        return resolve(request, method, error) &&
               (request->face ? caller_ask_face(request, error)
                              : caller_check_access(request, conn, error)) &&
               body_open(request, *ret_announced, error);
}

static enum MHD_Result add_field(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                 const char *value, size_t value_len)
{
        framing_add(arg, name, name_len, value ? value : "", value ? value_len : 0);
        return MHD_YES;
}

/* Is it beyond doubt where the request ends? */
static bool check_framing(const HttpRequest *request, GError **error)
{
        Framing framing = { 0 };

        (void)MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, add_field, &framing);
        return framing_check(&framing, request->http_1_1, error);
}

enum MHD_Result head_take(HttpRequest *request, Conn *conn, const char *method)
{
        const char *expect = lookup_header(request, "Expect");
        g_autoptr(GError) error = NULL;
        gint64 announced = 0;

        conn->received = 0;
        conn->since_ms = clock_monotonic_ms();
        int header = PHASE_HEADER;
        if (!atomic_compare_exchange_strong(&conn->phase, &header, PHASE_BODY))
                return MHD_NO;
        request->stage = STAGE_BODY;
        if (!check_framing(request, &error)) {
                http_fail(request, error);
                return send_refusal(request, conn);
        }
        bool accepted = accept_head(request, conn, method, &announced, &error);
        conn->known = caller_is_known(request);
        if (accepted)
                return MHD_YES;
        http_fail(request, error);
        request->stage = STAGE_DISCARD;
        if (announced != 0 && expect && g_ascii_strcasecmp(expect, "100-continue") == 0) {
                int body = PHASE_BODY; /* which does not come: the client waits for leave to send it */

                return atomic_compare_exchange_strong(&conn->phase, &body, PHASE_BUSY)
                               ? send_reply(request, conn)
                               : MHD_NO;
        }
        return announced > (gint64)body_discard_max(request) ? send_refusal(request, conn) : MHD_YES;
}
