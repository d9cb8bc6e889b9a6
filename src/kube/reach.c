/* How the API server is reached (see reach.h). */
#include "kube/reach.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"

enum {
        CONNECT_MS = 10000,
        DEAD_MS = 30000, /* a connection whose peer does not acknowledge is dropped after that */
        KEEP_ALIVE_S = 15,
};

/* ---- Failures of the library ---- */

static const struct {
        CURLcode curl;
        ErrCode code;
} failures[] = {
        { CURLE_COULDNT_RESOLVE_HOST, ERR_UNREACHABLE },
        { CURLE_COULDNT_RESOLVE_PROXY, ERR_UNREACHABLE },
        { CURLE_COULDNT_CONNECT, ERR_UNREACHABLE },
        { CURLE_SSL_CONNECT_ERROR, ERR_UNREACHABLE },
        { CURLE_PEER_FAILED_VERIFICATION, ERR_UNREACHABLE },
        { CURLE_SSL_CACERT_BADFILE, ERR_UNREACHABLE },
        { CURLE_SSL_CERTPROBLEM, ERR_INVALID },
        { CURLE_OPERATION_TIMEDOUT, ERR_TIMEOUT },
        { CURLE_PROXY, ERR_UNREACHABLE },
        { CURLE_URL_MALFORMAT, ERR_INVALID },
};

bool kube_reach_error(const KubeReach *reach, CURLcode result, const char *text, GError **error)
{
        const char *why = *text ? text : reach->api->easy_strerror(result);
        ErrCode code = ERR_UNAVAILABLE;

        for (gsize i = 0; i < G_N_ELEMENTS(failures); i++)
                if (failures[i].curl == result)
                        code = failures[i].code;
        return err_set(error, code, "%s the API server '%s' of cluster '%s': %s",
                       code == ERR_UNREACHABLE ? "cannot reach" : "no reply from", reach->config->server,
                       reach->config->cluster, why);
}

/* ---- Address, TLS, proxy ---- */

/* Parts of "https://host:port/path"; the host with its brackets. */
static void split_server(const char *server, char **ret_host, char **ret_port, const char **ret_rest)
{
        const char *host = strstr(server, "://") + 3, *end = host + strcspn(host, "/");
        const char *port = g_strrstr_len(host, end - host, ":");

        if (port && memchr(port, ']', (gsize)(end - port)))
                port = NULL;
        *ret_host = g_strndup(host, (gsize)((port ? port : end) - host));
        *ret_port = port ? g_strndup(port + 1, (gsize)(end - port - 1))
                         : g_strdup(g_str_has_prefix(server, "https:") ? "443" : "80");
        *ret_rest = end;
}

void kube_reach_init(KubeReach *reach)
{
        g_autofree char *host = NULL, *port = NULL, *line = NULL;
        const char *rest;

        if (!reach->config->tls_server_name)
                return;
        split_server(reach->config->server, &host, &port, &rest);
        line = g_strdup_printf("::%s:%s", host, port);
        reach->connect_to = reach->api->slist_append(NULL, line);
}

void kube_reach_clear(KubeReach *reach)
{
        reach->api->slist_free_all(reach->connect_to);
        kube_credential_free(reach->credential);
        kube_config_free(reach->config);
        g_free(reach->agent);
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
        int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
        unsigned dead_ms = DEAD_MS;

        if (fd >= 0 && address->family != AF_UNIX)
                (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof dead_ms);
        return fd;
}

static void set_blob(const KubeReach *reach, CURL *handle, CURLoption option, const char *pem)
{
        struct curl_blob blob = { .data = (void *)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY };

        reach->api->easy_setopt(handle, option, &blob);
}

static void aim_tls(const KubeReach *reach, CURL *handle)
{
        CURLcode (*set)(CURL *, CURLoption, ...) = reach->api->easy_setopt;
        const KubeConfig *config = reach->config;
        const char *certificate = kube_credential_certificate(reach->credential);

        if (config->ca) {
                set_blob(reach, handle, CURLOPT_CAINFO_BLOB, config->ca);
                set(handle, CURLOPT_CAPATH, NULL); /* this one only, not the system's beside it */
        }
        if (config->insecure) {
                set(handle, CURLOPT_SSL_VERIFYPEER, 0L);
                set(handle, CURLOPT_SSL_VERIFYHOST, 0L);
        }
        if (certificate) {
                set_blob(reach, handle, CURLOPT_SSLCERT_BLOB, certificate);
                set_blob(reach, handle, CURLOPT_SSLKEY_BLOB, kube_credential_key(reach->credential));
                set(handle, CURLOPT_SSLCERTTYPE, "PEM");
                set(handle, CURLOPT_SSLKEYTYPE, "PEM");
        }
}

static bool is_loopback(const char *host)
{
        return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 || g_str_has_prefix(host, "127.");
}

void kube_reach_aim(const KubeReach *reach, CURL *handle, const char *path)
{
        CURLcode (*set)(CURL *, CURLoption, ...) = reach->api->easy_setopt;
        const KubeConfig *config = reach->config;
        g_autofree char *host = NULL, *port = NULL, *url = NULL;
        const char *rest;

        split_server(config->server, &host, &port, &rest);
        url = config->tls_server_name
                      ? g_strdup_printf("https://%s:%s%s%s", config->tls_server_name, port, rest, path)
                      : g_strconcat(config->server, path, NULL);
        set(handle, CURLOPT_URL, url);
        if (reach->connect_to)
                set(handle, CURLOPT_CONNECT_TO, reach->connect_to);
        set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
        set(handle, CURLOPT_NOSIGNAL, 1L);
        set(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
        set(handle, CURLOPT_OPENSOCKETFUNCTION, on_open);
        set(handle, CURLOPT_TCP_KEEPALIVE, 1L);
        set(handle, CURLOPT_TCP_KEEPIDLE, (long)KEEP_ALIVE_S);
        set(handle, CURLOPT_TCP_KEEPINTVL, (long)KEEP_ALIVE_S / 3);
        set(handle, CURLOPT_USERAGENT, reach->agent);
        if (config->proxy_url)
                set(handle, CURLOPT_PROXY, config->proxy_url);
        else if (is_loopback(host))
                set(handle, CURLOPT_PROXY, ""); /* as Go's client has it, whatever the environment says */
        aim_tls(reach, handle);
}

struct curl_slist *kube_reach_identity(const KubeReach *reach, struct curl_slist *list)
{
        const KubeConfig *config = reach->config;
        const char *authorization = kube_credential_authorization(reach->credential);
        const struct {
                const char *name, *value;
        } headers[] = {
                { "Authorization", authorization },
                { "Impersonate-User", config->as_user },
                { "Impersonate-Uid", config->as_uid },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(headers); i++)
                if (headers[i].value) {
                        g_autofree char *line = g_strconcat(headers[i].name, ": ", headers[i].value, NULL);

                        list = reach->api->slist_append(list, line);
                }
        for (char **group = config->as_groups; group && *group; group++) {
                g_autofree char *line = g_strconcat("Impersonate-Group: ", *group, NULL);

                list = reach->api->slist_append(list, line);
        }
        return list;
}
