/* Log-in and passwords over HTTP; users themselves are in catalog.c. */
#include "api/v1/internal.h"

#include <string.h>

#include "api/auth/password.h"
#include "base/clock.h"
#include "base/err.h"

enum { NAME_BYTES_MAX = 128, BODY_MAX = 16 * 1024, TEXT_MAX = 4096, CODE_TEXT_MAX = 64 };

/* ---- log-in ---- */

static void login_done(const AuthLogin *login, const GError *error, gint64 wait_ms, void *arg)
{
        HttpRequest *request = arg;
        g_autofree char *expires = login && login->expires ? clock_format(login->expires) : NULL;
        g_autoptr(json_t) reply = NULL;

        if (error) {
                g_autofree char *after = g_strdup_printf("%d", (int)((wait_ms + 999) / 1000));

                if (wait_ms)
                        http_reply_header(request, "Retry-After", after);
                http_fail(request, error);
        } else {
                auth_note_logged_in(request, login->user, login->by_directory);
                reply = json_pack("{s:s, s:s, s:s?}", "user", login->user, "token", login->token,
                                  "expires_at", expires);
                if (login->lacks_factor)
                        json_object_set_new(reply, "lacks_second_factor", json_true());
                http_reply_json(request, 200, reply);
        }
        http_request_unref(request);
}

static bool need_string(const json_t *body, const char *name, gsize max, const char **ret, GError **error)
{
        return json_get_string(body, "", name, max, ret, error) &&
               (*ret || err_set(error, ERR_INVALID, "%s is missing", name));
}

static void log_in(HttpRequest *request, void *arg)
{
        static const char *const known[] = { "user", "password", "otp", NULL };
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        LoginAsk ask = { 0 };
        LoginOrigin origin;

        if (!body || !json_only(body, "", known, &error) ||
            !need_string(body, "user", NAME_BYTES_MAX, &ask.user, &error) ||
            !need_string(body, "password", TEXT_MAX, &ask.password, &error) ||
            !json_get_string(body, "", "otp", CODE_TEXT_MAX, &ask.code, &error)) {
                http_fail(request, error);
                return;
        }
        if (!auth_note_login(api->auth, request, ask.user, &error)) {
                http_fail(request, error);
                return;
        }
        origin = login_origin(request);
        auth_login(api->auth, &ask, &origin, login_done, http_request_ref(request));
}

/* ---- passwords ---- */

bool api_is_vouched_for(const HttpRequest *request)
{
        return strcmp(http_request_caller(request)->address, "unix") == 0 &&
               !http_request_header(request, "Authorization");
}

/* Users must give their old password to change it, so that a stolen token is not enough. A request over the
 * Unix socket without a token needs none: the kernel tells who the user is. */
static bool needs_old(const HttpRequest *request, const User *user, const char *old, GError **error)
{
        const HttpCaller *caller = http_request_caller(request);

        if (strcmp(caller->user, user->object.name) != 0 || api_is_vouched_for(request) || old)
                return true;
        if (!user->password)
                return err_set(
                        error, ERR_DENIED,
                        "'%s' has no password yet\nSet the first one on the server's machine, over its "
                        "socket, or ask an administrator.",
                        caller->user);
        return err_set(error, ERR_INVALID, "old is missing: the present password of '%s'", caller->user);
}

const char *api_whose(Api *api, HttpRequest *request)
{
        const HttpCaller *caller = http_request_caller(request);
        AccessKind kind = http_request_route(request)->kind;
        const char *user = http_request_query(request, "user");
        g_autoptr(GError) error = NULL;

        if (!user || strcmp(user, caller->user) == 0)
                return caller->user;
        if (!auth_may(caller, kind, VERB_DELETE, false, false))
                err_set(&error, ERR_DENIED,
                        "only administrators can see, change or delete %ss of others (you are '%s')",
                        access_kind_name(kind), caller->user);
        else if (api_check_user(api, user, &error))
                http_request_set_owner(request, user);
        if (!error)
                return user;
        http_fail(request, error);
        return NULL;
}

bool api_check_user(Api *api, const char *name, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);

        return catalog_user(catalog, name) ||
               err_set(error, ERR_NOT_FOUND, "there is no user '%.200s'\nSee `paddle user list`.", name);
}

static bool take_password(Api *api, HttpRequest *request, const json_t *body, PasswordChange *ret,
                          GError **error)
{
        static const char *const known[] = { "password", "old", NULL };
        const HttpCaller *caller = http_request_caller(request);
        const char *name = http_request_param(request, "name");
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const User *user = catalog_user(catalog, name);
        bool self = strcmp(caller->user, name) == 0;

        if (!auth_may(caller, ACCESS_PASSWORD, VERB_UPDATE, self, false))
                return err_set(error, ERR_DENIED, "'%s' may change only their own password", caller->user);
        if (!user)
                return api_check_user(api, name, error);
        if (!auth_password_is_here(api->auth, user, error))
                return false;
        *ret = (PasswordChange){ .user = name, .address = caller->address, .by = caller->user };
        return json_only(body, "", known, error) &&
               need_string(body, "password", TEXT_MAX, &ret->password, error) &&
               json_get_string(body, "", "old", TEXT_MAX, &ret->old, error) &&
               password_check("password", ret->password, error) && needs_old(request, user, ret->old, error);
}

static void put_password(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        PasswordChange change;

        if (body && take_password(api, request, body, &change, &error))
                auth_change_password(api->auth, &change, api_answer_done, http_request_ref(request));
        else
                http_fail(request, error);
}

const HttpRoute user_routes[] = {
        { "POST", "/v1/login", ACCESS_LOGIN, VERB_CREATE, log_in, "Log in with a password; gives a token.",
          .body_max = BODY_MAX, .request = "Login", .reply = "LoggedIn" },
        { "PUT", "/v1/users/{name}/password", ACCESS_PASSWORD, VERB_UPDATE, put_password,
          "Set a password; what log-ins of the user gave ends.", .body_max = BODY_MAX, .request = "Password",
          .reply_status = 204 },
        { 0 },
};
