/* The meaning of unsuccessful replies (see status.h); the API's conventions are in the section "Response
 * Status Kind" of the Kubernetes API conventions. */
#include "kube/status.h"

#include <string.h>

#include "base/json.h"
#include "kube/kind.h"

enum { SHOWN_MAX = 300, RETRY_AFTER_MAX_S = 3600 };

/* The first row whose words are in the message applies. A webhook's message may contain words of later rows. */
static const struct {
        const char *words;
        KubeRefusal refusal;
} refusals[] = {
        { "ValidatingAdmissionPolicy '", KUBE_REFUSED_POLICY },
        { "admission webhook \"", KUBE_REFUSED_WEBHOOK },
        { "violates PodSecurity", KUBE_REFUSED_POD_SECURITY },
        { "exceeded quota", KUBE_REFUSED_QUOTA },
        { "because it is being terminated", KUBE_REFUSED_TERMINATING },
        { "serviceaccount \"default\" not found", KUBE_REFUSED_NO_DEFAULT },
        { "error looking up service account", KUBE_REFUSED_NO_ACCOUNT },
        { " is invalid: ", KUBE_REFUSED_INVALID },
        { " cannot ", KUBE_REFUSED_NO_RIGHT },
};

/* The first row that fits; NULL and KUBE_REFUSED fit all. */
static const struct {
        int from, to;
        const char *reason;
        KubeRefusal refusal;
        ErrCode code;
} rows[] = {
        /* A policy or webhook of the cluster refuses, with any status that it names (422, or 400 if it
         * names none). The object may be valid, and the rule may change. */
        { 400, 499, NULL, KUBE_REFUSED_POLICY, ERR_DENIED },
        { 400, 499, NULL, KUBE_REFUSED_WEBHOOK, ERR_DENIED },
        { 400, 400, NULL, KUBE_REFUSED, ERR_INVALID },
        { 401, 401, NULL, KUBE_REFUSED, ERR_UNAUTHENTICATED },
        { 403, 403, NULL, KUBE_REFUSED_QUOTA, ERR_QUOTA },
        { 403, 403, NULL, KUBE_REFUSED, ERR_DENIED },
        { 404, 404, NULL, KUBE_REFUSED, ERR_NOT_FOUND },
        { 409, 409, "AlreadyExists", KUBE_REFUSED, ERR_EXISTS },
        { 409, 409, NULL, KUBE_REFUSED, ERR_CONFLICT },
        { 410, 410, NULL, KUBE_REFUSED, ERR_GONE },
        { 413, 413, NULL, KUBE_REFUSED, ERR_TOO_LARGE },
        { 422, 422, NULL, KUBE_REFUSED, ERR_INVALID },
        { 429, 429, NULL, KUBE_REFUSED, ERR_UNAVAILABLE },
        { 500, 599, NULL, KUBE_REFUSED, ERR_UNAVAILABLE },
};

KubeRefusal kube_refusal(const char *message)
{
        for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++)
                if (strstr(message, refusals[i].words))
                        return refusals[i].refusal;
        return KUBE_REFUSED;
}

json_t *kube_json_parse(const char *text, gsize len, GError **error)
{
        json_error_t at;
        json_t *value = json_loadb(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, &at);

        if (!value)
                err_set(error, ERR_UNAVAILABLE,
                        "the API server's reply is not valid JSON at line %d, column %d: %s", at.line,
                        at.column, at.text);
        return value;
}

ErrCode kube_status_code(int status, const char *reason, const char *message)
{
        KubeRefusal refusal = kube_refusal(message);

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
                if (status >= rows[i].from && status <= rows[i].to &&
                    (!rows[i].reason || strcmp(rows[i].reason, reason) == 0) &&
                    (rows[i].refusal == KUBE_REFUSED || rows[i].refusal == refusal))
                        return rows[i].code;
        return ERR_FAILED;
}

bool kube_status_error(int status, const json_t *object, const char *text, const char *what, GError **error)
{
        const char *reason = kube_get_text(object, "reason"), *message = kube_get_text(object, "message");
        ErrCode code = kube_status_code(status, reason ? reason : "", message ? message : "");

        if (message && *message)
                return err_set(error, code, "%s", message);
        if (reason && *reason)
                return err_set(error, code, "%s: the API server answered %d %s", what, status, reason);
        g_autofree char *shown =
                text && *text ? g_utf8_make_valid(text, (gssize)strnlen(text, SHOWN_MAX)) : NULL;
        return err_set(error, code, "%s: the API server answered %d%s%s", what, status, shown ? ": " : "",
                       shown ? g_strstrip(shown) : "");
}

gint64 kube_status_retry_after(const json_t *object)
{
        gint64 seconds = kube_get_int(object, "details.retryAfterSeconds", -1);

        return seconds < 0 ? -1 : MIN(seconds, RETRY_AFTER_MAX_S) * 1000;
}
