/* The published password (see published.h). */
#include "api/auth/published.h"

#include <string.h>

bool published_is_open(const char *const *published, const LoginOrigin *origin)
{
        if (!published || origin->forwarded)
                return false;
        if (strcmp(origin->address, "unix") == 0)
                return true;
        /* A page that made a browser call the loopback has another name for it. */
        return g_strv_contains(published, origin->address) &&
               (!address_is_local(origin->address) || host_is_local(origin->host));
}
