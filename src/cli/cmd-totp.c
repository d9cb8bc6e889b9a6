/* paddle user totp: sets up and removes a second factor. */
#include <string.h>

#include "base/err.h"
#include "cli/config.h"
#include "cli/discover.h"
#include "cli/listing.h"
#include "cli/qr.h"
#include "cli/password.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *otp;
        bool from_stdin;
} Totp;

static const Option options[] = {
        { "otp", 0, OPTION_STRING, offsetof(Totp, otp), "CODE",
          "disable: code of the second factor, or a recovery code; also in PADDLE_OTP; default: asks "
          "for it" },
        { "password-stdin", 0, OPTION_BOOL, offsetof(Totp, from_stdin), NULL,
          "read the password from standard input, and the code from its second line" },
        COMMON_OPTIONS,
        { 0 },
};

enum { TRIES = 3 };

static bool add_password(const Cli *cli, const Totp *totp, json_t *body, GError **error)
{
        g_autoptr(Password) password = NULL;

        password = password_ask(cli, "password", totp->from_stdin, false, error);
        if (password)
                json_object_set_new(body, "password", json_string(password));
        return password != NULL;
}

static bool add_code(const Cli *cli, const Totp *totp, const char *given, const char *what, json_t *body,
                     GError **error)
{
        g_autoptr(Password) asked = given ? NULL : code_ask(cli, what, totp->from_stdin, error);

        if (!given && !asked)
                return false;
        json_object_set_new(body, "code", json_string(given ? given : asked));
        return true;
}

/* ---- enable ---- */

static void show_secret(const Cli *cli, const json_t *made)
{
        const Terminal *terminal = &cli->terminal;
        g_autofree char *picture =
                terminal->out_is_terminal && terminal->utf8 ? qr_draw(text_of(made, "uri")) : NULL;

        if (picture)
                printf("%s\n", picture);
        printf("secret  %s\nuri     %s\n", text_of(made, "secret"), text_of(made, "uri"));
        fflush(stdout);
}

static void show_recovery(const Cli *cli, const json_t *done)
{
        gsize i;
        json_t *code;

        cli_say(cli, "the second factor is set up\nEach recovery code can be used once instead of a code. "
                     "Keep them separate from the device; they are shown only now:");
        json_array_foreach(json_object_get(done, "recovery_codes"), i, code)
                puts(json_string_value(code));
}

/* Earlier log-ins have ended; this one continues with a new token. */
static bool keep_token(Cli *cli, const json_t *done, GError **error)
{
        g_autofree char *path = client_config_path();

        if (!is_set(done, "token"))
                return true;
        if (!client_config_store(path, http_client_url(cli->client), text_of(done, "token"), error))
                return false;
        cli_say(cli, "earlier log-ins are void; a new token is kept in '%s'", path);
        return true;
}

/* A log-in that may only set up a second factor (--require-second-factor) may not ask for its user. */
static bool is_vouched_for(Cli *cli, bool *ret, GError **error)
{
        g_autofree char *self = NULL;
        g_autoptr(GError) cause = NULL;

        *ret = false;
        if (!g_str_has_prefix(http_client_url(cli->client), "unix:") || who_am_i(cli, &self, ret, &cause) ||
            err_is(cause, ERR_DENIED))
                return true;
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
}

/* After a mistyped code, or with a wrong clock, the user can retry with the same secret, which the device
 * has. */
static bool confirm(Cli *cli, const Totp *totp, json_t *body, json_t **ret, GError **error)
{
        for (int left = totp->from_stdin ? 0 : TRIES - 1;; left--) {
                g_autoptr(GError) cause = NULL;
                g_autofree char *text = NULL;

                if (!add_code(cli, totp, NULL, "the code that your device shows now", body, error))
                        return false;
                if (http_call_json(cli->client, "PUT", "/v1/second-factor", body, ret, &cause))
                        return true;
                if (left <= 0 || !err_is(cause, ERR_INVALID)) {
                        g_propagate_error(error, g_steal_pointer(&cause));
                        return false;
                }
                text = err_text(cause);
                cli_say(cli, "%s", text);
        }
}

static bool enable(Cli *cli, const Totp *totp, const char *name, GError **error)
{
        g_autoptr(json_t) body = json_object(), made = NULL, done = NULL;
        bool vouched;

        if (name)
                return err_set(error, ERR_USAGE,
                               "users set up their own second factor: 'enable' takes no name");
        if (!is_vouched_for(cli, &vouched, error) || (!vouched && !add_password(cli, totp, body, error)) ||
            !http_call_json(cli->client, "POST", "/v1/second-factor", NULL, &made, error))
                return false;
        show_secret(cli, made);
        json_object_set(body, "secret", json_object_get(made, "secret"));
        if (!confirm(cli, totp, body, &done, error))
                return false;
        show_recovery(cli, done);
        return keep_token(cli, done, error);
}

/* ---- disable ---- */

static bool disable(Cli *cli, const Totp *totp, const char *name, GError **error)
{
        g_autofree char *self = NULL, *escaped = NULL, *path = NULL;
        g_autoptr(json_t) body = json_object();
        const char *whose;
        bool vouched;

        if (!who_am_i(cli, &self, &vouched, error))
                return false;
        whose = name ? name : self;
        escaped = url_escape(whose);
        path = g_strdup_printf("/v1/users/%s/second-factor/disable", escaped);
        if (strcmp(whose, self) == 0 && !vouched &&
            (!add_password(cli, totp, body, error) ||
             !add_code(cli, totp, code_given(totp->otp), "code of the second factor", body, error)))
                return false;
        if (!http_call_json(cli->client, "POST", path, body, NULL, error))
                return false;
        cli_say(cli, "the second factor of user '%s' is removed", whose);
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        static const struct {
                const char *word;
                bool (*run)(Cli *cli, const Totp *totp, const char *name, GError **error);
        } acts[] = { { "enable", enable }, { "disable", disable } };

        for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
                if (strcmp(words[0], acts[i].word) == 0)
                        return cli_client(cli, error) && acts[i].run(cli, target, words[1], error);
        return err_set(error, ERR_USAGE, "'%s' is neither 'enable' nor 'disable'", words[0]);
}

const Verb verb_user_totp = {
        .name = "user totp",
        .args = "enable|disable [NAME]",
        .summary = "Set up or remove a second factor for log-ins by password",
        .about = "Log-ins by password then need a code as well, which an app on a phone makes from a secret "
                 "(TOTP): "
                 "enable shows the secret, on a terminal also as a picture, and asks for a code of it. Ten "
                 "recovery codes "
                 "are shown once.\n\n"
                 "Over TCP, and with a token, your password is asked for, and to disable it a code. "
                 "Administrators may disable it for others, by NAME.",
        .examples = "paddle user totp enable\n"
                    "paddle user totp disable\n"
                    "paddle user totp disable ann\tas an administrator, when the phone is lost",
        .options = options,
        .size = sizeof(Totp),
        .min_words = 1,
        .max_words = 2,
        .run = run,
};
