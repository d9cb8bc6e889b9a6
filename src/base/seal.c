/* Encrypted values (see seal.h). */
#include "base/seal.h"

#include <sodium.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"

enum {
        NONCE_LEN = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
        TAG_LEN = crypto_aead_xchacha20poly1305_ietf_ABYTES,
        KEY_MODE = 0600,
};
G_STATIC_ASSERT(SEAL_KEY_LEN == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

struct SealKey {
        GMutex lock; /* protects opening; an open key does not change */
        char *path, *what;
        guint8 bytes[SEAL_KEY_LEN];
        bool open;
};

SealKey *seal_key_new(const char *path, const char *what)
{
        SealKey *key = g_new0(SealKey, 1);

        g_mutex_init(&key->lock);
        key->path = g_strdup(path);
        key->what = g_strdup(what);
        return key;
}

void seal_key_free(SealKey *key)
{
        if (!key)
                return;
        sodium_memzero(key->bytes, sizeof key->bytes);
        g_free(key->path);
        g_free(key->what);
        g_mutex_clear(&key->lock);
        g_free(key);
}

static bool read_key(SealKey *key, GError **error)
{
        g_autofree char *text = NULL;
        gsize len = 0;

        if (!file_read(key->path, SEAL_KEY_LEN, &text, &len, error))
                return false;
        if (len != SEAL_KEY_LEN)
                return err_set(error, ERR_INVALID, "'%s' has %d bytes, not %d", key->path, (int)len,
                               SEAL_KEY_LEN);
        memcpy(key->bytes, text, SEAL_KEY_LEN);
        sodium_memzero(text, len);
        return true;
}

static bool make_key(SealKey *key, GError **error)
{
        randombytes_buf(key->bytes, SEAL_KEY_LEN);
        return file_replace(key->path, key->bytes, SEAL_KEY_LEN, KEY_MODE, true, error);
}

static bool open_key(SealKey *key, bool make, GError **error)
{
        g_autoptr(GError) why = NULL;

        if (key->path && read_key(key, &why))
                return true;
        if (make && why && err_is(why, ERR_NOT_FOUND))
                return make_key(key, error);
        return err_set(error, ERR_UNAVAILABLE, "the key of %s cannot be read\nTell an administrator: %s",
                       key->what, why ? why->message : "this server has no place for it");
}

bool seal_key_open(SealKey *key, bool make, GError **error)
{
        bool open;

        g_mutex_lock(&key->lock);
        key->open = key->open || open_key(key, make, error);
        open = key->open;
        g_mutex_unlock(&key->lock);
        return open;
}

char *seal(const SealKey *key, const char *context, const void *plain, gsize len)
{
        gsize sealed_len = NONCE_LEN + len + TAG_LEN;
        g_autofree guint8 *sealed = g_malloc(sealed_len);

        randombytes_buf(sealed, NONCE_LEN);
        crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + NONCE_LEN, NULL, plain, len,
                                                   (const guint8 *)context, strlen(context), NULL, sealed,
                                                   key->bytes);
        return g_base64_encode(sealed, sealed_len);
}

char *unseal(const SealKey *key, const char *context, const char *sealed, gsize *ret_len)
{
        gsize len = 0;
        g_autofree guint8 *bytes = g_base64_decode(sealed, &len);
        char *plain;

        if (len < NONCE_LEN + TAG_LEN)
                return NULL;
        plain = g_malloc0(len - NONCE_LEN - TAG_LEN + 1);
        if (crypto_aead_xchacha20poly1305_ietf_decrypt((guint8 *)plain, NULL, NULL, bytes + NONCE_LEN,
                                                       len - NONCE_LEN, (const guint8 *)context,
                                                       strlen(context), bytes, key->bytes) != 0) {
                g_free(plain);
                return NULL;
        }
        *ret_len = len - NONCE_LEN - TAG_LEN;
        return plain;
}

void seal_wipe(char *plain, gsize len)
{
        if (plain)
                sodium_memzero(plain, len);
        g_free(plain);
}

const guint8 *seal_key_bytes(const SealKey *key)
{
        return key->bytes;
}
