/* See sso.h. */
#include "cli/sso.h"

#include <string.h>

#include "base/err.h"
#include "cli/listing.h"

enum { SLOWER_S = 5 }; /* RFC 8628, 3.5 */

void sso_hint(Cli *cli)
{
        g_autoptr(json_t) version = NULL;

        if (http_call_json(cli->client, "GET", "/v1/version", NULL, &version, NULL) &&
            json_is_true(json_object_get(version, "sso")))
                cli_say(cli, "this server has single sign-on: `paddle login --sso`");
}

static void show(Cli *cli, const json_t *device)
{
        const char *complete = text_of(device, "verification_uri_complete");

        cli_say(cli, "Open %s in a browser, on any machine, and enter this code:\n\n    %s\n",
                text_of(device, "verification_uri"), text_of(device, "user_code"));
        if (*complete)
                cli_say(cli, "Or open %s and compare the code.", complete);
        cli_say(cli, "Waiting for you to log in there (Ctrl-C ends this) ...");
}

/* Older servers do not have the route. */
static bool begin(Cli *cli, json_t **ret, GError **error)
{
        g_autoptr(GError) cause = NULL;

        if (http_call_json(cli->client, "POST", "/v1/login/sso/device", NULL, ret, &cause))
                return true;
        if (err_is(cause, ERR_NOT_FOUND) || err_is(cause, ERR_METHOD))
                return err_set(
                        error, ERR_NOT_FOUND,
                        "the server at %s has no single sign-on\nLog in with a password: `paddle login`.",
                        http_client_url(cli->client));
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
}

/* One request; *ret NULL: not yet. A busy or unreachable server is asked again; *ret_trouble: why there was
 * no answer, or NULL. */
static bool ask(Cli *cli, const json_t *body, gint64 *interval_s, json_t **ret, GError **ret_trouble,
                GError **error)
{
        g_autoptr(GError) cause = NULL;
        g_autoptr(json_t) reply = NULL;

        g_clear_error(ret_trouble);
        if (!http_call_json(cli->client, "POST", "/v1/login/sso", body, &reply, &cause)) {
                bool passes = err_is(cause, ERR_UNAVAILABLE) || err_is(cause, ERR_UNREACHABLE) ||
                              err_is(cause, ERR_TIMEOUT);

                g_propagate_error(passes ? ret_trouble : error, g_steal_pointer(&cause));
                return passes;
        }
        if (is_set(reply, "token"))
                *ret = g_steal_pointer(&reply);
        else if (strcmp(text_of(reply, "state"), "slow_down") == 0)
                *interval_s += SLOWER_S;
        return true;
}

static bool set_expired(const GError *trouble, GError **error)
{
        g_autofree char *cause = err_text(trouble);

        if (trouble)
                return err_set(error, (ErrCode)trouble->code,
                               "the code has expired before an answer came: %s\nBegin again: `paddle login "
                               "--sso`.",
                               cause);
        return err_set(error, ERR_GONE,
                       "the code was not entered in time, so it has expired\nBegin again: `paddle login "
                       "--sso`.");
}

json_t *sso_log_in(Cli *cli, GError **error)
{
        g_autoptr(json_t) device = NULL, body = NULL;
        g_autoptr(GError) trouble = NULL;
        json_t *login = NULL;
        gint64 interval_s, until;

        if (!begin(cli, &device, error))
                return NULL;
        show(cli, device);
        body = json_pack("{s:s}", "device_code", text_of(device, "device_code"));
        interval_s = int_of(device, "interval");
        until = g_get_monotonic_time() + int_of(device, "expires_in") * G_USEC_PER_SEC;
        while (!login) {
                g_usleep((gulong)(interval_s * G_USEC_PER_SEC));
                if (!ask(cli, body, &interval_s, &login, &trouble, error))
                        return NULL;
                if (!login && g_get_monotonic_time() > until) {
                        set_expired(trouble, error);
                        return NULL;
                }
        }
        return login;
}
