/* Values that are stored encrypted: XChaCha20-Poly1305 (the IETF construction). The key is the server's own,
 * in a file beside the database that only the server's user can read. A sealed value is bound to a context,
 * such as the id of its object. It cannot be decrypted as part of another object. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { SEAL_KEY_LEN = 32 };

typedef struct SealKey SealKey;

/* seal_key_open reads or creates the file `path`. `what` names the purpose in messages ("second factors"). */
SealKey *seal_key_new(const char *path, const char *what);
void seal_key_free(SealKey *key); /* NULL is a no-op */

/* Loads the key, once. `make`: create a missing file. Pass it only for the first value: a key that is lost
 * later must not be replaced silently. ERR_UNAVAILABLE names the file. */
bool seal_key_open(SealKey *key, bool make, GError **error);

/* Base64 of a nonce and the encrypted value; the caller's. The key is open. */
char *seal(const SealKey *key, const char *context, const void *plain, gsize len);
/* The value, followed by a NUL byte, and its length. Free it with seal_wipe. NULL (*ret_len is not set): it
 * was sealed with another key or context, or was modified. The key is open. */
char *unseal(const SealKey *key, const char *context, const char *sealed, gsize *ret_len);
/* Overwrites and frees the result of unseal; NULL is a no-op. */
void seal_wipe(char *plain, gsize len);

/* The bytes of the open key, for keyed hashes. */
const guint8 *seal_key_bytes(const SealKey *key);
