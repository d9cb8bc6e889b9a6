/* The way through proxies (see forwarded.h). */
#include "net/forwarded.h"

#include <arpa/inet.h>
#include <string.h>

/* NULL: it is none. */
static char *address_of(const char *text)
{
        int family = strchr(text, ':') ? AF_INET6 : AF_INET;
        char shown[INET6_ADDRSTRLEN];
        struct in6_addr address;

        if (inet_pton(family, text, &address) != 1)
                return NULL;
        return g_strdup(inet_ntop(family, &address, shown, sizeof shown));
}

char *forwarded_for(const char *peer, const char *header, const char *const *trusted)
{
        g_auto(GStrv) hops = trusted && header ? g_strsplit(header, ",", -1) : NULL;
        char *at = g_strdup(peer);

        for (guint i = hops ? g_strv_length(hops) : 0; i > 0 && g_strv_contains(trusted, at); i--) {
                char *before = address_of(g_strstrip(hops[i - 1]));

                if (!before)
                        break;
                g_free(at);
                at = before;
        }
        return at;
}
