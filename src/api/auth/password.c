/* Passwords (see password.h), by libsodium: argon2id with its limits for interactive use. */
#include "api/auth/password.h"

#include <sodium.h>
#include <string.h>

#include "base/err.h"
#include "model/user.h"

bool password_check(const char *what, const char *password, GError **error)
{
        glong len = g_utf8_strlen(password, -1);

        if (len < PASSWORD_MIN || len > PASSWORD_MAX)
                return err_set(error, ERR_INVALID, "%s: it has %ld characters, and a password has %d to %d",
                               what, len, PASSWORD_MIN, PASSWORD_MAX);
        if (strcmp(password, PASSWORD_PUBLISHED) == 0)
                return err_set(error, ERR_INVALID,
                               "%s: this one is published, so everybody knows it\nChoose another.", what);
        return true;
}

char *password_hash(const char *password, GError **error)
{
        char *text = g_malloc(crypto_pwhash_STRBYTES);

        if (crypto_pwhash_str(text, password, strlen(password), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                              crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0)
                return text;
        g_free(text);
        err_set(error, ERR_UNAVAILABLE, "there is no memory to hash a password in\nTry again in a moment.");
        return NULL;
}

bool password_make_random(char ret[PASSWORD_RANDOM_LEN + 1], char **ret_hash, GError **error)
{
        guchar secret[PASSWORD_RANDOM_LEN / 2];

        randombytes_buf(secret, sizeof secret);
        sodium_bin2hex(ret, PASSWORD_RANDOM_LEN + 1, secret, sizeof secret);
        sodium_memzero(secret, sizeof secret);
        *ret_hash = password_hash(ret, error);
        return *ret_hash != NULL;
}

/* The hash of a random password. Log-ins to accounts without a password are compared with it, so that they
 * take as long. Created by the first comparison of any account. */
static const char *nobodys_hash(void)
{
        static char *hash;

        if (g_once_init_enter(&hash)) {
                char text[PASSWORD_RANDOM_LEN + 1];
                char *made = NULL;

                (void)password_make_random(text, &made, NULL);
                g_once_init_leave(&hash, made ? made : g_strdup(""));
        }
        return hash;
}

/* Takes the same time wherever they differ, and whatever their lengths. */
static bool is_published(const char *password)
{
        guchar given[crypto_generichash_BYTES], published[crypto_generichash_BYTES];

        crypto_generichash(given, sizeof given, (const guchar *)password, strlen(password), NULL, 0);
        crypto_generichash(published, sizeof published, (const guchar *)PASSWORD_PUBLISHED,
                           strlen(PASSWORD_PUBLISHED), NULL, 0);
        return sodium_memcmp(given, published, sizeof given) == 0;
}

bool password_verify(const char *stored, const char *password)
{
        const char *nobodys = nobodys_hash();
        bool seeded = stored && strcmp(stored, USER_PASSWORD_SEEDED) == 0;
        bool hashed = stored && !seeded;
        bool same = crypto_pwhash_str_verify(hashed ? stored : nobodys, password, strlen(password)) == 0;

        return (seeded && is_published(password)) || (hashed && same);
}
