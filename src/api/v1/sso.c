/* Single sign-on over HTTP (api/auth/sso.h). A log-in that goes on is answered 202, and recorded when it
 * ends. */
#include "api/v1/internal.h"

#include <string.h>

#include "api/auth/jwt.h"
#include "base/clock.h"
#include "base/err.h"

enum { BODY_MAX = 24 * 1024, NONCE_MAX = 255 };

static bool check_sso(const Api *api, GError **error)
{
        return api->sso ||
               err_set(error, ERR_NOT_FOUND,
                       "this server has no single sign-on\nLog in with a password: `paddle login`.");
}

static json_t *format_reply(const SsoReply *reply)
{
        const AuthLogin *login = reply->login;
        g_autofree char *expires = login ? clock_format(login->expires) : NULL;

        if (reply->device)
                return json_incref((json_t *)reply->device);
        if (login)
                return json_pack("{s:s, s:s, s:s?}", "user", login->user, "token", login->token, "expires_at",
                                 expires);
        return json_pack("{s:s}", "state", reply->state == DEVICE_SLOWER ? "slow_down" : "pending");
}

static void sso_done(const SsoReply *reply, const GError *error, void *arg)
{
        HttpRequest *request = arg;
        g_autofree char *subject =
                g_strdup_printf("%s%s%s", reply->user ? reply->user : "",
                                reply->user && reply->who ? ": " : "", reply->who ? reply->who : "");

        if (*subject)
                http_request_set_subject(request, subject);
        if (reply->login)
                http_request_set_user(request, reply->login->user);
        if (error) {
                http_fail(request, error);
        } else {
                g_autoptr(json_t) body = format_reply(reply);

                http_reply_json(request, reply->login ? 200 : 202, body);
        }
        http_request_unref(request);
}

static void start(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;

        if (!check_sso(api, &error) || !auth_note_login(api->auth, request, "", &error))
                http_fail(request, error);
        else
                sso_start(api->sso, http_request_caller(request)->address, sso_done,
                          http_request_ref(request));
}

static bool take_ask(const json_t *body, SsoAsk *ret, GError **error)
{
        static const char *const known[] = { "device_code", "id_token", "nonce", NULL };

        if (!json_only(body, "", known, error) ||
            !json_get_string(body, "", "device_code", DEVICE_CODE_MAX, &ret->device_code, error) ||
            !json_get_string(body, "", "id_token", JWT_MAX, &ret->id_token, error) ||
            !json_get_string(body, "", "nonce", NONCE_MAX, &ret->nonce, error))
                return false;
        return !ret->device_code != !ret->id_token ||
               err_set(error, ERR_INVALID, "a log-in needs either device_code or id_token");
}

static void log_in(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        SsoAsk ask = { .address = http_request_caller(request)->address };

        if (!body || !take_ask(body, &ask, &error) || !check_sso(api, &error) ||
            !auth_note_login(api->auth, request, "", &error))
                http_fail(request, error);
        else
                sso_login(api->sso, &ask, sso_done, http_request_ref(request));
}

const HttpRoute sso_routes[] = {
        { "POST", "/v1/login/sso/device", ACCESS_LOGIN, VERB_CREATE, start,
          "Begin a log-in by single sign-on: a code to enter at the issuer, with any browser.",
          .reply = "SsoDevice", .reply_status = 202 },
        { "POST", "/v1/login/sso", ACCESS_LOGIN, VERB_CREATE, log_in,
          "Log in by single sign-on: with the code that was begun, or an ID token of the issuer.",
          .body_max = BODY_MAX, .request = "SsoLogin", .reply = "LoggedIn" },
        { 0 },
};
