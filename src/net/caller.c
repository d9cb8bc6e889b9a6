/* Finds the caller by token, certificate or Unix socket, and checks access to the route. */
#include "net/connection.h"

#include "base/clock.h"
#include "base/err.h"
#include "net/tls.h"

/* It is known who calls; may they use the route? */
static bool admit_caller(HttpRequest *request, GError **error)
{
        const HttpServerConfig *config = &request->server->config;
        const HttpRight *right = &request->right;

        request->caller.user = request->user;
        request->caller.admin = right->admin;
        request->caller.scope = right->scope;
        request->caller.queue = right->queue;
        request->caller.token = right->token;
        request->caller.until_ms = right->until_ms;
        if (request->user && !right->token && request->certificate.name)
                request->caller.certificate = request->by_certificate = g_strdup(request->certificate.words);
        return !request->user || !config->permits ||
               config->permits(request->entry->route, &request->caller, config->arg, error);
}

bool caller_ask_face(HttpRequest *request, GError **error)
{
        const HttpFace *face = &request->face->face;

        if (!face->authenticate(request, &request->user, &request->right, face->arg, error))
                return false;
        if (face->credential && request->user)
                request->credential = face->credential(request, face->arg);
        return admit_caller(request, error);
}

static bool copy_error(const GError *error, GError **ret)
{
        g_propagate_error(ret, g_error_copy(error));
        return false;
}

void caller_take_certificate(HttpRequest *request, Conn *conn)
{
        if (!conn->tls)
                return;
        if (!conn->client_asked)
                (void)tls_client(conn->tls, &conn->client, &conn->client_error);
        conn->client_asked = true;
        if (conn->client.name && clock_now_ms() >= conn->client.until_ms) {
                tls_client_clear(&conn->client);
                err_set(&conn->client_error, ERR_UNAUTHENTICATED,
                        "the client's certificate has expired\nConnect with another one, or send a token.");
        }
        request->certificate = (HttpCertificate){ .name = conn->client.name,
                                                  .until_ms = conn->client.until_ms,
                                                  .error = conn->client_error,
                                                  .authority = conn->client.authority,
                                                  .words = conn->client.words };
}

/* A token goes before a certificate, and that before the peer of the Unix socket, which shows none. */
static bool ask_caller(HttpRequest *request, const Conn *conn, GError **error)
{
        const HttpServerConfig *config = &conn->server->config;
        const char *authorization = lookup_header(request, "Authorization");
        const HttpCertificate *certificate = http_request_certificate(request);

        if (!authorization && certificate && certificate->error)
                return copy_error(certificate->error, error);
        if (!authorization && certificate && config->by_certificate)
                return config->by_certificate(certificate, &request->user, &request->right,
                                              &request->credential, config->arg, error);
        if (!config->authenticate(authorization, conn->peer.uid, request->address, &request->user,
                                  &request->right, config->arg, error))
                return false;
        if (config->credential)
                request->credential = config->credential(authorization, config->arg);
        return true;
}

bool caller_check_access(HttpRequest *request, const Conn *conn, GError **error)
{
        const HttpServerConfig *config = &conn->server->config;
        const HttpRoute *route = request->entry->route;
        HttpAccess access = config->access ? config->access(route, request, config->arg) : HTTP_PUBLIC;

        if (access == HTTP_PUBLIC)
                return true;
        if (access == HTTP_NOBODY)
                return err_set(error, ERR_DENIED, "no access rule for '%s %s'", route->method, route->path);
        if (!config->authenticate)
                return err_set(error, ERR_UNAUTHENTICATED, "this server knows no callers");
        if (!ask_caller(request, conn, error) || !admit_caller(request, error))
                return false;
        if (access == HTTP_ADMIN && !request->caller.admin)
                return err_set(error, ERR_DENIED, "only administrators may call '%s %s' (you are '%s')",
                               route->method, http_request_path(request), request->user);
        return true;
}

bool caller_is_known(const HttpRequest *request)
{
        return request->caller.user != NULL;
}
