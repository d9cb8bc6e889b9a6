/* Random identifiers (see id.h). */
#include "base/id.h"

#include <string.h>
#include <sys/random.h>

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

void id_new(char ret[ID_LEN + 1])
{
        unsigned char raw[ID_LEN];

        if (getrandom(raw, sizeof raw, 0) != sizeof raw)
                g_error("no randomness from the kernel");
        for (int i = 0; i < ID_LEN; i++)
                ret[i] = alphabet[raw[i] & 31];
        ret[ID_LEN] = '\0';
}

bool id_is_valid(const char *text)
{
        return text && strlen(text) == ID_LEN && strspn(text, alphabet) == ID_LEN;
}
