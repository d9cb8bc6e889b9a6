/* TCP ports and TLS (see listeners.h). */
#include "server/listeners.h"

#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "net/server.h"

enum { LOOK_S = 2, SOON_DAYS = 14 };
#define DAY_MS ((gint64)24 * 3600 * 1000)

static bool check_one(const ServerOptions *options, const char *option, const char *listen, GError **error)
{
        bool local;

        if (!listen || strcmp(listen, "none") == 0 || options->tls_cert || options->plain_http)
                return true;
        if (!http_listen_is_local(listen, &local, error))
                return err_prefix(error, "%s: ", option);
        return local ||
               err_set(error, ERR_USAGE,
                       "%s: '%s' can be reached from other machines, and without TLS others on the network "
                       "can read passwords and tokens\nGive --tls-cert and --tls-key. Or --plain-http, if a "
                       "proxy in front of this server provides TLS, or the network is private.",
                       option, listen);
}

bool listeners_check(const ServerOptions *options, GError **error)
{
        if (!options->tls_cert != !options->tls_key)
                return err_set(error, ERR_USAGE, "--tls-cert and --tls-key belong together");
        if (options->tls_client_ca && !options->tls_cert)
                return err_set(error, ERR_USAGE, "--tls-client-ca needs --tls-cert and --tls-key");
        if (options->tls_cert && options->plain_http)
                return err_set(error, ERR_USAGE, "--plain-http cannot be combined with --tls-cert");
        return check_one(options, "--listen", options->listen, error) &&
               check_one(options, "--metrics-listen", options->metrics_listen, error);
}

static void tell_expiry(Tls *tls)
{
        gint64 left_ms = tls_expires_ms(tls) - clock_now_ms();
        g_autofree char *days = g_strdup_printf("%" G_GINT64_FORMAT, MAX(left_ms, 0) / DAY_MS);

        if (left_ms <= 0)
                log_warning("the certificate of --tls-cert has expired: clients will refuse it", NULL);
        else if (left_ms < SOON_DAYS * DAY_MS)
                log_warning("the certificate of --tls-cert expires soon", "days", days, NULL);
}

static void reload(Tls *tls)
{
        g_autoptr(GError) error = NULL;

        if (!tls_reload(tls, &error)) {
                log_warning("the new certificate cannot be used; keeping the previous one", "error",
                            error->message, NULL);
                return;
        }
        log_info("read the certificate again; new connections use it", NULL);
        tell_expiry(tls);
}

static gboolean on_hangup(void *arg)
{
        reload(arg);
        return G_SOURCE_CONTINUE;
}

static gboolean on_look(void *arg)
{
        if (tls_is_stale(arg))
                reload(arg);
        return G_SOURCE_CONTINUE;
}

bool listeners_open_tls(const ServerOptions *options, Tls **ret, GError **error)
{
        struct stat status;

        if (!options->tls_cert)
                return true;
        *ret = tls_new(&(TlsFiles){ options->tls_cert, options->tls_key, options->tls_client_ca }, error);
        if (!*ret)
                return err_prefix(error, "TLS: ");
        if (stat(options->tls_key, &status) == 0 && (status.st_mode & 0007))
                log_warning("all users of this machine can read the key of --tls-key: chmod o= it", NULL);
        tell_expiry(*ret);
        g_unix_signal_add(SIGHUP, on_hangup, *ret);
        g_timeout_add_seconds(LOOK_S, on_look, *ret);
        return true;
}

void listeners_close(Tls *tls)
{
        while (tls && g_source_remove_by_user_data(tls))
                ;
        tls_free(tls);
}
