/* The keyed hash (see keyed-hash.h), with libsodium. */
#include "base/keyed-hash.h"

#include <sodium.h>
#include <string.h>
#include <sys/random.h>

static const unsigned char *process_key(void)
{
        static unsigned char key[crypto_shorthash_KEYBYTES];
        static gsize made;

        if (g_once_init_enter(&made)) {
                if (getrandom(key, sizeof key, 0) != sizeof key) /* reads this small are never partial */
                        g_error("the kernel gives no random bytes: %m");
                g_once_init_leave(&made, 1);
        }
        return key;
}

guint keyed_hash(const void *text)
{
        unsigned char out[crypto_shorthash_BYTES];
        guint hash;

        (void)crypto_shorthash(out, text, strlen(text), process_key());
        memcpy(&hash, out, sizeof hash);
        return hash;
}
