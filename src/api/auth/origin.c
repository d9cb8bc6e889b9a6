/* Where a log-in or another request comes from (see auth.h). */
#include "api/auth/auth.h"

/* What proxies add (RFC 7239, RFC 9110, and the usual ones before these). */
static const char *const forwarding[] = {
        "Forwarded",           "Via",
        "X-Forwarded",         "X-Forwarded-For",
        "X-Forwarded-Host",    "X-Forwarded-Proto",
        "X-Forwarded-Port",    "X-Forwarded-Server",
        "X-Forwarded-By",      "X-Forwarded-Ssl",
        "X-Forwarded-Scheme",  "X-Forwarded-Prefix",
        "X-Real-IP",           "X-Client-IP",
        "True-Client-IP",      "CF-Connecting-IP",
        "X-Cluster-Client-IP", "X-Original-Forwarded-For",
};

LoginOrigin login_origin(const HttpRequest *request)
{
        const HttpCaller *caller = http_request_caller(request);
        LoginOrigin origin = { .address = caller->address,
                               .port = caller->port,
                               .pid = caller->pid,
                               .host = http_request_header(request, "Host") };

        for (gsize i = 0; i < G_N_ELEMENTS(forwarding); i++)
                origin.forwarded |= http_request_header(request, forwarding[i]) != NULL;
        return origin;
}

HttpAccess auth_access(const HttpRoute *route, const HttpRequest *request, void *arg)
{
        LoginOrigin origin = login_origin(request);

        (void)arg;
        return auth_access_from(route, address_is_local(origin.address) && !origin.forwarded);
}
