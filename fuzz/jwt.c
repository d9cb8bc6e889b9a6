/* What strangers and issuers send for single sign-on: a set of keys, a token, claims. No token that is made
 * here opens anything, since the keys that it is held against have no owner; what holds as claims has a
 * subject. */
#include <assert.h>
#include <string.h>

#include "api/auth/jwt.h"
#include "base/err.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len);

/* The keys of RFC 7515, A.3, and RFC 7517, A.1. */
static const char keys[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\",\"x\":"
                           "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                           "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},{\"kty\":\"RSA\",\"kid\":"
                           "\"r\",\"n\":\"0vx7agoebGcQSuuPi"
                           "LJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_"
                           "BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5"
                           "JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_"
                           "FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n"
                           "91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_"
                           "xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw\""
                           ",\"e\":\"AQAB\"}]}";

static JwkSet *known;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
        json_init();
        known = jwk_set_parse(keys, sizeof keys - 1, NULL);
        assert(known);
        return 0;
}

static void check_keys(const char *text, gsize len)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(JwkSet) set = jwk_set_parse(text, len, &error);

        assert((set == NULL) == (error != NULL));
}

static void check_token(const char *text)
{
        JwtExpected expected = { "https://issuer.example.com", "paddle", NULL, 1700000000 };
        g_autoptr(GError) error = NULL;
        bool unknown = false;

        assert(!jwt_verify(text, known, &expected, &unknown, &error));
        assert(err_is(error, ERR_UNAUTHENTICATED) && *error->message);
}

static void check_claims(const char *text, gsize len)
{
        JwtExpected expected = { "https://issuer.example.com", "paddle", NULL, 1700000000 };
        g_autoptr(json_t) claims = json_parse(text, len, NULL);
        g_autoptr(GError) error = NULL;
        bool hold = json_is_object(claims) && jwt_check_claims(claims, &expected, &error);

        assert(!hold || (jwt_text(claims, "sub", SUBJECT_MAX) && !error));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t len)
{
        g_autofree char *text = g_strndup((const char *)data, len);

        check_keys(text, strlen(text));
        check_token(text);
        check_claims(text, strlen(text));
        return 0;
}
