/* One-time codes (see totp.h). */
#include "api/auth/totp.h"

#include <gnutls/crypto.h>
#include <sodium.h>
#include <string.h>

enum { SHA1_LEN = 20 };
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* RFC 4226, 5.3: which four bytes count is said by the last one. */
void totp_code(const guint8 *secret, gsize len, guint64 step, char ret[TOTP_DIGITS + 1])
{
        guint64 counter = GUINT64_TO_BE(step);
        guint8 hash[SHA1_LEN];
        guint32 number;

        if (gnutls_hmac_fast(GNUTLS_MAC_SHA1, secret, len, &counter, sizeof counter, hash) != 0)
                g_error("the TLS library has no HMAC-SHA-1");
        memcpy(&number, hash + (hash[SHA1_LEN - 1] & 15), sizeof number);
        number = GUINT32_FROM_BE(number) & 0x7fffffff;
        g_snprintf(ret, TOTP_DIGITS + 1, "%06u", number % 1000000);
        sodium_memzero(hash, sizeof hash);
}

bool totp_is_code(const char *text)
{
        return strlen(text) == TOTP_DIGITS && strspn(text, "0123456789") == TOTP_DIGITS;
}

guint64 totp_find_step(const guint8 *secret, gsize len, const char *code, gint64 now_s, guint64 last)
{
        guint64 present = (guint64)MAX(now_s, 0) / TOTP_STEP_S, found = 0;

        if (!totp_is_code(code))
                return 0;
        for (int i = -TOTP_WINDOW; i <= TOTP_WINDOW; i++) {
                guint64 step = present + (guint64)i;
                char right[TOTP_DIGITS + 1];

                totp_code(secret, len, step, right);
                if (sodium_memcmp(right, code, TOTP_DIGITS) == 0 && step > last)
                        found = step;
        }
        return found;
}

void totp_secret_format(const guint8 secret[TOTP_SECRET_LEN], char ret[TOTP_TEXT_LEN + 1])
{
        guint32 bits = 0;
        int n_bits = 0;

        for (int i = 0; i < TOTP_SECRET_LEN; i++) {
                bits = bits << 8 | secret[i];
                for (n_bits += 8; n_bits >= 5; n_bits -= 5)
                        *ret++ = letters[bits >> (n_bits - 5) & 31];
        }
        *ret = '\0';
}

bool totp_secret_parse(const char *text, guint8 ret[TOTP_SECRET_LEN])
{
        guint32 bits = 0;
        int n_bits = 0, n = 0;

        for (; *text; text++) {
                const char *letter = *text == ' ' ? NULL : strchr(letters, g_ascii_toupper(*text));

                if (*text == ' ')
                        continue;
                if (!letter || n == TOTP_SECRET_LEN)
                        return false;
                bits = bits << 5 | (guint32)(letter - letters);
                n_bits += 5;
                if (n_bits >= 8) {
                        ret[n++] = (guint8)(bits >> (n_bits - 8));
                        n_bits -= 8;
                }
        }
        return n == TOTP_SECRET_LEN;
}

char *totp_uri(const char *issuer, const char *user, const char *secret)
{
        g_autofree char *from = g_uri_escape_string(issuer, NULL, false);
        g_autofree char *whose = g_uri_escape_string(user, NULL, false);

        return g_strdup_printf("otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=SHA1&digits=%d&period=%d",
                               from, whose, secret, from, TOTP_DIGITS, TOTP_STEP_S);
}
