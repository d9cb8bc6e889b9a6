/* Definitions that requests bring, and file systems that they name (doc/reference/paddleflow-api.md, "Runs"). */
#include <string.h>

#include "api/paddleflow/internal.h"

/* As strict as the older server: whole groups of four, and padding at the end only. */
static bool is_base64(const char *text)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        gsize len = strlen(text), n = strspn(text, digits), padding = strspn(text + n, "=");

        return len > 0 && len % 4 == 0 && n + padding == len && padding <= 2;
}

char *yaml_take(const char *base64, Code wrong, GError **error)
{
        g_autofree guchar *bytes = NULL;
        gsize len;

        if (!is_base64(base64)) {
                paddleflow_set(error, wrong, "the definition is not in base64");
                return NULL;
        }
        bytes = g_base64_decode(base64, &len);
        if (memchr(bytes, '\0', len) || !g_utf8_validate((const char *)bytes, (gssize)len, NULL)) {
                paddleflow_set(error, wrong, "the definition is not text in UTF-8");
                return NULL;
        }
        return g_strndup((const char *)bytes, len);
}

bool yaml_check_fs(const Call *call, const char *user, const char *fs, GError **error)
{
        if (*user && !catalog_user(call->catalog, user))
                return paddleflow_set(error, CODE_UserNotExist, "there is no user '%.60s'", user);
        return !*fs || catalog_filesystem(call->catalog, *user ? user : call->user, fs) ||
               paddleflow_set(error, CODE_InvalidArguments, "user '%.60s' has no file system '%.80s'",
                              *user ? user : call->user, fs);
}
