/* One-time codes of a second factor (RFC 6238 over RFC 4226): HMAC-SHA-1, six digits, a new one each 30 s.
 * Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum {
        TOTP_SECRET_LEN = 20, /* bytes, as long as the hash (RFC 4226, 4) */
        TOTP_TEXT_LEN = 32,   /* characters of the secret in base 32 */
        TOTP_DIGITS = 6,
        TOTP_STEP_S = 30,
        TOTP_WINDOW = 1, /* number of steps before and after the current one whose codes are also accepted */
};

/* The code of a step; `secret` may have any length. */
void totp_code(const guint8 *secret, gsize len, guint64 step, char ret[TOTP_DIGITS + 1]);
bool totp_is_code(const char *text); /* six digits */

/* The step to which this code belongs at `now_s` (Unix time), among those after `last`; 0: none. Takes
 * constant time. */
guint64 totp_find_step(const guint8 *secret, gsize len, const char *code, gint64 now_s, guint64 last);

/* RFC 4648 base 32 without padding. Parsing takes lower case and ignores spaces. */
void totp_secret_format(const guint8 secret[TOTP_SECRET_LEN], char ret[TOTP_TEXT_LEN + 1]);
bool totp_secret_parse(const char *text, guint8 ret[TOTP_SECRET_LEN]);

/* The text that an authenticator app reads, often as a QR code: "otpauth://totp/ISSUER:USER?secret=..."; the
 * caller's. */
char *totp_uri(const char *issuer, const char *user, const char *secret);
