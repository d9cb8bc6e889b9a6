/* ID tokens of OpenID Connect: signed JSON (RFC 7515, 7519), and the keys that sign them (RFC 7517). Pure: no
 * network, no clock. Only RS256, PS256 and ES256 with keys of the set are accepted. A key or an address of
 * one inside the token, shared secrets and `none` are refused. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

enum {
        JWT_MAX = 16 * 1024, /* bytes of a token; a log-in's body is no larger either */
        JWT_SKEW_S = 60,     /* allowed difference of clocks */
        JWT_AGE_MAX_S = 24 * 3600,
        SUBJECT_MAX = 255, /* OpenID Connect Core 1.0, 2 */
};

typedef struct JwkSet JwkSet;

/* The usable signing keys of a document: RSA of 2048 to 8192 bits, and P-256; others are skipped. ERR_INVALID
 * if it is no set of keys, or none of them is usable. */
JwkSet *jwk_set_parse(const char *text, gsize len, GError **error);
void jwk_set_free(JwkSet *set); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JwkSet, jwk_set_free)

typedef struct {
        const char *issuer, *client; /* `iss`, and the client that `aud` must name */
        const char *nonce;           /* NULL: the token must have none */
        gint64 now_s;                /* since 1970 */
} JwtExpected;

/* The claims of a token whose signature and claims are valid; `sub` is a string of 1 to SUBJECT_MAX printable
 * bytes. ERR_UNAUTHENTICATED with the reason. *ret_unknown_key: the set does not contain the key that the
 * token names, so newer keys may help. */
json_t *jwt_verify(const char *token, const JwkSet *keys, const JwtExpected *expected, bool *ret_unknown_key,
                   GError **error);

/* Checks only the claims, as if the signature were valid. ERR_UNAUTHENTICATED. */
bool jwt_check_claims(const json_t *claims, const JwtExpected *expected, GError **error);

/* A claim that is a string of at most `max` bytes without control characters; NULL: there is none.
 * Borrowed. */
const char *jwt_text(const json_t *claims, const char *name, gsize max);
