/* Values that are stored encrypted: XChaCha20-Poly1305 (the IETF construction) with a key of the server's
 * own, in a file beside the database that only the server's user reads. A sealed value is bound to a context,
 * such as the id of the object that holds it: put into another object, it does not open. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { SEAL_KEY_LEN = 32 };

typedef struct SealKey SealKey;

/* `path` is read, or made, when it is first needed. `what`: whose key it is, for messages ("second factors").
 */
SealKey *seal_key_new(const char *path, const char *what);
void seal_key_free(SealKey *key); /* NULL is a no-op */

/* The key is in memory from here on. `make`: a file that is missing is made. Only the first value may ask for
 * that: a key that is lost later is not replaced by another in silence. ERR_UNAVAILABLE with the file. */
bool seal_key_open(SealKey *key, bool make, GError **error);

/* Base64 of a nonce and of what is encrypted; the caller's. The key is open. */
char *seal(const SealKey *key, const char *context, const void *plain, gsize len);
/* The value, followed by a NUL byte, and its length; the caller's (seal_wipe). NULL: it was sealed with
 * another key or for another context, or was changed. The key is open. */
char *unseal(const SealKey *key, const char *context, const char *sealed, gsize *ret_len);
/* Overwrites and frees what unseal gave; NULL is a no-op. */
void seal_wipe(char *plain, gsize len);

/* The bytes of the open key, for hashes that need one. */
const guint8 *seal_key_bytes(const SealKey *key);
