/* Who may log in, and how: tokens, passwords, a directory, single sign-on (see server.h). */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "runtime/local/lineage.h"
#include "server/server.h"

enum { OIDC_SECRET_MAX = 4096 };

/* Parses "ADDRESS,..." into the form in which the server writes addresses of callers; `word` is accepted as
 * it is. NULL: absent, or refused with ERR_USAGE. */
static char **read_addresses(const char *option, const char *text, const char *word, GError **error)
{
        g_auto(GStrv) list = text ? g_strsplit(text, ",", -1) : NULL;

        for (char **at = list; at && *at; at++) {
                int family = strchr(*at, ':') ? AF_INET6 : AF_INET;
                struct in6_addr address;
                char shown[INET6_ADDRSTRLEN];

                if (g_strcmp0(*at, word) == 0)
                        continue;
                if (inet_pton(family, *at, &address) != 1) {
                        err_set(error, ERR_USAGE, "%s: '%s' is not an address, such as 127.0.0.1%s%s", option,
                                *at, word ? ", or " : "", word ? word : "");
                        return NULL;
                }
                g_free(*at);
                *at = g_strdup(inet_ntop(family, &address, shown, sizeof shown));
        }
        return g_steal_pointer(&list);
}

static bool read_directory(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        DirectoryTls tls;

        if (!options->ldap_url)
                return (!options->ldap_user_dn && !options->ldap_base && !options->ldap_bind_dn &&
                        !options->ldap_bind_password_file && !options->ldap_ca &&
                        !options->ldap_create_users && strcmp(options->ldap_tls, "auto") == 0) ||
                       err_set(error, ERR_INVALID, "--ldap-url is missing: it says which directory to ask");
        if (!directory_tls_parse(options->ldap_tls, &tls, error))
                return false;
        server->directory =
                directory_new(&(DirectoryConfig){ .url = options->ldap_url,
                                                  .user_dn = options->ldap_user_dn,
                                                  .base = options->ldap_base,
                                                  .filter = options->ldap_filter,
                                                  .bind_dn = options->ldap_bind_dn,
                                                  .bind_password_file = options->ldap_bind_password_file,
                                                  .ca = options->ldap_ca,
                                                  .tls = tls,
                                                  .timeout_ms = options->ldap_timeout_ms,
                                                  .create_users = options->ldap_create_users },
                              error);
        return server->directory != NULL;
}

bool server_read_lists(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        GError *failure = NULL;

        server->published = read_addresses("--published-password", options->published, "unix", &failure);
        if (!failure)
                server->trusted_proxies =
                        read_addresses("--trusted-proxies", options->trusted_proxies, NULL, &failure);
        if (!failure)
                (void)second_factor_for_parse("--require-second-factor", options->require_second_factor,
                                              &server->factor_for, &failure);
        if (!failure)
                (void)read_directory(server, &failure);
        if (failure)
                g_propagate_error(error, failure);
        return !failure;
}

/* Checks the settings of single sign-on before anything is started. */
bool server_read_sso(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        const char *path = options->oidc_secret_file;
        gsize len;

        if (!options->oidc_issuer && !options->oidc_client && !path && !options->oidc_ca &&
            !options->oidc_create)
                return true;
        if (!options->oidc_issuer || !options->oidc_client)
                return err_set(
                        error, ERR_USAGE,
                        "--oidc-issuer and --oidc-client-id go together\nGive both for single sign-on.");
        if (options->oidc_expire_ms < 1000)
                return err_set(error, ERR_USAGE, "--oidc-expire: a log-in lasts a second at least");
        if (!oidc_check_issuer(options->oidc_issuer, error))
                return err_prefix(error, "--oidc-issuer: ");
        if (!path)
                return true;
        if (!file_read(path, OIDC_SECRET_MAX, &server->oidc_secret, &len, error))
                return err_prefix(error, "--oidc-client-secret-file: ");
        g_strchomp(server->oidc_secret);
        return *server->oidc_secret ||
               err_set(error, ERR_USAGE, "--oidc-client-secret-file: '%s' is empty", path);
}

static bool has_authority(const char *authority, void *arg)
{
        return tls_has_authority(arg, authority);
}

bool server_open_auth(Server *server, GError **error)
{
        server->first_password = server_path(server, "root-password");
        server->factor_key = server_path(server, "second-factor.key");
        server->auth =
                auth_new(&(AuthConfig){ .engine = server->engine,
                                        .has_authority = server->tls ? has_authority : NULL,
                                        .has_authority_arg = server->tls,
                                        .store = server->store,
                                        .owner = geteuid(),
                                        .token_expire_ms = server->options.token_expire_ms,
                                        .open_queues = server->options.open_queues,
                                        .published = (const char *const *)server->published,
                                        .is_of_member = server->identities ? lineage_has_connection : NULL,
                                        .directory = server->directory,
                                        .recorder = server->recorder,
                                        .second_factor_for = server->factor_for,
                                        .second_factor_key = server->factor_key,
                                        .first_password = server->first_password });
        return true;
}

bool server_open_sso(Server *server, GError **error)
{
        const ServerOptions *options = &server->options;
        gint64 most = options->token_expire_ms;

        if (!options->oidc_issuer)
                return true;
        server->sso = sso_new(&(SsoConfig){ .auth = server->auth,
                                            .engine = server->engine,
                                            .store = server->store,
                                            .issuer = { options->oidc_issuer, options->oidc_client,
                                                        server->oidc_secret, options->oidc_ca },
                                            .username_claim = options->oidc_username,
                                            .create_users = options->oidc_create,
                                            .expire_ms = most ? MIN(most, options->oidc_expire_ms)
                                                              : options->oidc_expire_ms },
                              error);
        return server->sso;
}
