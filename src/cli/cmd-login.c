/* paddle login, whoami: a token for a server on TCP, stored in the configuration file. */
#include <string.h>

#include "base/err.h"
#include "cli/config.h"
#include "cli/discover.h"
#include "cli/listing.h"
#include "cli/password.h"
#include "cli/sso.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *user, *otp, *format;
        bool from_stdin, sso;
} Login;

static const Option login_options[] = {
        { "user", 'u', OPTION_STRING, offsetof(Login, user), "NAME",
          "user name; without it, your name on this machine" },
        { "password-stdin", 0, OPTION_BOOL, offsetof(Login, from_stdin), NULL,
          "read the password from standard input" },
        { "sso", 0, OPTION_BOOL, offsetof(Login, sso), NULL,
          "log in by single sign-on, with a browser on any machine" },
        { "otp", 0, OPTION_STRING, offsetof(Login, otp), "CODE",
          "code of the second factor, or a recovery code; also in PADDLE_OTP; default: asks for it" },
        COMMON_OPTIONS,
        { 0 },
};

static const Option whoami_options[] = {
        FORMAT_OPTION(offsetof(Login, format)),
        COMMON_OPTIONS,
        { 0 },
};

static json_t *ask(Cli *cli, const Login *login, const char *user, GError **error)
{
        g_autofree char *what = g_strdup_printf("password of '%s' at %s", user, http_client_url(cli->client));
        g_autoptr(Password) secret = password_ask(cli, what, login->from_stdin, false, error);

        return secret ? json_pack("{s:s, s:s, s:s*}", "user", user, "password", secret, "otp",
                                  code_given(login->otp))
                      : NULL;
}

/* Sends the log-in, and again with a code if the server asks for one. */
static bool send(Cli *cli, const Login *login, json_t *body, json_t **ret, GError **error)
{
        g_autoptr(GError) cause = NULL;
        g_autoptr(Password) code = NULL;

        if (http_call_json(cli->client, "POST", "/v1/login", body, ret, &cause))
                return true;
        if (!err_is(cause, ERR_SECOND_FACTOR) || json_object_get(body, "otp")) {
                g_propagate_error(error, g_steal_pointer(&cause));
                return false;
        }
        code = code_ask(cli, "code of the second factor", login->from_stdin, error);
        if (!code)
                return false;
        json_object_set_new(body, "otp", json_string(code));
        return http_call_json(cli->client, "POST", "/v1/login", body, ret, error);
}

/* Without a token: the stored one may be invalid, and a log-in needs none. */
static HttpClient *plain_client(Cli *cli, GError **error)
{
        g_autoptr(Discovery) found = discover(cli->common->server, NULL, DISCOVER_START, error);

        if (!found)
                return NULL;
        if (g_str_has_prefix(found->url, "unix:")) {
                err_set(error, ERR_USAGE,
                        "the server is on a Unix socket (%s), which needs no log-in\nLog in to servers on "
                        "TCP: --server http://HOST:PORT.",
                        found->url);
                return NULL;
        }
        cli->client = discovery_client(found, NULL, error);
        return cli->client;
}

/* Exchanges the password for a token; rewords errors for a log-in. */
static bool log_in_with_password(Cli *cli, const Login *login, const char *user, json_t **ret, GError **error)
{
        g_autoptr(json_t) body = NULL;
        g_autoptr(GError) cause = NULL;
        g_autofree char *text = NULL;

        if (!login->from_stdin)
                sso_hint(cli);
        body = ask(cli, login, user, error);
        if (!body)
                return false;
        if (send(cli, login, body, ret, &cause))
                return true;
        text = err_text(cause);
        if (err_is(cause, ERR_UNAUTHENTICATED))
                return err_set(error, ERR_DENIED, "cannot log in as '%s': %s", user,
                               text); /* the hint about tokens does not help here */
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
}

static bool run_login(Cli *cli, const void *options, char *const *words, GError **error)
{
        g_autofree char *until = NULL;
        const Login *login = options;
        const char *user = login->user ? login->user : g_get_user_name();
        g_autofree char *path = client_config_path();
        g_autoptr(json_t) reply = NULL;

        if (login->sso && (login->user || login->from_stdin || login->otp))
                return err_set(
                        error, ERR_USAGE,
                        "--sso cannot be combined with --user, --password-stdin or --otp\nThe issuer tells "
                        "the server who you are.");
        if (!plain_client(cli, error))
                return false;
        if (login->sso ? !(reply = sso_log_in(cli, error))
                       : !log_in_with_password(cli, login, user, &reply, error))
                return false;
        if (!client_config_store(path, http_client_url(cli->client), text_of(reply, "token"), error))
                return false;
        until = local_time_text(reply, "expires_at");
        cli_say(cli, "logged in as '%s'; server and token are kept in '%s'%s%s", text_of(reply, "user"), path,
                until ? " until " : "", until ? until : "");
        if (json_is_true(json_object_get(reply, "lacks_second_factor")))
                cli_say(cli, "this server asks you for a second factor: set it up with `paddle user totp "
                             "enable`; until "
                             "then nothing else works");
        return true;
}

/* Shows the scope and the expiry of the token. */
static void say_right(const Cli *cli, const json_t *who)
{
        g_autoptr(GString) said = g_string_new(NULL);
        g_autofree char *until = local_time_text(who, "expires_at");
        bool token = is_set(who, "token");

        if (!token && !until)
                return;
        g_string_append_printf(said, "%s %s", token ? "token" : "certificate", text_of(who, "token"));
        g_strchomp(said->str);
        said->len = strlen(said->str);
        if (token)
                g_string_append_printf(said, ", scope %s",
                                       is_set(who, "scope") ? text_of(who, "scope") : "admin");
        if (is_set(who, "queue"))
                g_string_append_printf(said, ", queue '%s'", text_of(who, "queue"));
        if (until)
                g_string_append_printf(said, ", valid until %s", until);
        else
                g_string_append(said, ", without an end");
        cli_say(cli, "%s", said->str);
}

static bool run_whoami(Cli *cli, const void *options, char *const *words, GError **error)
{
        const Login *login = options;
        g_autoptr(json_t) who = NULL;
        Format format;

        if (!format_parse(cli, login->format, &format, error) || !cli_client(cli, error) ||
            !http_call_json(cli->client, "GET", "/v1/whoami", NULL, &who, error))
                return false;
        if (format != FORMAT_TABLE && format != FORMAT_WIDE) {
                format_print(who, format, "user");
                return true;
        }
        format_print(who, FORMAT_NAME, "user");
        cli_say(cli, "%s at %s", json_is_true(json_object_get(who, "admin")) ? "an administrator" : "a user",
                http_client_url(cli->client));
        say_right(cli, who);
        return true;
}

const Verb verb_login = {
        .name = "login",
        .args = "",
        .summary = "Log in to a server on TCP; the token is stored in the configuration",
        .about = "The password is asked for on the terminal. Server and token go to the configuration file, "
                 "which "
                 "only you can read; from then on every command finds them there. With --sso no password is "
                 "asked for: "
                 "the server names an address and a code, which you enter there with a browser on any "
                 "machine.",
        .examples = "paddle login --server http://10.0.0.1:8999 --user ann\n"
                    "paddle login --server https://paddle.lab:8999 --sso",
        .options = login_options,
        .size = sizeof(Login),
        .run = run_login,
};

const Verb verb_whoami = {
        .name = "whoami",
        .args = "",
        .summary = "Show which user you are logged in as, and what your token may do",
        .options = whoami_options,
        .size = sizeof(Login),
        .run = run_whoami,
};
