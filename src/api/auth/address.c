/* Addresses and names that mean this machine (auth.h). */
#include <string.h>

#include "api/auth/auth.h"

#define DIGITS "0123456789."

bool address_is_local(const char *address)
{
        static const char *const local[] = { "unix", "::1", "localhost" };
        static const char *const prefixes[] = { "127.", "::ffff:127." };

        for (gsize i = 0; i < G_N_ELEMENTS(local); i++)
                if (strcmp(address, local[i]) == 0)
                        return true;
        for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++) {
                gsize len = strlen(prefixes[i]);

                if (strncmp(address, prefixes[i], len) == 0 && !address[len + strspn(address + len, DIGITS)])
                        return true;
        }
        return false;
}

bool host_is_local(const char *host)
{
        g_autofree char *name = NULL;

        if (!host)
                return true;
        name = *host == '[' ? g_strndup(host + 1, strcspn(host + 1, "]"))
                            : g_strndup(host, strcspn(host, ":"));
        return strcmp(name, "unix") != 0 && address_is_local(name);
}
