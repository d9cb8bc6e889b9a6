/* See jwt.h. The order is that of suspicion: form, algorithm, key, signature; nothing of the claims is looked
 * at before the signature holds. */
#include "api/auth/jwt.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#include "base/err.h"

enum {
        KEYS_MAX = 100,
        RSA_BITS_MIN = 2048,
        RSA_BITS_MAX = 8192,
        EXPONENT_MAX = 8, /* bytes */
        P256 = 32,        /* bytes of a coordinate */
        ID_MAX = 1024,    /* bytes of a `kid` */
        AUDIENCES_MAX = 100,
        SHOWN_MAX = 100,
};

typedef enum { KEY_RSA, KEY_EC } KeyType;

static const struct {
        const char *name;
        KeyType type;
        gnutls_sign_algorithm_t sign;
} algorithms[] = {
        { "RS256", KEY_RSA, GNUTLS_SIGN_RSA_SHA256 },
        { "PS256", KEY_RSA, GNUTLS_SIGN_RSA_PSS_RSAE_SHA256 },
        { "ES256", KEY_EC, GNUTLS_SIGN_ECDSA_SHA256 },
};

typedef struct {
        char *id, *algorithm; /* each may be NULL */
        KeyType type;
        gnutls_pubkey_t key;
} Jwk;

struct JwkSet {
        GArray *keys; /* Jwk */
};

/* ---- base64url ---- */

typedef struct {
        guchar *data;
        gsize len;
} Bytes;

static void bytes_clear(Bytes *bytes)
{
        g_free(bytes->data);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bytes, bytes_clear)

/* Without padding, blanks, and bits that count for nothing. */
static bool decode(const char *text, gsize len, Bytes *ret)
{
        gsize max = len / 4 * 3 + 3;
        Bytes bytes = { .data = g_malloc(max + 1) };
        const char *end = NULL;

        if (sodium_base642bin(bytes.data, max, text, len, NULL, &bytes.len, &end,
                              sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
            end != text + len) {
                g_free(bytes.data);
                return false;
        }
        bytes.data[bytes.len] = '\0';
        *ret = bytes;
        return true;
}

static bool decode_member(const json_t *object, const char *name, Bytes *ret)
{
        const json_t *value = json_object_get(object, name);

        return json_is_string(value) && decode(json_string_value(value), json_string_length(value), ret);
}

/* ---- keys ---- */

static void jwk_clear(void *arg)
{
        Jwk *jwk = arg;

        g_free(jwk->id);
        g_free(jwk->algorithm);
        if (jwk->key)
                gnutls_pubkey_deinit(jwk->key);
}

static gsize count_bits(const Bytes *number)
{
        gsize at = 0;

        while (at < number->len && !number->data[at])
                at++;
        return at == number->len ? 0 : (number->len - at) * 8 - (gsize)__builtin_clz(number->data[at]) + 24;
}

static gnutls_datum_t datum(const Bytes *bytes)
{
        return (gnutls_datum_t){ bytes->data, (unsigned)bytes->len };
}

static bool import_rsa(const json_t *object, gnutls_pubkey_t key)
{
        g_auto(Bytes) n = { 0 }, e = { 0 };
        gnutls_datum_t modulus, exponent;
        gsize bits;

        if (!decode_member(object, "n", &n) || !decode_member(object, "e", &e))
                return false;
        bits = count_bits(&n);
        if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX || e.len > EXPONENT_MAX || count_bits(&e) < 2 ||
            !(e.data[e.len - 1] & 1))
                return false;
        modulus = datum(&n);
        exponent = datum(&e);
        return gnutls_pubkey_import_rsa_raw(key, &modulus, &exponent) == 0;
}

static bool import_ec(const json_t *object, gnutls_pubkey_t key)
{
        g_auto(Bytes) x = { 0 }, y = { 0 };
        gnutls_datum_t first, second;

        if (g_strcmp0(json_string_value(json_object_get(object, "crv")), "P-256") != 0 ||
            !decode_member(object, "x", &x) || !decode_member(object, "y", &y) || x.len != P256 ||
            y.len != P256)
                return false;
        first = datum(&x);
        second = datum(&y);
        return gnutls_pubkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_SECP256R1, &first, &second) == 0;
}

static bool is_for_signatures(const json_t *object)
{
        const json_t *use = json_object_get(object, "use"), *ops = json_object_get(object, "key_ops"), *op;
        size_t i;

        if (use && g_strcmp0(json_string_value(use), "sig") != 0)
                return false;
        json_array_foreach(ops, i, op) {
                if (g_strcmp0(json_string_value(op), "verify") == 0)
                        return true;
        }
        return !ops;
}

/* False: it is of no use here. */
static bool read_key(const json_t *object, Jwk *ret)
{
        const char *type = json_string_value(json_object_get(object, "kty"));
        bool rsa = g_strcmp0(type, "RSA") == 0, imported;
        Jwk jwk = { .type = rsa ? KEY_RSA : KEY_EC };

        if ((!rsa && g_strcmp0(type, "EC") != 0) || !is_for_signatures(object))
                return false;
        g_assert_cmpint(gnutls_pubkey_init(&jwk.key), ==, 0);
        imported = rsa ? import_rsa(object, jwk.key) : import_ec(object, jwk.key);
        jwk.id = g_strdup(json_string_value(json_object_get(object, "kid")));
        jwk.algorithm = g_strdup(json_string_value(json_object_get(object, "alg")));
        if (imported)
                *ret = jwk;
        else
                jwk_clear(&jwk);
        return imported;
}

JwkSet *jwk_set_parse(const char *text, gsize len, GError **error)
{
        g_autoptr(JwkSet) set = g_new0(JwkSet, 1);
        g_autoptr(json_t) document = NULL;
        json_t *keys = NULL, *key;
        size_t i;

        set->keys = g_array_new(FALSE, FALSE, sizeof(Jwk));
        g_array_set_clear_func(set->keys, jwk_clear);
        document = json_parse(text, len, error);
        if (!document || !json_get_array(document, "", "keys", KEYS_MAX, &keys, error)) {
                err_prefix(error, "not a set of keys: ");
                return NULL;
        }
        json_array_foreach(keys, i, key) {
                Jwk jwk;

                if (read_key(key, &jwk))
                        g_array_append_val(set->keys, jwk);
        }
        if (set->keys->len)
                return g_steal_pointer(&set);
        err_set(error, ERR_INVALID, "the set has no key for RS256, PS256 or ES256");
        return NULL;
}

void jwk_set_free(JwkSet *set)
{
        if (!set)
                return;
        g_array_unref(set->keys);
        g_free(set);
}

/* ---- signature ---- */

/* HEADER.CLAIMS.SIGNATURE */
typedef struct {
        const char *text, *claims, *signature;
        gsize header_len, claims_len, signature_len;
} Parts;

static bool refuse(GError **error, const char *why)
{
        return err_set(error, ERR_UNAUTHENTICATED, "the ID token does not hold: %s", why);
}

static bool split(const char *token, Parts *ret, GError **error)
{
        const char *first = strchr(token, '.'), *second = first ? strchr(first + 1, '.') : NULL;

        if (strlen(token) > JWT_MAX)
                return refuse(error, "it is larger than 16 KiB");
        if (!second || strchr(second + 1, '.'))
                return refuse(error, "it is not three parts with dots between");
        *ret = (Parts){ .text = token,
                        .claims = first + 1,
                        .signature = second + 1,
                        .header_len = (gsize)(first - token),
                        .claims_len = (gsize)(second - first - 1),
                        .signature_len = strlen(second + 1) };
        return true;
}

static json_t *decode_object(const char *text, gsize len, const char *what, GError **error)
{
        g_autofree char *why = g_strdup_printf("its %s is not an object of JSON in base64url", what);
        g_auto(Bytes) bytes = { 0 };
        g_autoptr(json_t) object = NULL;

        if (decode(text, len, &bytes))
                object = json_parse((const char *)bytes.data, bytes.len, NULL);
        if (json_is_object(object))
                return g_steal_pointer(&object);
        refuse(error, why);
        return NULL;
}

/* A row of `algorithms`. */
static bool find_algorithm(const json_t *header, int *ret, GError **error)
{
        const char *name = json_string_value(json_object_get(header, "alg"));
        const json_t *type = json_object_get(header, "typ");
        g_autofree char *shown = name ? err_shown(name) : NULL;
        g_autofree char *why = NULL;

        if (json_object_get(header, "crit"))
                return refuse(error, "it has critical headers ('crit')");
        if (type && (!json_is_string(type) || g_ascii_strcasecmp(json_string_value(type), "JWT") != 0))
                return refuse(error, "its type ('typ') is not JWT");
        for (gsize i = 0; name && i < G_N_ELEMENTS(algorithms); i++) {
                if (strcmp(algorithms[i].name, name) != 0)
                        continue;
                *ret = (int)i;
                return true;
        }
        why = g_strdup_printf("its algorithm '%.*s' is not RS256, PS256 or ES256", SHOWN_MAX,
                              shown ? shown : "");
        return refuse(error, why);
}

/* An ECDSA signature of JOSE is two numbers; the library has them in ASN.1. */
static bool check_signature(const Parts *parts, const Jwk *jwk, int algorithm, const Bytes *signature)
{
        gnutls_datum_t data = { (guchar *)parts->text,
                                (unsigned)(parts->header_len + 1 + parts->claims_len) };
        gnutls_datum_t raw = datum(signature), r = { signature->data, P256 },
                       s = { signature->data + P256, P256 };
        int result;

        if (jwk->type == KEY_RSA)
                return gnutls_pubkey_verify_data2(jwk->key, algorithms[algorithm].sign, 0, &data, &raw) == 0;
        if (signature->len != 2 * P256 || gnutls_encode_rs_value(&raw, &r, &s) != 0)
                return false;
        result = gnutls_pubkey_verify_data2(jwk->key, algorithms[algorithm].sign, 0, &data, &raw);
        gnutls_free(raw.data);
        return result == 0;
}

/* May this key have signed it? One without a name may have signed any token of its kind. */
static bool fits(const Jwk *jwk, const char *id, int algorithm)
{
        return jwk->type == algorithms[algorithm].type && (!id || !jwk->id || strcmp(jwk->id, id) == 0) &&
               (!jwk->algorithm || strcmp(jwk->algorithm, algorithms[algorithm].name) == 0);
}

static bool check_signed(const Parts *parts, const json_t *header, const JwkSet *keys, bool *ret_unknown_key,
                         GError **error)
{
        const json_t *named = json_object_get(header, "kid");
        const char *id = json_string_value(named);
        g_auto(Bytes) signature = { 0 };
        bool any = false;
        int algorithm = 0;

        if (!find_algorithm(header, &algorithm, error))
                return false;
        if (named && (!id || strlen(id) > ID_MAX))
                return refuse(error, "the name of its key ('kid') is not a short text");
        if (!parts->signature_len || !decode(parts->signature, parts->signature_len, &signature))
                return refuse(error, "its signature is not base64url");
        for (guint i = 0; i < keys->keys->len; i++) {
                const Jwk *jwk = &g_array_index(keys->keys, Jwk, i);

                if (!fits(jwk, id, algorithm))
                        continue;
                any = true;
                if (check_signature(parts, jwk, algorithm, &signature))
                        return true;
        }
        *ret_unknown_key = !any;
        return refuse(error, any ? "its signature is not the issuer's"
                                 : "no key of the issuer is the one that it names, for its algorithm");
}

/* ---- claims ---- */

const char *jwt_text(const json_t *claims, const char *name, gsize max)
{
        const json_t *value = json_object_get(claims, name);
        const char *text = json_string_value(value);

        if (!text || !*text || json_string_length(value) > max)
                return NULL;
        for (const char *at = text; *at; at++)
                if (g_ascii_iscntrl(*at))
                        return NULL;
        return text;
}

static bool names_client(const json_t *audience, const char *client)
{
        const json_t *item;
        size_t i;

        if (json_is_string(audience))
                return strcmp(json_string_value(audience), client) == 0;
        if (json_array_size(audience) > AUDIENCES_MAX)
                return false;
        json_array_foreach(audience, i, item) {
                if (g_strcmp0(json_string_value(item), client) == 0)
                        return true;
        }
        return false;
}

static bool check_parties(const json_t *claims, const JwtExpected *expected, GError **error)
{
        const json_t *audience = json_object_get(claims, "aud"), *party = json_object_get(claims, "azp");
        const json_t *nonce = json_object_get(claims, "nonce");

        if (g_strcmp0(json_string_value(json_object_get(claims, "iss")), expected->issuer) != 0)
                return refuse(error, "it is of another issuer ('iss')");
        if (!names_client(audience, expected->client))
                return refuse(error, "it is for another client ('aud')");
        if (json_array_size(audience) > 1 && !party)
                return refuse(error,
                              "it is for several clients and does not say for whom it was made ('azp')");
        if (party && g_strcmp0(json_string_value(party), expected->client) != 0)
                return refuse(error, "it was made for another client ('azp')");
        if (expected->nonce ? g_strcmp0(json_string_value(nonce), expected->nonce) != 0 : nonce != NULL)
                return refuse(error, "its 'nonce' is not of this log-in");
        return true;
}

/* Seconds; false when the claim is there and no time. */
static bool get_time(const json_t *claims, const char *name, bool *ret_there, double *ret)
{
        const json_t *value = json_object_get(claims, name);

        *ret_there = value != NULL;
        *ret = json_number_value(value);
        return !value || (json_is_number(value) && isfinite(*ret) && *ret >= 0);
}

static bool check_times(const json_t *claims, gint64 now, GError **error)
{
        bool has_end, has_start, has_issue;
        double end, start, issue;

        if (!get_time(claims, "exp", &has_end, &end) || !get_time(claims, "nbf", &has_start, &start) ||
            !get_time(claims, "iat", &has_issue, &issue))
                return refuse(error, "a time of it ('exp', 'nbf', 'iat') is no number of seconds");
        if (!has_end || !has_issue)
                return refuse(error, "it does not say when it was made ('iat') and ends ('exp')");
        if (end + JWT_SKEW_S <= (double)now)
                return refuse(error, "it has expired ('exp')");
        if (has_start && start - JWT_SKEW_S > (double)now)
                return refuse(error, "it is not valid yet ('nbf')");
        if (issue - JWT_SKEW_S > (double)now)
                return refuse(error, "it was made in the future ('iat')");
        if (issue + JWT_AGE_MAX_S < (double)now)
                return refuse(error, "it was made more than a day ago ('iat')");
        return true;
}

bool jwt_check_claims(const json_t *claims, const JwtExpected *expected, GError **error)
{
        if (!check_parties(claims, expected, error) || !check_times(claims, expected->now_s, error))
                return false;
        return jwt_text(claims, "sub", SUBJECT_MAX) ||
               refuse(error, "its subject ('sub') is not a text of 1 to 255 bytes");
}

json_t *jwt_verify(const char *token, const JwkSet *keys, const JwtExpected *expected, bool *ret_unknown_key,
                   GError **error)
{
        g_autoptr(json_t) header = NULL, claims = NULL;
        Parts parts = { 0 };

        *ret_unknown_key = false;
        if (!split(token, &parts, error) ||
            !(header = decode_object(parts.text, parts.header_len, "header", error)) ||
            !check_signed(&parts, header, keys, ret_unknown_key, error) ||
            !(claims = decode_object(parts.claims, parts.claims_len, "claims", error)) ||
            !jwt_check_claims(claims, expected, error))
                return NULL;
        return g_steal_pointer(&claims);
}
