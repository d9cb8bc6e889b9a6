/* Values that are stored encrypted: XChaCha20-Poly1305 (the IETF construction). The key is the server's own,
 * in a file beside the database that only the server's user can read. A sealed value is bound to a context,
 * such as the id of the object that holds it: copied into another object, it does not open. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { SEAL_KEY_LEN = 32 };

typedef struct SealKey SealKey;

/* The file `path` is read or made by seal_key_open. `what`: what the key is for, in messages ("second
 * factors").
 */
SealKey *seal_key_new(const char *path, const char *what);
void seal_key_free(SealKey *key); /* NULL is a no-op */

/* Brings the key into memory, once. `make`: a missing file is made. Only the first value may ask for that: a
 * key that is lost later must not be replaced silently. ERR_UNAVAILABLE, naming the file. */
bool seal_key_open(SealKey *key, bool make, GError **error);

/* Base64 of a nonce and the encrypted value; the caller's. The key is open. */
char *seal(const SealKey *key, const char *context, const void *plain, gsize len);
/* The value, followed by a NUL byte, and its length; the caller's (seal_wipe). NULL: it was sealed with
 * another key or for another context, or was changed; *ret_len is not written then. The key is open. */
char *unseal(const SealKey *key, const char *context, const char *sealed, gsize *ret_len);
/* Overwrites and frees what unseal gave; NULL is a no-op. */
void seal_wipe(char *plain, gsize len);

/* The bytes of the open key, for hashes that need one. */
const guint8 *seal_key_bytes(const SealKey *key);
