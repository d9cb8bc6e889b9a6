/* Finds the server (see discover.h; doc/internals/design.md, "Seen from outside (keep stable)"). The
 * configuration is read only if the server, or the token of a server that was named otherwise, is missing. */
#include "cli/discover.h"

#include <string.h>

#include "base/err.h"
#include "cli/config.h"
#include "cli/embedded.h"

void discovery_free(Discovery *discovery)
{
        if (!discovery)
                return;
        g_free(discovery->url);
        g_free(discovery->token);
        g_free(discovery->ca);
        g_free(discovery->cert);
        g_free(discovery->key);
        g_free(discovery);
}

char *client_config_path(void)
{
        const char *moved = g_getenv("PADDLE_CONFIG");
        g_autofree char *home = NULL;

        if (moved && *moved)
                return g_strdup(moved);
        home = embedded_home();
        return g_build_filename(home, "config", NULL);
}

static const char *set_variable(const char *name)
{
        const char *value = g_getenv(name);

        return value && *value ? value : NULL;
}

/* The server that the user named, and the way in which it was named. */
static const char *named_server(const char *option, const char **ret_source)
{
        if (option) {
                *ret_source = "--server";
                return option;
        }
        *ret_source = "PADDLE_SERVER";
        return set_variable("PADDLE_SERVER");
}

static bool is_host_and_port(const char *text)
{
        const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : "";
        gsize host = colon ? (gsize)(colon - text) : 0;
        bool bracketed = host > 2 && text[0] == '[' && text[host - 1] == ']';

        return host > 0 && *port && strspn(port, "0123456789") == strlen(port) &&
               !g_str_has_prefix(text, "unix:") && (bracketed || strcspn(text, ":/") == host);
}

/* Without trailing slashes; "HOST:PORT" gets http://. */
static char *completed(const char *url)
{
        g_autofree char *copy = g_strdup(url);
        gsize len = copy ? strlen(copy) : 0;

        while (len > 0 && copy[len - 1] == '/')
                copy[--len] = '\0';
        return url && is_host_and_port(copy) ? g_strconcat("http://", copy, NULL) : g_steal_pointer(&copy);
}

static bool use_config(Discovery *found, GError **error)
{
        g_autofree char *path = client_config_path();
        g_autoptr(ClientConfig) config = client_config_read(path, error);

        if (!config)
                return false;
        if (!found->url && config->server) {
                found->url = g_steal_pointer(&config->server);
                found->source = "configuration";
        }
        if (!found->token)
                found->token = g_steal_pointer(&config->token);
        if (!found->ca)
                found->ca = g_steal_pointer(&config->ca);
        if (!found->cert) {
                found->cert = g_steal_pointer(&config->cert);
                found->key = g_steal_pointer(&config->key);
        }
        return true;
}

HttpClient *discovery_client(const Discovery *found, const char *token, GError **error)
{
        HttpClient *client = http_client_new(found->url, token, error);

        if (client)
                http_client_set_tls(client, &(HttpClientTls){ found->ca, found->cert, found->key });
        return client;
}

bool embedded_idle(char **ret, GError **error)
{
        g_autofree char *path = client_config_path();
        g_autoptr(ClientConfig) config = client_config_read(path, error);

        if (!config)
                return false;
        *ret = g_steal_pointer(&config->idle);
        return true;
}

Discovery *discover(const char *server, const char *token, DiscoverMode mode, GError **error)
{
        g_autoptr(Discovery) found = g_new0(Discovery, 1);
        g_autofree char *idle = NULL;
        const char *named = named_server(server, &found->source);

        found->url = completed(named);
        found->token = g_strdup(token ? token : set_variable("PADDLE_TOKEN"));
        found->ca = g_strdup(set_variable("PADDLE_CACERT"));
        found->cert = g_strdup(set_variable("PADDLE_CERT"));
        found->key = g_strdup(set_variable("PADDLE_KEY"));
        if (named && g_str_has_prefix(named, "unix:"))
                return g_steal_pointer(&found);
        if ((!named || !found->token) && !use_config(found, error))
                return NULL;
        if (found->url)
                return g_steal_pointer(&found);
        found->source = "embedded";
        if (mode == DISCOVER_START && (!embedded_idle(&idle, error) ||
                                       !embedded_ensure(&(EmbeddedListen){ .idle = idle }, NULL, error)))
                return NULL;
        found->url = embedded_url();
        return g_steal_pointer(&found);
}
