/* Second factors over HTTP: set up in two steps, a secret and a code of it; taken away. What a log-in asks is
 * in users.c. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"

enum { BODY_MAX = 16 * 1024, TEXT_MAX = 4096, CODE_MAX = 64 };

static void fail(HttpRequest *request, const GError *error, gint64 wait_ms)
{
        g_autofree char *after = g_strdup_printf("%d", (int)((wait_ms + 999) / 1000));

        if (wait_ms)
                http_reply_header(request, "Retry-After", after);
        http_fail(request, error);
}

static void make_secret(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autofree char *secret = NULL, *uri = NULL;
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const User *user = catalog_user(catalog, http_request_caller(request)->user);
        g_autoptr(GError) error = NULL;

        if (user && !auth_lacks_factor(user, &error)) {
                http_fail(request, error);
                return;
        }
        auth_new_factor_secret(http_request_caller(request)->user, &secret, &uri);
        reply = json_pack("{s:s, s:s}", "secret", secret, "uri", uri);
        http_reply_json(request, 200, reply);
}

/* ---- setting it up ---- */

static void add_done(const AuthFactor *factor, const GError *error, gint64 wait_ms, void *arg)
{
        HttpRequest *request = arg;
        g_autoptr(json_t) codes = json_array(), reply = NULL;

        if (error) {
                fail(request, error, wait_ms);
        } else {
                const AuthLogin *login = &factor->login;
                g_autofree char *expires = login->expires ? clock_format(login->expires) : NULL;

                for (const char *const *code = factor->recovery; code && *code; code++)
                        json_array_append_new(codes, json_string(*code));
                reply = json_pack("{s:O, s:s?, s:s?}", "recovery_codes", codes, "token",
                                  *login->token ? login->token : NULL, "expires_at", expires);
                http_reply_json(request, 200, reply);
        }
        http_request_unref(request);
}

/* Over the network the password is asked for once more: a stolen token is not enough. On the Unix socket the
 * machine vouches for the caller. */
static bool check_password(const HttpRequest *request, const User *user, const char *password, GError **error)
{
        if (api_is_vouched_for(request))
                return true;
        if (!user->password && !user->ldap)
                return err_set(error, ERR_CONFLICT,
                               "'%s' has no password, and a second factor is for log-ins with one\nAn "
                               "administrator sets a "
                               "password.",
                               user->object.name);
        return password || err_set(error, ERR_INVALID, "password is missing: the present password of '%s'",
                                   user->object.name);
}

static bool need(const json_t *body, const char *name, gsize max, const char **ret, GError **error)
{
        return json_get_string(body, "", name, max, ret, error) &&
               (*ret || err_set(error, ERR_INVALID, "%s is missing", name));
}

static bool take_new(Api *api, HttpRequest *request, const json_t *body, FactorChange *ret, GError **error)
{
        static const char *const known[] = { "secret", "code", "password", NULL };
        const HttpCaller *caller = http_request_caller(request);
        g_autoptr(Catalog) catalog = engine_catalog(api->engine);
        const User *user = catalog_user(catalog, caller->user);
        const char *password = NULL;

        if (!user)
                return err_set(error, ERR_NOT_FOUND, "there is no user '%s'", caller->user);
        *ret = (FactorChange){ .user = caller->user, .address = caller->address, .by = caller->user };
        if (!json_only(body, "", known, error) || !need(body, "secret", CODE_MAX, &ret->secret, error) ||
            !need(body, "code", CODE_MAX, &ret->code, error) ||
            !json_get_string(body, "", "password", TEXT_MAX, &password, error) ||
            !check_password(request, user, password, error))
                return false;
        ret->password = api_is_vouched_for(request) ? NULL : password;
        return true;
}

static void add(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        FactorChange change;

        if (body && take_new(api, request, body, &change, &error))
                auth_add_second_factor(api->auth, &change, add_done, http_request_ref(request));
        else
                http_fail(request, error);
}

/* ---- taking it away ---- */

static void drop_done(const AuthFactor *factor, const GError *error, gint64 wait_ms, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                fail(request, error, wait_ms);
        else
                http_reply(request, 204, NULL, NULL, 0);
        http_request_unref(request);
}

/* Their own over the network: both factors once more. An administrator needs none of another's. */
static bool take_old(HttpRequest *request, const json_t *body, FactorChange *ret, GError **error)
{
        static const char *const known[] = { "code", "password", NULL };
        const HttpCaller *caller = http_request_caller(request);
        const char *name = http_request_param(request, "name");
        bool self = strcmp(caller->user, name) == 0;

        if (!auth_may(caller, ACCESS_SECOND_FACTOR, VERB_DELETE, self, false))
                return err_set(error, ERR_DENIED,
                               "only administrators may take away another's second factor (you are '%s')",
                               caller->user);
        *ret = (FactorChange){ .user = name, .address = caller->address, .by = caller->user };
        if (!json_only(body, "", known, error))
                return false;
        return !self || api_is_vouched_for(request) ||
               (need(body, "password", TEXT_MAX, &ret->password, error) &&
                need(body, "code", CODE_MAX, &ret->code, error));
}

static void drop(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) body = http_request_json(request, &error);
        FactorChange change;

        if (!body || !take_old(request, body, &change, &error)) {
                http_fail(request, error);
                return;
        }
        http_request_set_owner(request, change.user);
        auth_drop_second_factor(api->auth, &change, drop_done, http_request_ref(request));
}

const HttpRoute second_factor_routes[] = {
        { "POST", "/v1/second-factor", ACCESS_SECOND_FACTOR, VERB_CREATE, make_secret,
          "A secret for a second factor of the caller; it counts once it is confirmed.",
          .reply = "SecondFactorSecret" },
        { "PUT", "/v1/second-factor", ACCESS_SECOND_FACTOR, VERB_UPDATE, add,
          "Set up the second factor with a code of its secret; earlier log-ins end, over TCP there is a new "
          "one.",
          .body_max = BODY_MAX, .request = "NewSecondFactor", .reply = "SecondFactorMade" },
        { "POST", "/v1/users/{name}/second-factor/disable", ACCESS_SECOND_FACTOR, VERB_DELETE, drop,
          "Take a second factor away: one's own with password and code, another's as an administrator.",
          .body_max = BODY_MAX, .request = "SecondFactorProof", .reply_status = 204 },
        { 0 },
};
