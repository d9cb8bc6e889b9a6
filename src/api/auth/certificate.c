/* The caller by a TLS certificate that the server has checked (auth.h): the user whom it names. It has the
 * rights of a token that is not from a log-in. To revoke it, disable the account. */
#include <string.h>

#include "api/auth/internal.h"
#include "base/clock.h"
#include "base/err.h"

static const char scheme[] = "certificate "; /* no hash of a token has a blank */

static const User *find_user(const Catalog *catalog, const char *name, GError **error)
{
        const User *user = user_name_check("user", name, NULL) ? catalog_user(catalog, name) : NULL;

        if (!user)
                err_set(error, ERR_UNAUTHENTICATED,
                        "the client's certificate names '%s', and there is no user here with this name\nAn "
                        "administrator "
                        "creates "
                        "users: "
                        "paddle user create.",
                        name);
        else if (user->disabled)
                err_set(error, ERR_UNAUTHENTICATED,
                        "the account of '%s' is disabled\nAn administrator can enable it: paddle user set %s "
                        "--no-disabled.",
                        name, name);
        return user && !user->disabled ? user : NULL;
}

bool certificate_authority_check(Auth *auth, const char *authority, GError **error)
{
        const AuthConfig *config = &auth->config;

        if (authority && config->has_authority && config->has_authority(authority, config->has_authority_arg))
                return true;
        return err_set(error, ERR_UNAUTHENTICATED,
                       "the authority of the client's certificate is no longer one of the server's "
                       "--tls-client-ca\nAsk an administrator for a new certificate, or log in.");
}

bool auth_by_certificate(const HttpCertificate *certificate, char **ret_user, HttpRight *ret_right,
                         char **ret_credential, void *arg, GError **error)
{
        Auth *auth = arg;
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        const User *user;

        if (certificate->error) {
                g_propagate_error(error, g_error_copy(certificate->error));
                return false;
        }
        user = find_user(catalog, certificate->name, error);
        if (!user || !certificate_authority_check(auth, certificate->authority, error))
                return false;
        *ret_user = g_strdup(user->object.name);
        *ret_right =
                (HttpRight){ .admin = user->admin, .scope = SCOPE_ADMIN, .until_ms = certificate->until_ms };
        if (ret_credential)
                *ret_credential = auth_certificate_credential(certificate);
        return true;
}

char *auth_certificate_credential(const HttpCertificate *certificate)
{
        return g_strdup_printf("%s%" G_GINT64_FORMAT " %s %s", scheme, certificate->until_ms,
                               certificate->authority, certificate->name);
}

bool certificate_is_credential(const char *credential)
{
        return g_str_has_prefix(credential, scheme);
}

bool certificate_is_valid(Auth *auth, const char *credential)
{
        g_autoptr(Catalog) catalog = engine_catalog(auth->config.engine);
        g_auto(GStrv) parts = g_strsplit(credential + strlen(scheme), " ", 3); /* end, authority, name */

        return g_strv_length(parts) == 3 && clock_now_ms() < g_ascii_strtoll(parts[0], NULL, 10) &&
               certificate_authority_check(auth, parts[1], NULL) && find_user(catalog, parts[2], NULL);
}
