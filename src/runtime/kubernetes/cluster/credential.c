/* Credentials of clusters (see credential.h). */
#include "runtime/kubernetes/cluster/credential.h"

#include <string.h>

#include "base/err.h"

/* A kubeconfig has blanks and colons, base64 has neither. */
static char *decode(const char *credential, gsize *ret_len)
{
        bool coded = strpbrk(credential, " :{") == NULL;

        if (coded)
                return (char *)g_base64_decode(credential, ret_len);
        *ret_len = strlen(credential);
        return g_strdup(credential);
}

KubeConfig *credential_parse(const char *cluster, const char *credential, GError **error)
{
        g_autofree char *text = NULL;
        KubeConfig *read;
        gsize len;

        if (!credential || !*credential) {
                err_set(error, ERR_INVALID, "cluster '%s' has no credential\nGive it a kubeconfig.", cluster);
                return NULL;
        }
        text = decode(credential, &len);
        read = kube_config_parse(text, len, NULL, NULL, error);
        if (!read)
                (void)err_prefix(error, "cluster '%s', credential: ", cluster);
        return read;
}

bool credential_elsewhere(const char *was, const char *now, char **ret_was, char **ret_now)
{
        g_autoptr(KubeConfig) from = credential_parse("", was, NULL);
        g_autoptr(KubeConfig) to = credential_parse("", now, NULL);

        if (!from || !to || strcmp(from->server, to->server) == 0 ||
            (from->ca && g_strcmp0(from->ca, to->ca) == 0))
                return false;
        *ret_was = g_strdup(from->server);
        *ret_now = g_strdup(to->server);
        return true;
}
