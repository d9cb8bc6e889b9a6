/* What clients hand back without looking at it: markers and the tokens of log-ins. Both are signed with a key
 * of the server's own, so that what it did not give is told from what it gave
 * (doc/reference/paddleflow-api.md, "Log-in and tokens" and "Lists in pages").
 *
 * A token of a log-in is a token of auth.h with when it ends and whose it is behind it: when it is known no
 * longer, because the password was changed or the user dropped, that still says which. */
#include <sodium.h>
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/clock.h"
#include "base/file.h"

enum { SIGN = 8, USER_MAX = 60, EXPIRES_LEN = 16, MARKER_LEN = 32 };

bool key_open(PaddleFlow *flow, const char *state_dir, GError **error)
{
        g_autofree char *path = g_build_filename(state_dir, "paddleflow.key", NULL);
        g_autofree char *text = NULL;
        gsize len = 0;

        g_assert(sodium_init() >= 0);
        if (g_file_get_contents(path, &text, &len, NULL)) {
                if (len != PADDLEFLOW_KEY_LEN)
                        return err_set(error, ERR_INVALID,
                                       "'%s' has %d bytes, not %d\nRemove it: only log-ins by the older "
                                       "interface have to be done again.",
                                       path, (int)len, PADDLEFLOW_KEY_LEN);
                memcpy(flow->key, text, PADDLEFLOW_KEY_LEN);
                return true;
        }
        randombytes_buf(flow->key, PADDLEFLOW_KEY_LEN);
        return file_replace(path, (const char *)flow->key, PADDLEFLOW_KEY_LEN, 0600, true, error);
}

void paddleflow_hash(const PaddleFlow *flow, const char *purpose, const void *data, gsize len, guint8 *ret,
                     gsize ret_len)
{
        crypto_generichash_state state;
        guint8 hash[crypto_generichash_BYTES];

        crypto_generichash_init(&state, flow->key, PADDLEFLOW_KEY_LEN, sizeof hash);
        crypto_generichash_update(&state, (const guint8 *)purpose, strlen(purpose) + 1);
        crypto_generichash_update(&state, data, len);
        crypto_generichash_final(&state, hash, sizeof hash);
        memcpy(ret, hash, ret_len);
}

static char *to_hex(const guint8 *bytes, gsize len)
{
        char *text = g_malloc(2 * len + 1);

        return sodium_bin2hex(text, 2 * len + 1, bytes, len);
}

/* Exactly `len` bytes, in lower case. */
static bool from_hex(const char *text, gsize len, guint8 *ret)
{
        size_t got = 0;

        return strspn(text, "0123456789abcdef") >= 2 * len &&
               sodium_hex2bin(ret, len, text, 2 * len, NULL, &got, NULL) == 0 && got == len;
}

char *uuid_format(const guint8 bytes[16])
{
        g_autofree char *hex = to_hex(bytes, 16);

        hex[12] = '4';
        hex[16] = "89ab"[bytes[8] >> 6];
        return g_strdup_printf("%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* ---- markers ---- */

/* The position is hidden by the signature, which is of the position itself. */
static void mask(const PaddleFlow *flow, const guint8 *sign, guint8 *at)
{
        guint8 stream[SIGN];

        paddleflow_hash(flow, "mask", sign, SIGN, stream, sizeof stream);
        for (int i = 0; i < SIGN; i++)
                at[i] ^= stream[i];
}

char *marker_format(const PaddleFlow *flow, const char *list, gint64 at)
{
        guint64 position = GUINT64_TO_BE((guint64)at);
        guint8 bytes[2 * SIGN];

        paddleflow_hash(flow, list, &position, sizeof position, bytes, SIGN);
        memcpy(bytes + SIGN, &position, SIGN);
        mask(flow, bytes, bytes + SIGN);
        return to_hex(bytes, sizeof bytes);
}

bool marker_parse(const PaddleFlow *flow, const char *list, const char *marker, gint64 *ret)
{
        guint8 bytes[2 * SIGN], sign[SIGN];
        guint64 position;

        if (strlen(marker) != MARKER_LEN || !from_hex(marker, sizeof bytes, bytes))
                return false;
        mask(flow, bytes, bytes + SIGN);
        memcpy(&position, bytes + SIGN, SIGN);
        paddleflow_hash(flow, list, &position, sizeof position, sign, SIGN);
        *ret = (gint64)GUINT64_FROM_BE(position);
        return sodium_memcmp(sign, bytes, SIGN) == 0;
}

/* Not hidden: it says no more than the page before it. */
char *marker_format_text(const PaddleFlow *flow, const char *list, const char *at)
{
        guint8 sign[SIGN];
        g_autofree char *text = to_hex((const guint8 *)at, strlen(at)), *head = NULL;

        paddleflow_hash(flow, list, at, strlen(at), sign, sizeof sign);
        head = to_hex(sign, sizeof sign);
        return g_strconcat(head, text, NULL);
}

char *marker_parse_text(const PaddleFlow *flow, const char *list, const char *marker)
{
        gsize hex = strlen(marker), len = hex > 2 * SIGN ? (hex - 2 * SIGN) / 2 : 0;
        g_autofree char *text = g_malloc0(len + 1);
        guint8 said[SIGN], sign[SIGN];

        if (hex != 2 * (SIGN + len) || !from_hex(marker, SIGN, said) ||
            !from_hex(marker + 2 * SIGN, len, (guint8 *)text))
                return NULL;
        paddleflow_hash(flow, list, text, len, sign, sizeof sign);
        return sodium_memcmp(sign, said, SIGN) == 0 ? g_steal_pointer(&text) : NULL;
}

/* ---- log-ins ---- */

static char *signature(const PaddleFlow *flow, const char *text, gsize len)
{
        guint8 sign[SIGN];

        paddleflow_hash(flow, "login", text, len, sign, sizeof sign);
        return to_hex(sign, sizeof sign);
}

char *login_format(const PaddleFlow *flow, const AuthLogin *login)
{
        g_autofree char *user = to_hex((const guint8 *)login->user, strlen(login->user));
        g_autofree char *text = g_strdup_printf("%s%0*" G_GINT64_MODIFIER "x%s", login->token, EXPIRES_LEN,
                                                login->expires, user);
        g_autofree char *sign = signature(flow, text, strlen(text));

        return g_strconcat(text, sign, NULL);
}

typedef struct {
        char secret[SECRET_LEN + 1], user[USER_MAX + 1];
        gint64 expires;
} Login;

static bool login_parse(const PaddleFlow *flow, const char *token, Login *ret)
{
        gsize len = strlen(token), fixed = SECRET_LEN + EXPIRES_LEN + 2 * SIGN;
        gsize user_len = len > fixed ? (len - fixed) / 2 : 0;
        g_autofree char *sign = NULL, *expires = NULL;

        if (user_len < 1 || user_len > USER_MAX || fixed + 2 * user_len != len)
                return false;
        sign = signature(flow, token, len - 2 * SIGN);
        expires = g_strndup(token + SECRET_LEN, EXPIRES_LEN);
        g_strlcpy(ret->secret, token, sizeof ret->secret);
        ret->expires = (gint64)g_ascii_strtoull(expires, NULL, 16);
        ret->user[user_len] = '\0';
        return sodium_memcmp(sign, token + len - 2 * SIGN, 2 * SIGN) == 0 &&
               from_hex(token + SECRET_LEN + EXPIRES_LEN, user_len, (guint8 *)ret->user);
}

static bool refuse(GError **error)
{
        return paddleflow_set(error, CODE_AuthInvalidToken,
                              "the token is none of this server, or has expired\nLog in again.");
}

bool login_check(PaddleFlow *flow, const char *token, char **ret_user, HttpRight *ret_right, GError **error)
{
        g_autoptr(GError) why = NULL;
        Login login;

        if (strlen(token) == SECRET_LEN) /* one of `paddle token create` */
                return auth_by_token(flow->auth, token, ret_user, ret_right, NULL) || refuse(error);
        if (!login_parse(flow, token, &login) || (login.expires && login.expires <= clock_now_ms()))
                return refuse(error);
        if (auth_by_token(flow->auth, login.secret, ret_user, ret_right, &why))
                return true;
        if (!err_is(why, ERR_UNAUTHENTICATED)) {
                g_propagate_error(error, g_steal_pointer(&why));
                return false;
        }
        if (!paddleflow_has_user(flow, login.user))
                return paddleflow_set(error, CODE_UserNotExist, "user '%s' is not there any more",
                                      login.user);
        return paddleflow_set(error, CODE_AuthFailed,
                              "the password of '%s' was changed, or this log-in ended\nLog in again.",
                              login.user);
}

bool login_is_fresh(PaddleFlow *flow, const char *token)
{
        Login login;

        if (!token)
                return false;
        if (strlen(token) == SECRET_LEN) /* of the other interface */
                return auth_is_fresh_login(flow->auth, token, LOGIN_FRESH_MS);
        return login_parse(flow, token, &login) &&
               auth_is_fresh_login(flow->auth, login.secret, LOGIN_FRESH_MS);
}

char *login_credential(const PaddleFlow *flow, const char *token)
{
        Login login;

        if (!token)
                return NULL;
        if (strlen(token) == SECRET_LEN)
                return auth_credential_of(token);
        return login_parse(flow, token, &login) ? auth_credential_of(login.secret) : NULL;
}
