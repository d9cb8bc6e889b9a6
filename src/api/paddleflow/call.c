/* Calls: who makes them, what they say, how they are answered (doc/reference/paddleflow-api.md, "Addresses
 * and headers" to "Who may do what"). */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/number.h"

enum { ID_MAX = 200 }; /* bytes of a request id that is echoed */

/* ---- the request's id ---- */

/* The client's own, or a UUID that is the same whenever it is asked for. */
static char *request_id(const PaddleFlow *flow, const HttpRequest *request)
{
        const char *own = http_request_header(request, "x-pf-request-id"), *id = http_request_id(request);
        guint8 bytes[16];
        char *copy;

        if (!own || !*own) {
                paddleflow_hash(flow, "request", id, strlen(id), bytes, sizeof bytes);
                return uuid_format(bytes);
        }
        copy = g_strndup(own, ID_MAX);
        for (char *at = copy; *at; at++)
                if (!g_ascii_isprint(*at))
                        *at = '?';
        return copy;
}

static void add_request_id(const PaddleFlow *flow, HttpRequest *request)
{
        g_autofree char *id = request_id(flow, request);

        http_reply_header(request, "x-pf-request-id", id);
}

/* ---- who calls ---- */

static bool by_certificate(PaddleFlow *flow, const HttpCertificate *certificate, char **ret_user,
                           HttpRight *ret_right, GError **error)
{
        g_autoptr(GError) why = NULL;

        return auth_by_certificate(certificate, ret_user, ret_right, NULL, flow->auth, &why) ||
               paddleflow_set(error, CODE_AuthFailed, "%s", why->message);
}

static bool who_calls(PaddleFlow *flow, const HttpRequest *request, char **ret_user, HttpRight *ret_right,
                      GError **error)
{
        const char *token = http_request_header(request, "x-pf-authorization");
        const HttpCertificate *certificate = http_request_certificate(request);

        if (certificate && (!token || !*token))
                return by_certificate(flow, certificate, ret_user, ret_right, error);
        if (!token || !*token)
                return paddleflow_set(error, CODE_AuthWithoutToken,
                                      "a token is needed\nLog in with POST " PADDLEFLOW_BASE
                                      "/login and send it as x-pf-authorization.");
        return login_check(flow, token, ret_user, ret_right, error);
}

static bool authenticate(HttpRequest *request, char **ret_user, HttpRight *ret_right, void *arg,
                         GError **error)
{
        const HttpRoute *route = http_request_route(request);

        add_request_id(arg, request);
        if (access_row(route->kind, route->verb) & REL_ANYONE)
                return true;
        return who_calls(arg, request, ret_user, ret_right, error);
}

static char *credential(HttpRequest *request, void *arg)
{
        const char *token = http_request_header(request, "x-pf-authorization");
        const HttpCertificate *certificate = http_request_certificate(request);

        if (certificate && certificate->name && (!token || !*token))
                return auth_certificate_credential(certificate);
        return login_credential(arg, token);
}

/* ---- errors ---- */

static void reply_error(PaddleFlow *flow, HttpRequest *request, const GError *error, const CodeMap *map)
{
        Code code = code_of(error, map);
        g_autofree char *id = request_id(flow, request), *text = paddleflow_message(error);
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        static const Code denials[] = { CODE_AuthWithoutToken, CODE_AuthInvalidToken, CODE_AuthFailed,
                                        CODE_AuthIllegalUser,  CODE_AccessDenied,     CODE_OnlyRootAllowed };
        g_autoptr(json_t) body =
                json_pack("{s:s, s:s, s:s}", "requestID", id, "code", code_word(code), "message", valid);

        for (gsize i = 0; i < G_N_ELEMENTS(denials); i++)
                if (code == denials[i])
                        http_request_set_denied(request);
        http_reply_json(request, code_status(code), body);
}

/* A path that does not exist is told to those who are known. */
static bool hides_paths(PaddleFlow *flow, const HttpRequest *request, const GError *error, GError **ret)
{
        g_autofree char *user = NULL;
        HttpRight right = { 0 };
        bool known;

        if (!(err_is(error, ERR_NOT_FOUND) || err_is(error, ERR_METHOD)) ||
            strcmp(http_request_path(request), PADDLEFLOW_BASE "/login") == 0)
                return false;
        known = who_calls(flow, request, &user, &right, ret);
        g_free(right.queue);
        g_free(right.token);
        return !known;
}

/* What the server refuses by itself. */
static void fail(HttpRequest *request, const GError *error, void *arg)
{
        static const CodeMap map[] = { { ERR_NOT_FOUND, CODE_PathNotFound },
                                       { ERR_INVALID, CODE_InvalidURI },
                                       CODE_MAP_END };
        g_autoptr(GError) unknown = NULL;
        bool unresolved = !http_request_route(request);

        if (unresolved)
                add_request_id(arg, request);
        reply_error(arg, request, unresolved && hides_paths(arg, request, error, &unknown) ? unknown : error,
                    map);
}

/* Outside of the base path there is nothing, whoever asks. */
static void fail_outside(HttpRequest *request, const GError *error, void *arg)
{
        static const CodeMap map[] = { { ERR_NOT_FOUND, CODE_PathNotFound },
                                       { ERR_INVALID, CODE_InvalidURI },
                                       CODE_MAP_END };

        add_request_id(arg, request);
        reply_error(arg, request, error, map);
}

HttpFace paddleflow_face_outside(PaddleFlow *flow)
{
        static const HttpRoute none[] = { { 0 } };

        return (HttpFace){ "/api/paddleflow", none, flow, authenticate, fail_outside, credential };
}

HttpFace paddleflow_face(PaddleFlow *flow)
{
        return (HttpFace){ PADDLEFLOW_BASE "/", paddleflow_routes(), flow, authenticate, fail, credential };
}

/* ---- calls ---- */

/* Acting for others is the administrator's (doc/reference/paddleflow-api.md, "Who may do what"). */
static bool check_speaker(const Call *call, GError **error)
{
        bool writes = strcmp(http_request_route(call->request)->method, "POST") == 0 ||
                      strcmp(http_request_route(call->request)->method, "PUT") == 0;
        const char *name = !writes                      ? call_query(call, "userName")
                           : json_is_object(call->body) ? json_string_value(go_member(call->body, "userName"))
                                                        : NULL;

        if (!call->user || !name || !*name || call->root || strcmp(name, call->user) == 0)
                return true;
        return paddleflow_set(error, CODE_AuthIllegalUser, "'%s' may not act for '%.60s'", call->user, name);
}

bool call_begin(Call *call, HttpRequest *request, void *arg)
{
        const HttpCaller *caller = http_request_caller(request);
        const char *method = http_request_route(request)->method;
        GError *error = NULL;
        gsize len;
        const char *text = http_request_body(request, &len);

        *call = (Call){ .flow = arg, .request = request, .user = caller->user, .root = caller->admin };
        call->catalog = engine_catalog(call->flow->engine);
        call->texts = g_ptr_array_new_with_free_func(g_free);
        if (strcmp(method, "GET") != 0 && strcmp(method, "DELETE") != 0)
                call->body = go_parse(text, len, &call->unread);
        if (check_speaker(call, &error))
                return true;
        call_fail(call, error);
        return false;
}

void call_end(Call *call)
{
        catalog_unref(call->catalog);
        g_ptr_array_unref(call->texts);
        json_decref(call->body);
        g_clear_error(&call->unread);
}

json_t *call_body(const Call *call, const GoField *fields, GError **error)
{
        GError *why = NULL;
        json_t *decoded = call->body ? go_decode(call->body, fields, &why) : NULL;

        if (decoded)
                return decoded;
        paddleflow_set(error, CODE_MalformedJSON, "%s", why ? why->message : call->unread->message);
        g_clear_error(&why);
        return NULL;
}

bool call_root(const Call *call, Code code, GError **error)
{
        const HttpRoute *route = http_request_route(call->request);

        return call->root || paddleflow_set(error, code, "'%s %s' is for root, and '%s' is not",
                                            route->method, route->path, call->user);
}

const char *call_query(const Call *call, const char *name)
{
        const char *value = http_request_query(call->request, name);

        return value ? value : "";
}

const char *call_param(const Call *call, const char *name)
{
        char *text = g_strstrip(g_strdup(http_request_param(call->request, name)));

        g_ptr_array_add(call->texts, text);
        return text;
}

bool paddleflow_number_parse(const char *what, const char *text, gint64 min, gint64 max, gint64 *ret,
                             GError **error)
{
        return number_parse(what, text + (*text == '+'), min, max, ret, error);
}

bool call_query_int(const Call *call, const char *name, gint64 min, gint64 max, gint64 fallback, gint64 *ret,
                    GError **error)
{
        const char *text = call_query(call, name);
        g_autoptr(GError) why = NULL;

        *ret = fallback;
        return !*text || paddleflow_number_parse(name, text, min, max, ret, &why) ||
               paddleflow_set(error, CODE_InvalidURI, "%s", why->message);
}

char **call_query_list(const Call *call, const char *name)
{
        const char *text = call_query(call, name);

        return *text ? g_strsplit(text, ",", PADDLEFLOW_KEYS_MAX) : NULL;
}

/* ---- replies ---- */

void paddleflow_reply(HttpRequest *request, json_t *value)
{
        http_reply_json(request, 200, value);
        json_decref(value);
}

void paddleflow_reply_empty(HttpRequest *request)
{
        http_reply(request, 200, "application/json", NULL, 0);
}

void paddleflow_fail(HttpRequest *request, GError *error, const CodeMap *map)
{
        error = paddleflow_translate(error, map);
        http_fail(request, error); /* comes back to fail() */
        g_error_free(error);
}

/* ---- later ---- */

typedef struct {
        HttpRequest *request;
        PaddleFlow *flow;
        HttpHandler handler;
} Deferred;

static void deferred_free(Deferred *deferred)
{
        http_request_unref(deferred->request);
        g_free(deferred);
}

static void run_deferred(bool stopped, void *arg)
{
        Deferred *deferred = arg;
        GError *error = NULL;

        if (stopped) {
                err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
                paddleflow_fail(deferred->request, error, NULL);
        } else {
                deferred->handler(deferred->request, deferred->flow);
        }
        deferred_free(deferred);
}

static void defer(HttpRequest *request, PaddleFlow *flow, ThreadPool *threads, HttpHandler handler)
{
        Deferred *deferred = g_new0(Deferred, 1);
        GError *error = NULL;

        *deferred = (Deferred){ http_request_ref(request), flow, handler };
        if (thread_pool_push(threads, http_request_caller(request)->user, run_deferred, deferred, &error))
                return;
        paddleflow_fail(request, error, NULL);
        deferred_free(deferred);
}

void paddleflow_defer(HttpRequest *request, PaddleFlow *flow, HttpHandler handler)
{
        defer(request, flow, flow->threads, handler);
}

void paddleflow_defer_ask(HttpRequest *request, PaddleFlow *flow, HttpHandler handler)
{
        defer(request, flow, flow->askers, handler);
}
